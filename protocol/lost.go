package protocol

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// lost fails a reply that is about to be taken for the answer though it holds a
// call in a form that is not read (A8): mark-up of calls, outside of what is only
// shown, together with the name of a known tool. The model is told the right form
// once; which call was meant is not guessed.
func (d *Decoder) lost() {
	if d.opts.Tools == nil {
		return
	}
	f := finder{d: d, text: d.said.String()}
	reason := UnknownForm
	tool, at := f.find(d.spots)
	if tool == "" && (d.line.comment || d.line.example != "") { // what was only shown never ended
		f.shown, reason = true, FencedCall
		tool, at = f.find(spotsOf(f.text, d.shownAt))
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
// middle of a line is given back as text (H7); a call in any is told, not run (H8).
func (d *Decoder) unclosedThought() {
	text := d.mind.text.String()
	if d.mind.mid != "" {
		d.mode = inText
		at := d.off
		d.emit(d.mind.mid + text)
		d.off = at
	}
	f := finder{d: d, text: text, shown: true}
	if tool, at := f.find(spotsOf(text, 0)); tool != "" {
		d.fail(&FormatError{Reason: CallInThought, Offset: d.off - int64(len(text)-at), Tool: tool})
	}
}

// minimaxPrefix comes before every tag in a call of MiniMax M3.
const minimaxPrefix = "]<]minimax[>["

// spot notes where in the text that stands the mark-up of a call may begin: the
// start of a line, or a tag, outside of what is only shown.
func (d *Decoder) spot(ahead int) {
	d.line.settle()
	at, n := d.said.Len()+ahead, len(d.spots)
	if at < maxSaid && !d.line.literal() && d.line.fence == 0 && (n == 0 || d.spots[n-1] < at) {
		d.spots = append(d.spots, at)
	}
}

// spotsOf are all such places from an offset on, whatever is shown.
func spotsOf(text string, from int) (spots []int) {
	start := true
	for i := from; i < len(text); i++ {
		c := text[i]
		if c == '<' || start && !isSpace(c) && c != '`' && c != '~' {
			spots = append(spots, i)
		}
		start = c == '\n' || start && isSpace(c)
	}
	return spots
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
	s = s[:max(0, min(len(s), most, 4*len(f.text)+1<<16-f.spent))]
	f.spent += len(s)
	return s
}

// find returns the tool that a call at one of the places names, and where the
// call stands.
func (f *finder) find(spots []int) (tool string, at int) {
	for _, at = range spots {
		if at >= len(f.text) { // a token stood there
			break
		}
		line := at
		for line > 0 && f.text[line-1] != '\n' && isSpace(f.text[line-1]) {
			line--
		}
		start := line == 0 || f.text[line-1] == '\n'
		if start {
			tool = f.atLine(f.text[at:])
		}
		if tool == "" && f.text[at] == '<' {
			tool = f.markUp(f.text[at:], start || strings.HasSuffix(f.text[:at], minimaxPrefix))
		}
		if tool != "" {
			return tool, at
		}
	}
	return "", 0
}

// atLine returns the tool that a call at the start of a line names, behind the
// marks of a list and of bold type.
func (f *finder) atLine(s string) string {
	bullet := false
	for {
		t := strings.TrimLeft(s, " \t*_")
		if after := strings.TrimLeft(t, "0123456789"); len(after) < len(t) && strings.HasPrefix(after, ". ") {
			t = after[2:]
		} else if strings.HasPrefix(t, "- ") || strings.HasPrefix(t, "+ ") {
			t = t[2:]
		}
		if len(t) == len(s) || t == "" {
			break
		}
		bullet = true
		s = t
	}
	switch c := s[0]; {
	case strings.HasPrefix(s, lt): // B20
		name, _, _ := strings.Cut(s[len(lt):min(len(s), maxTag)], "&gt;")
		if m, _ := matchTag("<" + name + ">"); m.tag == toolOpen {
			return f.word(s)
		}
	case c == '{':
		return f.object(s)
	case c == '[':
		if rest := trimSpace(s[1:]); rest != "" && rest[0] == '{' {
			return f.object(s)
		}
		if end := strings.IndexByte(s[:min(len(s), maxTag)], ']'); end > 0 && strings.ToUpper(s[:end]) == s[:end] && !strings.ContainsAny(s[:end], "(\" ") {
			return f.word(s[end+1 : min(len(s), end+maxTag)])
		}
		return f.call(trimSpace(s[1:]), bullet)
	case strings.HasPrefix(s, ">>>"): // Functionary
		n := 3 + pathLen(s[3:])
		if tool, known := f.d.declared(s[3:n]); known && strings.HasPrefix(trimSpace(s[n:]), "{") {
			return tool
		}
	case strings.HasPrefix(s, "✿FUNCTION✿:"): // Qwen-Agent
		return f.word(s)
	case isWord(c):
		if tool := f.reAct(s); tool != "" {
			return tool
		}
		if strings.HasPrefix(s, functools+"[") {
			return f.object(s[len(functools):])
		}
		line, _, _ := strings.Cut(s, "\n")
		if _, to, ok := strings.Cut(line, "to=functions."); ok { // harmony without its tokens
			n := pathLen(to)
			if tool, known := f.d.declared(to[:n]); known && strings.HasPrefix(strings.TrimLeft(to[n:], " jsoncde"), "{") {
				return tool
			}
		}
		return f.call(strings.TrimPrefix(s, "print("), bullet)
	}
	return ""
}

// call returns the tool that s begins a call of: its name and literal arguments
// in parentheses, brackets or an object, and nothing behind them on the line.
func (f *finder) call(s string, bullet bool) string {
	n := pathLen(s)
	name := s[:n]
	s = strings.TrimLeft(s[n:], "*`_ :")
	if n == 0 || s == "" || s[0] != '(' && s[0] != '{' {
		return ""
	}
	tool, known := f.d.declared(tidyName(name))
	if !known {
		return ""
	}
	if s[0] == '{' {
		if r, err := read(reader{src: f.ahead(s, maxSaid), maxDepth: f.d.opts.MaxDepth}); err == nil && len(r.out) > len("{}") {
			return tool
		}
		return ""
	}
	if after, ok := strings.CutPrefix(s, "()"); ok && !bullet && blank(after[:max(0, strings.IndexByte(after+"\n", '\n'))]) {
		return tool
	}
	x := &resolver{d: f.d, src: f.ahead(s, maxSaid), pos: 1, bare: true}
	if err := try(x.keywords); err != nil || len(x.args) <= len("{}") {
		return ""
	}
	behind, _, _ := strings.Cut(x.rest(), "\n")
	if strings.Trim(behind, " \t*_;,.])}\r") != "" {
		return ""
	}
	return tool
}

// step begins a step in a format like that of ReAct.
var step = regexp.MustCompile(`(?i)^act(ion)?[ 0-9*]*:[ \t\r\n*` + "`" + `]*`)

// reAct returns the tool of a step in a format like that of ReAct: Action:,
// perhaps with a number, and a tool's name with its input in brackets.
func (f *finder) reAct(s string) string {
	after := s[len(step.FindString(s[:min(len(s), maxTag)])):]
	if len(after) == len(s) {
		return ""
	}
	line, below, _ := strings.Cut(after, "\n")
	line = strings.TrimRight(line, " *`\r")
	n := pathLen(line)
	if tool, known := f.d.declared(tidyName(line[:n])); known && n > 0 && (n == len(line) || strings.IndexByte("[({", line[n]) >= 0) {
		return tool
	}
	head := strings.ToLower(trimSpace(f.text[:min(len(f.text), maxTag)]))
	if names := f.d.opts.Tools.Names(); len(names) == 1 && blank(below) && (strings.HasPrefix(head, "thought") || strings.HasPrefix(head, "action")) {
		return names[0] // a step, and nothing else
	}
	return ""
}

// memberStart is the key of a member, and its value if that is a word or begins
// an object.
var memberStart = regexp.MustCompile(`["']([\w.-]+)["']\s*:\s*(?:["']([\w.-]+)["']|(\{))?`)

// object returns the tool that an object, or the first of a list, names: under a
// name of D2 with an object beside it, or as the key of one. A definition of a
// tool names none.
func (f *finder) object(s string) (tool string) {
	s, _, _ = strings.Cut(f.ahead(s, 1<<16), "\n\n")
	args := false
	for _, m := range memberStart.FindAllStringSubmatch(s, -1) {
		key, value, opens := m[1], m[2], m[3] != ""
		_, isTool := f.d.opts.Tools.Schema(key)
		named, known := f.d.declared(value)
		switch {
		case key == "properties" || key == "description":
			return ""
		case opens && isTool:
			tool, args = key, true
		case opens && argsKeys[fold(key)]:
			args = true
		case known && nameKeys[fold(key)] && tool == "":
			tool = named
		}
	}
	if !args {
		return ""
	}
	return tool
}

// markUp returns the tool of an element that is named like it, of one that names
// it, or of a control token before its name.
func (f *finder) markUp(s string, start bool) string {
	if strings.HasPrefix(s, "<｜tool ") { // as DeepSeek's models misspell their tokens
		return f.word(s)
	}
	if strings.HasPrefix(s, "<|") || strings.HasPrefix(s, "<｜") {
		head := strings.ToLower(s[:min(len(s), 2*maxGuarded)])
		if controlToken(s[1:]) && slices.ContainsFunc([]string{"tool", "call", "function", "action", "channel", "recipient", "plugin", "message", "python"}, func(w string) bool { return strings.Contains(head, w) }) {
			return f.word(s)
		}
		return ""
	}
	e, ok := elemAt(s[:min(len(s), maxElem)])
	if !ok || e.closing {
		return ""
	}
	m, _ := matchTag(s[:min(len(s), maxTag)])
	if m.tag == toolOpen {
		if f.shown || start {
			return f.word(s)
		}
		return ""
	}
	if m.tag != noTag {
		return ""
	}
	tool, known := f.d.declared(e.name)
	if !known && !start {
		return ""
	}
	inside, _, closed := strings.Cut(f.ahead(s[e.n:], maxSaid), "</"+e.name)
	if known && (e.empty || closed && (start || !blank(inside))) {
		return tool
	}
	if start && (strings.Contains(e.fold, "functioncall") || strings.Contains(e.fold, "toolcall")) {
		return f.word(s)
	}
	if !start || !closed {
		return ""
	}
	switch content := strings.TrimSpace(inside); {
	case strings.Contains(content, "<arg_key>"):
		return f.word(content)
	case e.fold == "tool" && slices.Contains(f.d.opts.Tools.Names(), content): // LangChain's XML
		return content
	case content != "" && (content[0] == '{' || content[0] == '['):
		return f.object(content)
	}
	for _, tool := range f.d.opts.Tools.Names() {
		if strings.Contains(inside[:min(len(inside), maxElem)], ">"+tool+"</") {
			return tool
		}
	}
	return ""
}

// word returns the first tool whose name stands in s as a word.
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

// only returns the one tool that there is, if it takes one text and the reply
// ends in its one fence behind prose: that is how agents with nothing but a shell
// have models write commands.
func (f *finder) only() (tool string, at int) {
	const fence = "\n```"
	names := f.d.opts.Tools.Names()
	text := strings.TrimRight(f.text, " \t\r\n")
	at = strings.Index(text, fence) + len(fence)
	if len(names) != 1 || strings.Count(text, fence) != 2 || !strings.HasSuffix(text, fence) || strings.HasPrefix(trimSpace(text), fence[1:]) {
		return "", 0
	}
	schema, _ := f.d.opts.Tools.Schema(names[0])
	if schema == nil || len(schema.Required) != 1 || len(schema.Properties) != 1 {
		return "", 0
	}
	p := schema.Properties[schema.Required[0]]
	if p == nil || p.Type != "string" {
		return "", 0
	}
	return names[0], at
}
