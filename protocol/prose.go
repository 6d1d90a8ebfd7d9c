package protocol

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// mayTake reports whether a { or ( in the middle of a line, which rest begins with,
// may begin the arguments of a call: before is what comes in front of it and is not passed
// on yet.
func (d *Decoder) mayTake(before, rest string) bool {
	d.note(before)
	if _, known := d.toolBefore(d.passed.String()); known {
		return true
	}
	after := trimSpace(rest[1:])
	return rest[0] == '{' && (after == "" || after[0] == '"' || after[0] == '\'')
}

// toolBefore is the tool whose name s ends with.
func (d *Decoder) toolBefore(s string) (tool string, known bool) {
	return d.declared(tidyName(s[pathStart(s):]))
}

// pathStart is where the name begins that s ends with, as code writes names.
func pathStart(s string) int {
	i := len(s)
	for i > max(0, len(s)-maxTag) && (isWord(s[i-1]) || s[i-1] == '.' || s[i-1] == '\\' || s[i-1] == '-') {
		i--
	}
	return i
}

// punctuation may be behind a call in the middle of a line. Words behind it make it one
// that was only mentioned.
const punctuation = " \t*_`~\"'!:;,.…>])}\r"

// endTokens are tags and tokens in brackets, as may come behind one too.
var endTokens = lazyRegexp(`\[/?(?:[A-Z_]+|tool_calls?)\]|<[^<>]*>`)

// inMidLine decides A8 for a { or ( in the middle of a line: an object that names a tool, or one
// that is behind the name of a tool whose argument it begins with; or the arguments of a call
// of Python.
func (f *finder) inMidLine(at int) (g guess) {
	s, before := f.text[at:], f.text[:at]
	_, known := f.d.toolBefore(before)
	if s[0] == '(' {
		line, _, ended := strings.Cut(f.ahead(s, maxElem), "\n")
		if f.streams && known && !ended && len(line) < maxElem {
			return guess{until: "\n"}
		}
		tool, rest := f.python(before[pathStart(before):] + line)
		for next := tool; next != "" && strings.HasPrefix(rest, ","); { // others in a list
			next, rest = f.python(strings.TrimLeft(rest, ", \"'"))
		}
		if strings.Trim(rest, punctuation) == "" {
			g = found(tool)
		}
		return g
	}
	if inside := trimSpace(s[1:]); !known && inside != "" && inside[0] != '"' && inside[0] != '\'' { // as mayTake has it
		return guess{}
	}
	end := len(f.value(s))
	behind, _, ended := strings.Cut(f.ahead(s[end:], maxElem), "\n")
	if g = f.object(s, 0); g.waits || g.tool != "" && !f.d.exact(g.tool) { // of an unknown tool
		g = guess{}
	}
	if f.streams && g.until != "" {
		switch {
		case end == len(s):
			return g
		case !ended:
			return guess{until: "\n"}
		}
		g = found(f.inObject(s[:end]))
	}
	switch mentioned := strings.Trim(endTokens().ReplaceAllString(behind, ""), punctuation) != ""; {
	case mentioned && (f.d.opts.Told || g.tool == "") && !strings.Contains(s[:end], `"tool_calls"`):
		return guess{}
	case g.none() && !mentioned:
		g = found(f.argumentsOf(s, before))
	}
	return g
}

// python returns the tool that s begins with a call of, as Python writes it, perhaps in
// print(), and what is behind the call.
func (f *finder) python(s string) (tool, rest string) {
	s = strings.TrimPrefix(s, "print(")
	n := pathLen(s)
	page := len(s) > n+2 && isDigit(s[n+1]) && s[n+2] == ')' // of a manual, as grep(1)
	if tool, known := f.d.declared(tidyName(s[:n])); known && strings.HasPrefix(s[n:], "(") && (!page || f.d.stands(tool)) {
		read := f.arguments
		if f.d.opts.Told { // what is in a program may be a variable
			read = func(_, src string) (string, bool) { return f.keywords(src) }
		}
		if rest, ok := read(tool, s[n:]); ok {
			return tool, rest
		}
	}
	return "", s
}

