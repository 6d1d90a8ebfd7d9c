package protocol

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// lost fails a reply that is about to be taken for the answer though it holds a
// call in a form that is not read (A8): mark-up of calls, outside of what is only
// shown, together with the name of a known tool. The model gets one correction;
// which call was meant is not guessed.
func (d *Decoder) lost() {
	f := finder{d: d, text: d.passed.String()}
	reason := UnknownForm
	tool, at := f.find(d.callStarts)
	if tool == "" && d.line.unended() { // what was only shown never ended
		f.shown, reason = true, FencedCall
		tool, at = f.find(callStartsOf(f.text, d.shownAt))
	}
	if tool == "" {
		tool, at = f.only()
		reason = UnknownForm
	} else if strings.HasPrefix(f.text[at:], lt) {
		reason = EscapedCall
	}
	if tool != "" {
		d.fail(&FormatError{Reason: reason, Offset: d.off - int64(len(f.text)-at), Tool: tool})
	}
}

// unclosedThought decides a reply that ends in thought. One that began in the
// middle of a line is given back as text (H7); a call in any is malformed (H8).
func (d *Decoder) unclosedThought() {
	text := d.thinking.text.String()
	if d.thinking.mid != "" {
		d.mode = inText
		at := d.off
		d.emit(d.thinking.mid + text)
		d.off = at
	}
	f := finder{d: d, text: text, shown: true}
	if tool, at := f.find(callStartsOf(text, 0)); tool != "" {
		d.fail(&FormatError{Reason: CallInThought, Offset: d.off - int64(len(text)-at), Tool: tool})
	}
}

// minimaxPrefix comes before every tag in a call of MiniMax M3.
const minimaxPrefix = "]<]minimax[>["

// noteCallStart notes where in the text the mark-up of a call may begin: the
// start of a line, or a tag, outside of what is only shown.
func (d *Decoder) noteCallStart(ahead int) {
	d.line.settle()
	at, n := d.passed.Len()+ahead, len(d.callStarts)
	if at < maxPassed && !d.line.literal() && d.line.fence == 0 && (n == 0 || d.callStarts[n-1] < at) {
		d.callStarts = append(d.callStarts, at)
	}
}

// callStartsOf are all such places from an offset on, whatever is shown.
func callStartsOf(text string, from int) (starts []int) {
	start := true
	for i := from; i < len(text); i++ {
		c := text[i]
		if c == '<' || start && !isSpace(c) && c != '`' && c != '~' {
			starts = append(starts, i)
		}
		start = c == '\n' || start && isSpace(c)
	}
	return starts
}

// lt is a < as HTML writes it.
const lt = "&lt;"

// finder looks for the mark-up of a call in text.
type finder struct {
	d     *Decoder
	text  string
	shown bool // calls in forms that are read are looked for too
	spent int  // bytes that were looked at twice
}

// ahead is how much of s, up to most, may be looked at beyond the text's own
// length: the work stays linear.
func (f *finder) ahead(s string, most int) string {
	s = f.within(s, most)
	f.spent += len(s)
	return s
}

// within is the same for who looks at less than that, and counts it.
func (f *finder) within(s string, most int) string {
	return s[:max(0, min(len(s), most, 4*len(f.text)+1<<16-f.spent))]
}

// find returns the tool that a call at one of the places names, and the place.
func (f *finder) find(starts []int) (tool string, at int) {
	if f.d.anyTool {
		return "", 0
	}
	for _, at = range starts {
		if at >= len(f.text) { // a token was there
			break
		}
		before := strings.TrimRight(f.text[:at], " \t\r")
		start := before == "" || strings.HasSuffix(before, "\n")
		if start {
			tool = f.atLine(f.text[at:])
		}
		if tool == "" && f.text[at] == '<' {
			tool = f.markUp(f.text[at:], start || strings.HasSuffix(before, minimaxPrefix))
		}
		if tool != "" {
			return tool, at
		}
	}
	return "", 0
}

// bulletMarks are the marks of a list and of bold type.
var bulletMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ \t*_#]|\d+\. |[-+] )+`)
})

