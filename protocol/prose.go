package protocol

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// mayTake reports whether a { or ( in the middle of a line, which rest begins with,
// may begin the arguments of a call: before is what comes in front of it, as far as it
// is at hand.
func (d *Decoder) mayTake(before, rest string) bool {
	name := before[pathStart(before):]
	if len(name) == len(before) && len(name) < maxTag {
		end := d.passed.end()
		before = end[max(0, len(end)-maxTag):] + before
		name = before[pathStart(before):]
	}
	if name != "" && d.initials[name[0]] || strings.ContainsAny(name, ".") {
		if _, known := d.declared(tidyName(name)); known {
			return true
		}
	}
	after := trimSpace(rest[1:])
	return rest[0] == '{' && (after == "" || after[0] == '"' || after[0] == '\'')
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
var endTokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[/?[A-Z_]+\]|<[^<>]*>`) })

// inMidLine is a { or ( in the middle of a line: an object that names a tool, or one
// that is behind the name of a tool whose argument it begins with; or the arguments of a
// call of Python.
func (f *finder) inMidLine(at int) (g guess) {
	s := f.text[at:]
	if s[0] == '{' {
		if inside := trimSpace(s[1:]); inside != "" && inside[0] != '"' && inside[0] != '\'' {
			if _, known := f.d.declared(tidyName(f.text[pathStart(f.text[:at]):at])); !known {
				return guess{}
			}
		}
		end := objectEnd(f.ahead(s, 1<<16))
		if end == 0 { // too much was looked at
			return guess{}
		}
		behind, _, ended := strings.Cut(f.ahead(s[end:], maxElem), "\n")
		if g = f.object(s, 0); f.streams && g.is == isOpen && g.tool == "" {
			switch {
			case end == len(s):
				return g
			case !ended:
				return guess{is: isOpen, until: "\n"}
			}
			g = found(f.inObject(s[:end]))
		}
		switch mentioned := strings.Trim(endTokens().ReplaceAllString(behind, ""), punctuation) != ""; {
		case mentioned && g.tool != "" && strings.Contains(s[:end], `"tool_calls"`):
		case mentioned:
			return guess{}
		case g.is == isNone:
			g = found(f.argumentsOf(s, f.text[:at]))
		}
		return g
	}
	tool, known := f.d.declared(tidyName(f.text[pathStart(f.text[:at]):at]))
	if !known {
		return guess{}
	}
	line, _, ended := strings.Cut(f.ahead(s, maxElem), "\n")
	if f.streams && !ended && len(line) < maxElem {
		return guess{is: isOpen, until: "\n"}
	}
	if rest, ok := f.keywords(line); ok && strings.Trim(rest, punctuation) == "" {
		return found(tool)
	}
	return guess{}
}

// objectEnd is where the object ends that s begins with; its end, if it does not.
func objectEnd(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// keywords reads the arguments of a call of Python, if s begins with some, and returns
// what is behind them.
func (f *finder) keywords(src string) (rest string, ok bool) {
	if src == "" {
		return "", false
	}
	x := &resolver{d: f.d, cursor: cursor{src: src, pos: 1}, bare: true}
	err := try(x.keywords)
	f.spent += x.pos
	return x.rest(), err == nil && len(x.args) > len("{}")
}

// firstKey is the key that an object begins with.
var firstKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{\s*(?:["']([\w.-]+)["']|([\w.-]+))\s*:`)
})

// announced is how much is looked at of what comes before arguments, in bytes.
const announced = 120

// argumentsOf returns the tool whose arguments an object is: one that declares the first
// of them and is named before it on its line, or ends a line shortly before. There a name
// that may be any word has to stand out.
func (f *finder) argumentsOf(object, before string) (tool string) {
	m := firstKey().FindStringSubmatch(object[:min(len(object), maxTag)])
	before = before[max(0, len(before)-announced):]
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
		for _, word := range []string{name, last} {
			known, ok := f.d.declared(tidyName(strings.TrimRight(word, ".")))
			x := resolver{d: f.d, name: known}
			if !ok || x.property(m[1]+m[2]) == nil {
				continue
			}
			behind, _, _ = strings.Cut(behind, "\n")
			stands := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" || strings.HasSuffix(strings.TrimRight(before[:begin], " "), ":") ||
				begin > 0 && strings.IndexByte("`*[\"'", before[begin-1]) >= 0
			if begin > line || stands && strings.Trim(behind, punctuation) == "" {
				return known
			}
		}
	}
	return ""
}