// positional is literal arguments without their names, which no rule reads: which
// argument is meant would be a guess.
var positional = lazyRegexp(`^\(` + literalArg + `(?:,` + literalArg + `)*\)`)

const literalArg = `\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?[0-9.]+|True|False)\s*`

// arguments reads the arguments of a call of Python, if src begins with some, and returns what
// is behind them. The values of arguments that the tool declares may be no literals: city=Paris.
func (f *finder) arguments(tool, src string) (rest string, ok bool) {
	if rest, ok = f.keywords(src); ok {
		return rest, true
	}
	m := firstKeyword().FindStringSubmatch(src[:min(len(src), maxTag)])
	if m == nil || f.d.property(tool, m[1]) == nil {
		return src, false
	}
	depth := 0
	for i := range len(f.ahead(src, maxElem)) {
		switch src[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return src[i+1:], true
			}
		}
	}
	return src, false
}

// firstKeyword is the argument that a call of Python begins with.
var firstKeyword = lazyRegexp(`^\(\s*([\w-]+)\s*=[^=]`)

// keywords reads the arguments of a call of Python, if src begins with some, and returns
// what is behind them.
func (f *finder) keywords(src string) (rest string, ok bool) {
	if m := positional().FindString(f.ahead(src, maxElem)); m != "" {
		return src[len(m):], true
	}
	x := &resolver{d: f.d, cursor: cursor{src: src, pos: min(len(src), 1)}, bare: true}
	err := try(x.keywords)
	f.spent += x.pos
	return x.rest(), err == nil && len(x.args) > len("{}")
}

// firstKey is the key that an object begins with.
var firstKey = lazyRegexp(`^\{\s*(?:["']([\w.-]+)["']|([\w.-]+))\s*:`)

// announced is how much is looked at of what comes before arguments, in bytes.
const announced = 120

// argumentsOf decides A8 for an object of arguments: it returns the tool that declares the first
// of them and is named before it on its line, or ends a line shortly before. There a name that
// may be any word has to stand out.
func (f *finder) argumentsOf(object, before string) (tool string) {
	m := firstKey().FindStringSubmatch(object[:min(len(object), maxTag)])
	before = before[max(0, len(before)-announced):]
	before = strings.ReplaceAll(strings.ReplaceAll(before, "：", ":"), "，", ",")
	inner := strings.TrimRight(before, " \t\r\n")
	if m == nil || strings.HasSuffix(inner, `":`) || strings.HasSuffix(inner, ",") || strings.HasSuffix(inner, "{") {
		return ""
	}
	line := strings.LastIndexByte(before, '\n')
	for end := len(before); end > 0; end-- {
		begin := pathStart(before[:end])
		if begin == end {
			continue
		}
		name, behind := before[begin:end], before[end:]
		end = begin
		last := name[strings.LastIndexByte(name, '.')+1:]
		for _, word := range slices.Compact([]string{name, last}) {
			known, ok := f.d.declared(tidyName(strings.TrimRight(word, ".")))
			if !ok || f.d.property(known, m[1]+m[2]) == nil {
				continue
			}
			behind, _, _ = strings.Cut(behind, "\n")
			behind = strings.Trim(behind, punctuation)
			noun := slices.Contains(callNouns, behind) || behind != "" && strings.IndexFunc(behind, func(r rune) bool { return r < utf8.RuneSelf }) < 0
			stands := noun || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" || strings.HasSuffix(strings.TrimRight(before[:begin], " "), ":") ||
				begin > 0 && strings.IndexByte("`*[\"'", before[begin-1]) >= 0
			if begin > line || stands && (behind == "" || noun) {
				return known
			}
		}
	}
	return ""
}

// callNouns may follow the name of a tool that is announced: the NAME tool.
var callNouns = strings.Fields("tool function api call")

// What is written behind the ticks of a fence that holds a call, or the result of one.
var (
	callFences   = []string{"toolcode", "toolcall", "toolcalls", "tooluse", "tool", "toolrequest", "functioncall", "functioncalls"}
	resultFences = []string{"tooloutput", "toolresult", "toolresponse", "functionresponse", "functionresult", "functionoutput", "observation"}
)