// atLine returns the tool that a call at the start of a line names, behind such
// marks.
func (f *finder) atLine(s string) string {
	bullet := bulletMarks().FindString(s)
	s = strings.TrimPrefix(s[len(bullet):], functools)
	label := len(objectLabel().FindString(s[:min(len(s), maxTag)]))
	if strings.HasPrefix(s[label:], "{") {
		return f.object(s[label:])
	}
	switch {
	case strings.HasPrefix(s, lt): // B20
		name, _, _ := strings.Cut(s[len(lt):min(len(s), maxTag)], "&gt;")
		if m, _ := matchTag("<" + name + ">"); m.tag == toolOpen {
			return f.word(s)
		}
	case strings.HasPrefix(s, "[") && strings.HasPrefix(trimSpace(s[1:]), "{"):
		return f.object(s)
	}
	head := s[:min(len(s), maxTag)]
	if !strings.ContainsAny(head, "([{:>=") {
		return ""
	}
	if m := lineForm().FindStringSubmatch(head); m != nil {
		if tool, known := f.d.declared(tidyName(m[1])); known {
			return tool
		}
	}
	s, list := strings.CutPrefix(s, "[")
	return f.call(strings.TrimPrefix(trimSpace(s), "print("), bullet != "", list)
}

// objectLabel is what comes before an object on its line: words that announce a
// call, or a token in brackets such as LM Studio's.
var objectLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[[A-Z_]+\]\s*|(?i:[a-z ]*\b(?:call|tool|function|action|assistant)):[ *]*)?`)
})

// lineForm is what begins a call on a line, and the name of the tool behind it:
// Functionary's >>>, Qwen-Agent's ✿FUNCTION✿:, a token in brackets, harmony
// without its tokens, and steps like those of ReAct, perhaps with a number.
var lineForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(lineFormHead + `([\w.\\-]+)(?:[ *\x60\r]*(?:\n|$|[\[({])|(?:[ a-z]|<\|[a-z]+\|>)*\n?\{)`)
})

const lineFormHead = `^(?:>>>|✿FUNCTION✿:\s*|\[[A-Z_]+\]\s*|(?:[^\n{>][^\n{]*)?to=functions\.|(?i:act(?:ion)?)[ 0-9*]*[:：][\s*\x60]*)`

// call returns the tool that s begins a call of: its name and literal arguments
// in parentheses, brackets or an object, and nothing behind them on the line but,
// in a list, other calls.
func (f *finder) call(s string, bullet, list bool) string {
	n := pathLen(s)
	tool, known := f.d.declared(tidyName(s[:n]))
	if n == 0 || !known {
		return ""
	}
	between := beforeArgs().FindString(s[n:min(len(s), n+maxTag)])
	s = s[n+len(between):]
	if strings.HasSuffix(between, "\n") {
		block, _, _ := strings.Cut(f.ahead(s, 1<<16), "\n\n")
		if !strings.HasSuffix(strings.TrimRight(block, " \t\r\n*`"), "}") {
			return ""
		}
	}
	line, _, _ := strings.Cut(s, "\n")
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(s, "{") && strings.HasPrefix(trimSpace(s[1:]), `"`), line == "()" && !bullet, line == "()]" && list:
		return tool
	case !strings.HasPrefix(s, "("):
		return ""
	}
	src := f.within(s, maxPassed)
	if src == "" {
		return ""
	}
	x := &resolver{d: f.d, cursor: cursor{src: src, pos: 1}, bare: true}
	err := try(x.keywords)
	f.spent += x.pos
	line, _, _ = strings.Cut(x.rest(), "\n")
	others := list && strings.HasPrefix(line, ",") && strings.HasSuffix(strings.TrimSpace(line), ")]")
	if err != nil || len(x.args) <= len("{}") || !others && strings.Trim(line, " \t*_;,.])}\r") != "" {
		return ""
	}
	return tool
}

// beforeArgs is what may come between a name and its arguments: the number of the
// call in Kimi's form, a token of Kimi's or Mistral's, marks of bold type, a colon,
// a line end.
var beforeArgs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?::[0-9]+)?(?:<\\|[a-z_]+\\|>|\\[ARGS\\])?[*`_ :]*(?:\r?\n)?")
})

// memberStart is the key of a member, and its value if that is a word or begins
// an object, perhaps in a string.
var memberStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["']([\w.-]+)["']\s*:\s*(?:["']([\w.-]+)["']|("?\{))?`)
})