// What is written behind the ticks of a fence that holds a call, or the result of one.
var (
	callFences   = []string{"toolcode", "toolcall", "toolcalls", "tooluse", "tool", "toolrequest", "functioncall", "functioncalls"}
	resultFences = []string{"tooloutput", "toolresult", "toolresponse", "functionresponse", "functionresult", "observation"}
)

// fenced is a fence at a place: one that says that it holds a call, or that holds nothing
// but one and ends the reply. What words follow is an example.
func (f *finder) fenced(s string) guess {
	head, body, whole := strings.Cut(s[:min(len(s), maxPassed)], "\n")
	ticks := len(head) - len(strings.TrimLeft(head, "`"))
	switch {
	case !whole && ticks == len(head):
		return f.soon(head, maxTag, 0)
	case ticks < 3:
		return guess{}
	case !whole:
		return f.soon(head, maxTag, 0)
	}
	info := fold(head[ticks:])
	if slices.Contains(resultFences, info) {
		return guess{is: isOpen, invented: true}
	}
	said := slices.Contains(callFences, info)
	content := trimSpace(body)
	name := content[:pathLen(content)]
	_, known := f.d.declared(tidyName(strings.TrimPrefix(name, "print")))
	switch {
	case content == "", name != "" && len(name) == len(content):
		return f.soon(body, maxElem, 0)
	case !said && f.d.opts.Told, !said && !known && content[0] != '{' && content[0] != '[' && !strings.HasPrefix(content, "print("):
		return guess{}
	}
	closer := "\n" + head[:ticks]
	inside, after, closed := strings.Cut(f.ahead(body, maxPassed), closer)
	switch {
	case f.streams && !closed:
		return guess{is: isOpen, until: closer}
	case !said && strings.TrimSpace(after) != "":
		return guess{}
	}
	before := f.text[:len(f.text)-len(s)]
	content = strings.TrimSpace(inside)
	tool := ""
	switch {
	case content == "":
	case content[0] == '{' || content[0] == '[':
		if tool = f.inObject(content); tool == "" && f.blind {
			return guess{is: isOpen}
		} else if tool == "" {
			tool = f.argumentsOf(content, before)
		}
	default:
		call := strings.TrimPrefix(content, "print(")
		n := pathLen(call)
		if known, ok := f.d.declared(tidyName(call[:n])); ok && strings.HasPrefix(call[n:], "(") {
			if rest, ok := f.keywords(call[n:]); ok && strings.Trim(rest, " \t)\r\n;") == "" {
				tool = known
			}
		}
	}
	if tool == "" && said {
		tool = f.word(content)
	}
	return found(tool)
}

// observed reports whether a line begins with the result of a call, which the model made
// up: as ReAct labels it, or as E3 has it.
func (f *finder) observed(s string) (g guess) {
	const label = "Observation:"
	if strings.HasPrefix(s, label) {
		return guess{is: isOpen, invented: true}
	}
	if s != "" && strings.HasPrefix(label, s) {
		return f.soon(s, maxTag, 0)
	}
	if !strings.HasPrefix(s, "[") {
		return g
	}
	name, after, closed := strings.Cut(s[1:min(len(s), maxTag)], "]")
	switch _, known := f.d.opts.Tools.Schema(name); {
	case !closed && !strings.ContainsAny(name, "\n{("), closed && known && len(after) < len(" Success:") && (strings.HasPrefix(" Success:", after) || strings.HasPrefix(" Error:", after)):
		return f.soon(s, maxTag, 0)
	case known && (strings.HasPrefix(after, " Success:") || strings.HasPrefix(after, " Error:")):
		return guess{is: isOpen, invented: true}
	}
	return g
}