// codeTag opens what is shown as code, alone on its line, as smolagents has it.
var codeTag = lazyRegexp(`^(?i:<code>)[ \t\r]*\n`)

// fenced decides A8 and B19 for a fence at a place, or <code> alone on its line: one that says
// that it holds a call, or that holds nothing but one and ends the reply. With a result behind
// it, that one was made up (invented). A fence that words follow is an example.
func (f *finder) fenced(s, indent string) guess {
	head, body, whole := strings.Cut(s[:min(len(s), maxPassed)], "\n")
	info := strings.TrimLeft(head, head[:1])
	fence := head[:len(head)-len(info)]
	if head[0] == '<' {
		info, fence = "", "</"+strings.TrimSpace(head)[1:]
	}
	switch {
	case !whole && (info == "" || len(fence) >= 3):
		return f.soon(head, maxTag, 0)
	case len(fence) < 3:
		return guess{}
	}
	info = fold(info)
	if slices.Contains(resultFences, strings.TrimSuffix(info, "s")) { // B19
		return guess{invented: true}
	}
	said := slices.Contains(callFences, info)
	content := trimSpace(body)
	begin := prelude().FindStringSubmatchIndex(content)
	content = content[begin[1]:]
	n := pathLen(content)
	_, known := f.d.declared(tidyName(content[:n]))
	switch {
	case n == len(content), begunPrelude().MatchString(content):
		return f.soon(body, maxElem, 0)
	case !said && !known && content[0] != '{' && content[0] != '[':
		return guess{}
	}
	inside, after, closed := cutFence(f.ahead(body, maxPassed), fence)
	early := f.streams && closed && len(after) < 2*maxTag // what is behind it may still come
	after = strings.Trim(endTokens().ReplaceAllString(after[:min(len(after), maxElem)], ""), " \t\r\n")
	result := f.resultFollows && after == ""
	if after != "" {
		g := f.observed(after)
		result = g.invented || f.d.isMessage(after) || !f.d.opts.Told && outputFence().MatchString(after)
		if early && !result && (g.waits || strings.IndexByte("{[`~", after[0]) >= 0 || after[0] == '<' && !strings.ContainsAny(after, ">\n")) {
			return guess{waits: true}
		}
	}
	switch {
	case f.streams && !closed:
		return guess{until: "\n" + indent + fence}
	case early && !said && after == "":
		return guess{waits: true}
	case !said && !result && (f.d.opts.Told || after != ""):
		return guess{}
	}
	content = strings.TrimSpace(inside)
	program := content[prelude().FindStringIndex(content)[1]:]
	tool, rest := f.python(program)
	switch {
	case begin[2] >= 0: // the rest of the program uses what was returned
	case content != "" && (content[0] == '{' || content[0] == '['):
		if tool = f.inObject(content); tool == "" {
			tool = f.argumentsOf(content, f.text[:len(f.text)-len(s)])
		}
		if tool == "" && content[0] == '[' {
			tool, _ = f.python(trimSpace(content[1:]))
		}
	case strings.Trim(rest, " \t)\r\n;") != "" && (strings.Contains(rest, "\n") || !returned().MatchString(rest)):
		tool = ""
	}
	if tool == "" && said {
		tool = f.word(content)
	}
	g := found(tool)
	g.invented = result && tool != ""
	return g
}

// outputFence is a fence of what a program printed, as it follows one with the program.
var outputFence = lazyRegexp("^(?:```+|~~~+) *(?i:outputs?|results?|stdout|response)\\b")

// prelude is what a program may have before a call: what it imports, and the variable for
// what is returned.
var prelude = lazyRegexp(`^(?:(?:import |from |#)[^\n]*\n\s*)*(\w+ *= *)?(?:await )?(?:print\()?`)

// begunPrelude is a line that such a program may go on behind.
var begunPrelude = lazyRegexp(`^(?:(?:import |from |#)[^\n]*|\w+ +)$`)