// object returns the tool that an object, or the first of a list, names: under a
// name of D2 with an object beside it, or as the key of one. A definition of a
// tool names none.
func (f *finder) object(s string) (tool string) {
	s, _, _ = strings.Cut(f.ahead(s, 1<<16), "\n\n")
	args := false
	var keys []string
	for _, m := range memberStart().FindAllStringSubmatch(s, -1) {
		key, value, opens := m[1], m[2], m[3] != ""
		keys = append(keys, key)
		_, isTool := f.d.opts.Tools.Schema(key)
		named, known := f.d.declared(value)
		switch {
		case key == "properties" || key == "description":
			return ""
		case opens && isTool:
			tool, args = key, true
		case opens && argsKeys[fold(key)], key == "action_input":
			args = true
		case known && (nameKeys[fold(key)] || key == "recipient_name") && tool == "":
			tool = named
		}
	}
	x := resolver{d: f.d, name: tool}
	if !args && !slices.ContainsFunc(keys, func(key string) bool { return !nameKeys[fold(key)] && x.property(key) != nil }) {
		return ""
	}
	return tool
}

// markUp returns the tool of an element that is named like it, of one that names
// it, or of a control token before its name.
func (f *finder) markUp(s string, start bool) string {
	e, ok := elemAt(s[:min(len(s), maxElem)])
	m, _ := matchTag(s[:min(len(s), maxTag)])
	switch {
	case callToken().MatchString(s[:min(len(s), 2*maxGuarded)]), m.tag == toolOpen && ok && !e.closing && (f.shown || start):
		return f.word(s)
	case !ok, e.closing, m.tag != noTag:
		return ""
	}
	tool, known := f.d.declared(e.name)
	if !known && !start {
		return ""
	}
	inside, _, closed := strings.Cut(f.ahead(s[e.n:], maxPassed), "</"+e.name)
	switch content := strings.TrimSpace(inside); {
	case known && (e.empty || closed && (start || content != "") || start && strings.HasPrefix(content, "<")):
		return tool
	case start && (strings.Contains(e.fold, "functioncall") || strings.Contains(e.fold, "toolcall")):
		return f.word(s)
	case !start || !closed || content == "":
		return ""
	case strings.Contains(content, "<arg_key>"), e.fold == "tool", e.fold == "action", e.fold == "function": // GLM's, and LangChain's XML
		if tool, known := f.d.declared(tidyName(nameAttr(e.attrs))); known {
			return tool
		}
		return f.word(content)
	case content[0] == '{', content[0] == '[':
		return f.object(content)
	}
	if m := namedInside().FindStringSubmatch(inside[:min(len(inside), maxElem)]); m != nil {
		tool, _ = f.d.declared(tidyName(m[1]))
		return tool
	}
	return ""
}

// namedInside is an element that names something.
var namedInside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<(?:tool|function)?[-_]?(?:name|tool|function)>\s*([\w.:-]+)\s*</`)
})

// callToken is a control token that may begin a call, also as DeepSeek's models
// misspell theirs.
var callToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^<(?:[|｜][^<>]*(tool|call|function|action|channel|recipient|plugin|message|python)|\|open\|>call )`)
})

// word returns the first tool whose name occurs in s as a word.
func (f *finder) word(s string) string {
	for word := range strings.FieldsFuncSeq(f.ahead(s, maxElem), func(r rune) bool { return r < utf8.RuneSelf && !isWord(byte(r)) && r != '-' && r != '.' }) {
		word = strings.Trim(word, ".-")
		for _, name := range []string{word, word[strings.LastIndexByte(word, '.')+1:]} {
			if _, known := f.d.opts.Tools.Schema(name); known {
				return name
			}
		}
	}
	return ""
}

// onlyStep is a reply that is a thought and an action, or an action alone.
var onlyStep = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^\s*(?:(?:thought|act).*\n[\s*_]*)?act[^:]*:\s*[^\n]*$`)
})

// only returns the one tool that there is, if the reply is a thought and an action
// that names none, or the tool takes one text and the reply ends in its one fence
// behind prose: that is how agents with nothing but a shell have models write
// commands.
func (f *finder) only() (tool string, at int) {
	const fence = "\n```"
	names := f.d.opts.Tools.Names()
	text := strings.TrimRight(f.text, " \t\r\n")
	switch {
	case len(names) != 1:
		return "", 0
	case onlyStep().MatchString(text):
		return names[0], 0
	}
	at = strings.Index(text, fence) + len(fence)
	if strings.Count(text, fence) != 2 || !strings.HasSuffix(text, fence) || strings.HasPrefix(trimSpace(text), fence[1:]) {
		return "", 0
	}
	schema, _ := f.d.opts.Tools.Schema(names[0])
	if schema == nil || len(schema.Required) != 1 || len(schema.Properties) != 1 {
		return "", 0
	}
	if p := schema.Properties[schema.Required[0]]; p == nil || p.Type != "string" {
		return "", 0
	}
	return names[0], at
}