// callElement is the folded name of an element that calls something.
var callElement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:use|execute|run|call|invoke|mcp)*(?:tool|function|func|action|api|call|execute|invoke|plugin)(?:use|call|code|request|invocation)?$`)
})

// elementStarts are the first two letters of such names, and of those of results.
var elementStarts = strings.Fields("us ex ru ca in mc to fu ac ap pl ob lo")

// mayCall reports whether s, behind a <, may begin such a name.
func mayCall(s string) bool {
	return len(s) < 2 || slices.Contains(elementStarts, strings.ToLower(s[:2]))
}

// inElement returns the tool that an element that calls something names, in an attribute
// or first in its content.
func (f *finder) inElement(attrs, content string) string {
	for _, value := range attributes(attrs) {
		if tool, known := f.d.declared(tidyName(value)); known {
			return tool
		}
	}
	if content == "" {
		return ""
	}
	if content[0] == '{' || content[0] == '[' {
		if tool := f.inObject(content); tool != "" {
			return tool
		}
	}
	return f.word(content)
}

// labels are what comes before a name on a line of its own, and what comes behind it.
var labels = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?i:(?:use |call )?(?:tool|function)(?:[ _-](?:name|call|use))?)[*:]*[ :]+[*`]*([\\w.-]+)[*`]*[ \\r]*\\n\\s*[*_]*(?:(?i:(?:tool|action|function)?[ _]?input)[*]*:|(?i:args|arguments|parameters|params):[ \\r]*\\n[ ]+([\\w-]+):|([\\w-]+)[*]*[:=] ?[\"'])")
})

// label is what labels look at, in bytes.
const maxLabel = 240

// labelStarts are how such a line begins.
var labelStarts = []string{"tool", "function", "use tool", "use function", "call tool", "call function"}

// step is a tool that is named on a line with a label, above a line with its arguments.
func (f *finder) step(s string) guess {
	head := s[:min(len(s), maxLabel)]
	begin := strings.ToLower(head[:min(len(head), len("call function"))])
	if begin == "" || !slices.ContainsFunc(labelStarts, func(l string) bool { return strings.HasPrefix(begin, l) || strings.HasPrefix(l, begin) }) {
		return guess{}
	}
	if m := labels().FindStringSubmatch(head); m != nil {
		tool, known := f.d.declared(tidyName(m[1]))
		x := resolver{d: f.d, name: tool}
		if key := m[2] + m[3]; !known || key != "" && x.property(key) == nil {
			return guess{}
		}
		return found(tool)
	}
	line, after, ended := strings.Cut(head, "\n")
	_, behind, said := strings.Cut(line, ":")
	name := strings.Trim(behind, " *`\r:")
	if _, known := f.d.declared(tidyName(name)); ended && (!known || strings.Count(trimSpace(after), "\n") > 1) || strings.ContainsAny(name, " ({") || !said && len(line) > len("**function_name**") {
		return guess{}
	}
	return f.soon(head, maxLabel, 0)
}

// mentioned is a block in the middle of a line, with words behind it, from behind its
// opening tag on: a call all the same if it names a tool and has its arguments.
func (f *finder) mentioned(s string, m mark) guess {
	content := trimSpace(s)
	if content == "" {
		return f.soon(s, maxElem, 0)
	}
	inside, _, _ := strings.Cut(f.ahead(content, 1<<16), "</")
	switch content[0] {
	case '{', '[':
		if tool := f.inObject(content); tool != "" {
			return found(tool)
		}
	case '<':
		return found(f.word(content))
	default:
		n := pathLen(inside)
		tool, known := f.d.declared(tidyName(inside[:n]))
		if rest := trimSpace(inside[n:]); known && rest != "" && rest[0] == '(' {
			_, known = f.keywords(rest)
		} else if rest == "" || rest[0] != '{' {
			known = false
		}
		if known {
			return found(tool)
		}
		return f.soon(s, maxElem, 0)
	}
	if tool, known := f.d.declared(tidyName(m.name)); known {
		return found(tool)
	}
	return f.soon(s, maxElem, 0)
}

// result is the result of a call in the middle of a line, from behind its opening tag on:
// made up, if it ends and holds some word.
func (f *finder) result(s string) guess {
	const closer = "</"
	inside, _, closed := strings.Cut(f.ahead(s, maxPassed), closer)
	switch {
	case !closed && f.streams:
		return guess{is: isOpen, until: closer}
	case closed && strings.ContainsFunc(inside, func(r rune) bool { return r < utf8.RuneSelf && isWord(byte(r)) }):
		return guess{is: isOpen, invented: true}
	}
	return guess{}
}

// declares returns the first tool that declares an argument.
func (f *finder) declares(key string) string {
	for _, tool := range f.d.opts.Tools.Names() {
		x := resolver{d: f.d, name: tool}
		if key != "" && x.property(key) != nil {
			return tool
		}
	}
	return ""
}