// cutFence cuts what is in a fence at the line that closes it.
func cutFence(s, fence string) (inside, after string, closed bool) {
	n := 0
	for line := range strings.Lines(s) {
		if after, closed = strings.CutPrefix(trimSpace(line), fence); closed {
			return s[:n], after + s[n+len(line):], true
		}
		n += len(line)
	}
	return s, "", false
}

// callElement is the folded name of an element that calls something.
var callElement = lazyRegexp(`^(?:use|execute|run|call|invoke|mcp)*(?:tool|function|func|action|api|call|execute|invoke|plugin)(?:use|call|code|request|invocation)?$`)

// mayCall reports whether s, behind a <, may begin such a name, or that of a result.
func mayCall(s string) bool {
	return len(s) < 2 || elementStarts[lower(s[0])][lower(s[1])]
}

// inElement returns the tool that an element that calls something names (A8), in an attribute or
// first in its content.
func (f *finder) inElement(attrs, content string) string {
	for _, value := range attributes(attrs) {
		if tool, known := f.d.declared(tidyName(value)); known {
			return tool
		}
	}
	if tool := f.inObject(content); tool != "" {
		return tool
	}
	return f.word(content)
}

// labels are what comes before a name on a line of its own, and what comes behind it.
var labels = lazyRegexp("^(?i:(name)|(?:use |call )?(?:tool|function)(?:[ _-](?:name|call|used?))?)[*:]*[ :]+[*`]*([\\w.-]+)[*`]*[ \\r]*\\n\\s*[*_]*(?:(?i:(?:tool|action|function)?[ _]?input)[*]*:|(?i:args|arguments|parameters|params)[*]*:(?:[ \\r]*\\n[ ]+([\\w-]+):| *([\\w-]+) ?=)|([\\w-]+)[*]*(?:[:=] ?[\"']|= ?\\S))")

// label is what labels look at, in bytes.
const maxLabel = 240

// step decides A8 for a tool that is named on a line with a label, above a line with its
// arguments.
func (f *finder) step(s string) guess {
	head := s[:min(len(s), maxLabel)]
	if head == "" || !labelled(head) {
		return guess{}
	}
	if m := labels().FindStringSubmatch(head); m != nil {
		tool, known := f.d.declared(tidyName(m[2]))
		key := m[3] + m[4] + m[5]
		if known && (key == "" && m[1] == "" || f.d.property(tool, key) != nil && (m[1] == "" || m[5] == "")) {
			return found(tool)
		}
	}
	line, below, ended := strings.Cut(head, "\n")
	line = strings.TrimRight(line, " *`\r")
	_, known := f.d.declared(tidyName(line[strings.LastIndexAny(line, " :")+1:]))
	if (!ended && len(line) < 60 || known && strings.Count(below, "\n") < 2) && !strings.ContainsAny(line, "({") {
		return f.soon(head, maxLabel, 0)
	}
	return guess{}
}

// hasPrefixFold reports whether s begins with prefix, which is in lower case, in any case, as
// far as it goes. Of most, the second letter tells.
func hasPrefixFold(s, prefix string) bool {
	n := min(len(s), len(prefix))
	return (n < 2 || lower(s[1]) == prefix[1]) && strings.EqualFold(s[:n], prefix[:n])
}

// mentioned decides A8 for a block in the middle of a line that is text, from behind its
// opening tag on: a call all the same if it names a tool and is closed, or cut.
func (f *finder) mentioned(s string, m mark) guess {
	inside, _, closed := strings.Cut(f.ahead(s, 1<<16), "</")
	cut := !f.streams && strings.ContainsAny(inside, "({") && !strings.ContainsAny(inside, ")}")
	if tool := f.word(m.name + " " + inside); tool != "" && (closed || cut) {
		return found(tool)
	}
	return f.soon(s, maxElem, 0)
}

// declares returns the first tool that declares an argument.
func (f *finder) declares(key string) string {
	for _, tool := range f.d.opts.Tools.Names() {
		if f.d.property(tool, key) != nil {
			return tool
		}
	}
	return ""
}
