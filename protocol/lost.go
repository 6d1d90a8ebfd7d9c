package protocol

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// lost decides A8: it fails a reply that is about to be taken for the answer though it holds a
// call in a form that is not read: mark-up of calls, outside of what is only shown, together
// with the name of a known tool. Which forms those are, place says. The model gets one
// correction; which call was meant is not guessed.
func (d *Decoder) lost() {
	d.lookAt(false)
	f := finder{d: d, text: d.passed.String()}
	reason := UnknownForm
	tool, at, invented := f.find(d.callStarts)
	if invented { // B19
		d.failAt(len(f.text)-at, &FormatError{Reason: InventedObservation})
		return
	}
	if m := d.mention; m.tool != "" && (tool == "" || m.at < at) {
		tool, at = m.tool, m.at
	}
	if tool == "" && d.line.unended() { // A8: what was only shown never ended
		f.shown, reason = true, FencedCall
		tool, at, _ = f.find(callStartsOf(f.text, d.shownAt))
	}
	if tool == "" {
		tool, at = f.only()
		reason = UnknownForm
	} else if strings.HasPrefix(f.text[at:], lt) { // B20
		reason = EscapedCall
	} else if strings.HasPrefix(f.text[at:], "```") || strings.HasPrefix(f.text[at:], "~~~") {
		reason = FencedCall
	}
	if tool != "" {
		d.failAt(len(f.text)-at, &FormatError{Reason: reason, Tool: tool})
		d.loses(len(f.text) - f.nameBefore(at))
	}
}

// failBehind fails a reply for what begins behind its text: a call that cannot be read, or
// the result of one (B19). A call before it, in a form that is not read, is no text either.
func (d *Decoder) failBehind(err *FormatError) {
	d.losesBefore(err.Reason == InventedObservation)
	d.fail(err)
}

// losesBefore notes what of the text before the verdict is a call in a form that is not read.
func (d *Decoder) losesBefore(result bool) {
	f := finder{d: d, text: d.passed.String(), resultFollows: result}
	d.loses(0)
	if tool, at, _ := f.find(d.callStarts); tool != "" {
		d.loses(len(f.text) - f.nameBefore(at))
	}
}

// failAt fails a reply for what begins n bytes before the end of its text.
func (d *Decoder) failAt(n int, err *FormatError) {
	err.Offset = d.off - int64(n)
	d.loses(n)
	d.fail(err)
}

// loses notes that the last n bytes are not text, and neither is anything from a mention on.
func (d *Decoder) loses(n int) {
	if d.lostAt = n; d.mention.tool != "" {
		d.lostAt = max(n, d.passed.Len()-d.mention.at)
	}
}

// unclosedThought decides H7 and H8 in a reply that ends in thought: one that began in the middle
// of a line is given back as text; a call in any is malformed.
func (d *Decoder) unclosedThought() {
	text := d.thinking.text.String()
	if d.thinking.mid != "" {
		d.mode = inText
		at := d.off
		d.emit(d.thinking.mid + text)
		d.off = at
	}
	f := finder{d: d, text: text, shown: true}
	if tool, at, _ := f.find(callStartsOf(text, 0)); tool != "" {
		if d.failAt(len(text)-at, &FormatError{Reason: CallInThought, Tool: tool}); d.thinking.mid == "" { // it is no text
			d.loses(0)
		}
	}
}

// noteCallStart notes that behind before, which is not passed on yet, the mark-up of a
// call may begin: at the start of a line, that goes on with rest, or a tag, outside of
// what is only shown.
func (d *Decoder) noteCallStart(before, rest string) {
	d.line.settle()
	at, n := d.note(before), len(d.callStarts)
	if at >= maxPassed || d.line.literal() || d.line.fence > 0 || n > 0 && d.callStarts[n-1] >= at {
		return
	}
	d.lookAt(true)
	if d.line.filled || !d.wordy(rest) {
		d.noteWords()
		d.callStarts = append(d.callStarts, at)
	} else {
		d.line.words = at + 1
	}
}

// noteWords notes the start of a line that begins with words, once more than words
// come.
func (d *Decoder) noteWords() {
	if d.line.words > 0 {
		d.callStarts, d.line.words = append(d.callStarts, d.line.words-1), 0
	}
}

// lineLabels are with what a result begins, or a step (see observed and step), by their
// first letter.
var lineLabels = [256][]string{'o': {"observation", "output"}, 't': {"tool"}, 'f': {"function"}, 'r': {"result", "response", "return of"}, 'u': {"use tool", "use function"}, 'c': {"call tool", "call function", "command "},
	'e': {"execution "}, 's': {"system: "}, 'n': {"name"}}

// labelled reports whether s begins with one of these, as far as it goes.
func labelled(s string) bool {
	for _, label := range lineLabels[lower(s[0])] {
		if hasPrefixFold(s, label) {
			return true
		}
	}
	return false
}

// exact reports whether a tool has just this name.
func (d *Decoder) exact(name string) (known bool) {
	if name != "" && d.initials[name[0]] {
		_, known = d.opts.Tools.Schema(name)
	}
	return known
}

// wordy reports whether a line begins with a word that, whatever follows, is no call
// without a brace, an equals sign or a tag. It is the short form of atLine.
func (d *Decoder) wordy(s string) bool {
	n := pathLen(s)
	if c := lower(s[0]); c <= 'a' || c > 'z' || n+1 >= len(s) {
		return false
	}
	if labelled(s) || d.exact(s[:n]) || s[n] == '(' {
		return false
	}
	c := s[n+1]
	return (s[n] == ' ' || s[n] == ',') && isWord(c) && c != '_' && !isDigit(c)
}

// lookAt looks once at the last place that was noted, which goes if none begins
// there, so that little is left for the end of the reply.
func (d *Decoder) lookAt(streams bool) {
	n := len(d.callStarts) - 1
	if n < 0 || d.callStarts[n] == d.lookedAt || d.passed.Len() >= maxPassed || d.doubt.open && d.doubt.next == n {
		return
	}
	d.lookedAt = d.callStarts[n]
	f := finder{d: d, text: d.passed.String(), streams: streams}
	if d.lookedAt < len(f.text) && f.place(d.lookedAt).none() {
		d.callStarts, d.doubt.next = d.callStarts[:n], min(d.doubt.next, n)
		if n > 0 { // it was looked at when it was the last
			d.lookedAt = d.callStarts[n-1]
		}
	}
}

// mayName reports whether a < in the middle of a line may begin a call: that is an
// element of a tool, or a control token.
func (d *Decoder) mayName(s string) bool {
	name := trimSpace(s[1:])
	return name == "" || name[0] != '/' && (!plain(s) || d.initials[name[0]] || mayCall(name)) || name[0] == '<' && !plain(name)
}

// callStartsOf are all such places from an offset on, whatever is shown.
func callStartsOf(text string, from int) (starts []int) {
	for i := from; i < len(text); i++ {
		if c := text[i]; c == '<' || c != '\n' && (i == from || text[i-1] == '\n') {
			starts = append(starts, i)
		}
	}
	return starts
}

// lt is a < as HTML writes it.
const lt = "&lt;"

// finder looks for the mark-up of a call in text.
type finder struct {
	d       *Decoder
	text    string
	shown   bool // calls in forms that are read are looked for too
	streams bool // more of the text may come
	spent   int  // bytes that were looked at twice

	resultFollows bool // the result of a call comes behind the text
}

// ahead is how much of s, up to most, may be looked at beyond the text's own
// length: the work stays linear.
func (f *finder) ahead(s string, most int) string {
	s = f.within(s, most)
	f.spent += len(s)
	return s
}

const blankLine = "\n\n"

// value is the object or list that s begins with, as far as it may be looked at.
func (f *finder) value(s string) string {
	s = f.within(s, 1<<16)
	s = s[:valueEnd(s)]
	f.spent += len(s)
	return s
}

// within is the same for who looks at less than that, and counts it.
func (f *finder) within(s string, most int) string {
	return s[:max(0, min(len(s), most, 4*len(f.text)+1<<16-f.spent))]
}

// find returns the tool that a call at one of the places names, and the place; or that
// the result of one was made up there.
func (f *finder) find(starts []int) (tool string, at int, invented bool) {
	if f.d.anyTool {
		return "", 0, false
	}
	for _, at = range starts {
		if at >= len(f.text) { // a token was there
			break
		}
		if g := f.place(at); g.certain() {
			return g.tool, at, g.invented
		}
	}
	return "", 0, false
}

// guess is what is known of a place: that no call begins there, that more text will
// tell, or that one may have begun, of a tool where that is certain.
type guess struct {
	tool     string
	invented bool   // the result of a call
	until    string // after this has come, it is decided
	waits    bool   // for more of the text
	at       int    // from where on, behind the place, there is a doubt; below 0: there is none yet
}

// found is a call of a tool, if there is one.
func found(tool string) guess { return guess{tool: tool} }

func (g guess) certain() bool { return g.tool != "" || g.invented }

func (g guess) none() bool { return !g.certain() && g.until == "" && !g.waits }

// soon is a doubt that ends when there is more of the text.
func (f *finder) soon(s string, most, at int) (g guess) {
	if f.streams && len(s) < most {
		g = guess{waits: true, at: at}
	}
	return g
}

// named is a place whose call needs the name of a tool behind it.
func (f *finder) named(s string) guess {
	if tool := f.word(s); tool != "" {
		return found(tool)
	}
	return f.soon(s, maxElem, 0)
}

// place decides A8 and B19 at one place, by asking who knows the forms: inMidLine, observed,
// fenced, atLine, argumentsOf and markUp.
func (f *finder) place(at int) (g guess) {
	from := at
	for from > 0 && isSpace(f.text[from-1]) && f.text[from-1] != '\n' {
		from--
	}
	start := from == 0 || f.text[from-1] == '\n'
	switch c := f.text[at]; {
	case !start && (c == '{' || c == '('):
		return f.inMidLine(at)
	case !start && c == '[' && !f.shown:
		return f.observed(f.text[at:])
	case start && (c == '`' || c == '~') && !f.shown:
		g = f.fenced(f.text[at:], f.text[from:at])
		if g.none() && f.d.mayObserve(f.text[at:]) {
			g = f.observed(f.text[at:])
		}
		return g
	case start && !f.shown && c == '<' && codeTag().MatchString(f.text[at:min(len(f.text), at+maxTag)]):
		return f.fenced(f.text[at:], f.text[from:at])
	case start:
		if g = f.atLine(f.text[at:]); g.none() && c == '{' {
			value := f.value(f.text[at:])
			behind := f.text[at+len(value):]
			behind = behind[:len(behind)-len(trimSpace(behind))]
			value, _, inside := strings.Cut(value, blankLine)
			if inside || at+len(value)+len(behind) == len(f.text) || strings.Contains(behind, blankLine) {
				g = found(f.argumentsOf(value, f.text[:at]))
			}
		}
	}
	if g.tool == "" && f.text[at] == '<' {
		if m := f.markUp(f.text[at:], start); !m.none() {
			return m
		}
	}
	return g
}

// bulleted takes the marks of a list and of bold type from the start of a line.
func bulleted(s string) (rest string) {
	if s == "" || strings.IndexByte(" \t*_#-+0123456789", s[0]) < 0 {
		return s
	}
	rest = strings.TrimLeft(s, " \t*_#")
	digits := strings.TrimLeft(rest, "0123456789")
	switch {
	case len(digits) < len(rest) && strings.HasPrefix(digits, ". "):
		rest = digits[2:]
	case strings.HasPrefix(rest, "- "), strings.HasPrefix(rest, "+ "):
		rest = rest[2:]
	}
	if len(rest) < len(s) {
		return bulleted(rest)
	}
	return rest
}

// atLine decides A8, B19 and B20 at the start of a line, behind such marks, by asking object,
// observed, behindLabel, call and step.
func (f *finder) atLine(s string) guess {
	rest := bulleted(s)
	if strings.HasPrefix(rest, "\n") { // nothing is on the line, and the next is looked at by itself
		return guess{}
	}
	bullet := len(rest) < len(s)
	rest = strings.TrimPrefix(rest, functools)
	skipped, head := len(s)-len(rest), rest[:min(len(rest), maxTag)]
	switch rest[:min(len(rest), 1)] {
	case "{":
		return f.object(rest, skipped)
	case "&": // B20
		name, _, closed := strings.Cut(strings.TrimPrefix(head, lt), "&gt;")
		switch m, _ := matchTag("<" + name + ">"); {
		case !closed:
			return f.soon(rest, maxTag, 0)
		case m.tag == toolOpen:
			return f.named(rest)
		case m.tag == observationOpen && !f.shown: // B19: an escaped tag
			return guess{invented: true}
		}
	case "[":
		if n := len(callBracket().FindString(head)); n > 0 {
			return f.named(rest[n:])
		}
		if inside := trimSpace(rest[1:]); inside == "" {
			return f.soon(rest, maxElem, skipped)
		} else if inside[0] == '{' {
			return f.object(rest, skipped)
		}
	}
	if !f.shown && f.d.mayObserve(s) {
		if g := f.observed(s); !g.none() {
			return g
		}
	}
	if g := f.behindLabel(head, rest, skipped); !g.none() {
		return g
	}
	name, list := strings.CutPrefix(rest, "[")
	if g := f.call(trimSpace(name), bullet, list); !g.none() {
		return g
	}
	if g := f.step(rest); !g.none() {
		return g
	}
	if strings.IndexByte(head, '\n') < 0 {
		return f.soon(head, maxTag, -1)
	}
	return guess{}
}

// callBracket is a token in brackets that opens a call, as of MiniMax, or what programs
// write before one in a conversation.
var callBracket = lazyRegexp(`^\[(?i:tool|function)(?:_?(?i:calls?)\]| (?i:call): )`)

// objectLabel is what comes before an object on its line: words that announce a
// call, or a token in brackets such as LM Studio's.
var objectLabel = lazyRegexp(`^(?:\[(?:[A-Z_]+|(?i:(?:tool|function)_?calls?))\]\s*|(?i:[a-z ]*\b(?:call|tool|function|action|assistant)):[ *]*)?`)

// lineForm is what begins a call on a line, and the name of the tool behind it:
// Functionary's >>>, Qwen-Agent's ✿FUNCTION✿:, a token in brackets, harmony
// without its tokens, and steps like those of ReAct, perhaps with a number. What
// follows the name may still come.
var lineForm = lazyRegexp(lineHead + `(?:([\w.\\-]+)(?:` + lineArgs + `)|([\w.\\-]*)(?:[ *\x60\ra-z]|<\|[a-z]*\|?>?)*$)`)

const (
	lineHead = `^(?:>>>|✿FUNCTION✿:\s*|\[[A-Z_]+\]\s*|(?:[^\n{>][^\n{]*)?to=functions\.|(?:[^\n{>][^\n{]*)?commentary to=|(?i:act(?:ion)?)[ 0-9*]*[:：][\s*\x60]*)`
	lineArgs = `[ *\x60\r]*(?:\n|$|[\[({:])|(?:[ a-z]|<\|[a-z]+\|>)*\n?\{`
)

// behindLabel decides A8 for a call behind words or a token at the start of a line.
func (f *finder) behindLabel(head, rest string, skipped int) guess {
	if strings.IndexByte(head, '{') > 0 {
		if label := len(objectLabel().FindString(head)); strings.HasPrefix(rest[label:], "{") {
			return f.object(rest[label:], skipped+label)
		}
	}
	steps := len(head) > 3 && strings.EqualFold(head[:3], "act")
	if head == "" || strings.IndexByte(">[\xe2", head[0]) < 0 && !steps &&
		(strings.IndexByte(head, '=') < 0 || !strings.Contains(head, "to=functions.") && !strings.Contains(head, "commentary to=")) {
		return guess{}
	}
	switch m := lineForm().FindStringSubmatchIndex(head); {
	case m == nil:
	case m[2] >= 0:
		if tool, known := f.d.declared(tidyName(head[m[2]:m[3]])); known {
			return guess{tool: tool, at: skipped + m[2]}
		}
	default:
		return f.soon(head, maxTag, skipped+m[4])
	}
	return guess{}
}

// call decides A8 for a call that s begins: the name of a tool and arguments in parentheses,
// brackets or an object, and nothing behind them on the line but, in a list, other calls; and
// for methods and functions that call a tool. In a list the call, or its name, may be a string.
func (f *finder) call(s string, bullet, list bool) guess {
	quote := ""
	if list && s != "" && (s[0] == '\'' || s[0] == '"') {
		quote, s = s[:1], s[1:]
	}
	s = strings.TrimPrefix(s, "print(")
	n := pathLen(s)
	if n == len(s) {
		return f.soon(s, maxTag, 0)
	}
	tool, known := f.d.declared(tidyName(s[:n]))
	if !known && s[n] == '(' {
		args := s[n:min(len(s), n+maxTag)]
		if m := callerArgs().FindStringSubmatch(args); m != nil && f.d.stands(m[1]+m[2]) {
			return found(m[1] + m[2])
		}
		if !f.d.opts.Told {
			tool, known = f.d.method(s[:n])
		}
		if !known && !strings.Contains(args, ")") {
			return f.soon(args, maxTag, 0)
		}
	}
	if !known {
		return guess{}
	}
	if after, ended := strings.CutPrefix(s[n:], quote); quote != "" && ended { // only the name is a string
		after = strings.TrimLeft(after, " ,")
		if after == "" || after[0] != '{' && after[0] != '(' {
			return f.soon(after, 1, 0)
		}
		n = len(s) - len(after)
	}
	between := beforeArgs().FindString(s[n:min(len(s), n+maxTag)])
	s = s[n+len(between):]
	if strings.HasPrefix(trimSpace(s), "<arg_key>") { // GLM's, without the tag before the name
		return found(tool)
	}
	object := strings.HasPrefix(s, "{")
	switch {
	case f.streams && (s == "" || strings.HasPrefix("[ARGS]", s) || strings.HasPrefix("<arg_key>", trimSpace(s)) || strings.HasPrefix(s, "<|")):
		return f.soon(s, 2*maxTag, 0)
	case f.streams && (s[0] == '(' || object):
		return found(tool)
	}
	if strings.HasSuffix(between, "\n") {
		block, _, _ := strings.Cut(f.ahead(s, 1<<16), "\n\n")
		if !strings.HasSuffix(strings.TrimRight(block, " \t\r\n*`"), "}") && (!object || valueEnd(s) < len(s)) {
			return guess{}
		}
	}
	line, _, _ := strings.Cut(s, "\n")
	line = strings.TrimSpace(line)
	switch {
	case object && f.begins(tool, s), line == "()" && !bullet, line == "()]" && list:
		return found(tool)
	case !strings.HasPrefix(s, "("):
		return guess{}
	}
	behind, ok := f.arguments(tool, f.within(s, maxPassed))
	behind = strings.TrimPrefix(behind, quote)
	line, _, _ = strings.Cut(behind, "\n")
	block, _, _ := strings.Cut(behind, blankLine)
	block, closed := strings.CutSuffix(strings.TrimSpace(block), "]")
	others := list && closed && strings.HasPrefix(line, ",") && strings.HasSuffix(strings.TrimRight(block, white+quote), ")")
	if !ok || !others && strings.Trim(line, " \t*_;,.])}\r") != "" && (f.d.opts.Told || !returned().MatchString(line) && (!list || !indexed().MatchString(line))) {
		return guess{}
	}
	return found(tool)
}

// callerArgs is how the arguments of a function that calls a tool begin: call_tool("NAME", …),
// ToolCall(name="NAME", …).
var callerArgs = lazyRegexp(`^\(\s*(?:(?:name\s*=\s*)?["']([\w-]+)["']\s*,|([\w-]+)\s*,\s*(?:\{|\w+=))`)

// method returns the tool that is the last part of a path, as of a client or a server, or
// the one whose method that is.
func (d *Decoder) method(path string) (tool string, known bool) {
	parts := strings.Split(strings.ReplaceAll(path, "__", "."), ".")
	last := len(parts) - 1
	if last > 0 && slices.Contains([]string{"call", "invoke", "run"}, parts[last]) {
		tool = parts[last-1]
		return tool, d.exact(tool)
	}
	return parts[last], last > 0 && d.stands(parts[last])
}

// returned is what comes between a call and what it is said to have returned, or a comment.
var returned = lazyRegexp(`^ *(?:->|=>|→|#|= ?["'0-9])`)

// indexed is the end of a list of calls that a program goes on with: it takes one result, or calls
// it. A link has an address there.
var indexed = lazyRegexp(`^](?:\[|\(\))`)

// beforeArgs is what may come between a name and its arguments: the number of the
// call in Kimi's form, a token of Kimi's or Mistral's, marks of bold type, a colon,
// a line end.
var beforeArgs = lazyRegexp("^(?::[0-9]+)?(?:<\\|[a-z_]+\\|>|\\[ARGS\\])?[*`_ :]*(?:\r?\n)?")

// markUp decides A8 and B19 for what a < begins: an element that is named like a tool, one that
// names one, or a control token before its name; and the element of a result.
func (f *finder) markUp(s string, start bool) guess {
	if !start && !f.shown && !f.d.mayName(s) { // as noteCallStart has it
		return guess{}
	}
	e, ok := elemAt(s[:min(len(s), maxElem)])
	m, _ := matchTag(s[:min(len(s), maxTag)])
	second, token := s[1:min(len(s), 2)], s[:min(len(s), 2*maxGuarded)]
	bar := second == "" || strings.Contains("|｜", second)
	end := 1 + strings.IndexAny(token[1:]+">", "<>") // of its text
	switch {
	case bar && end > len("<call") && callToken(token, end), m.tag == toolOpen && ok && !e.closing && (f.shown || start):
		return f.named(s)
	case bar && end == len(token):
		return f.soon(s, 2*maxGuarded, 0)
	case m.tag == toolOpen && ok && !e.closing: // in the middle of a line: words follow
		return f.mentioned(s[e.n:], m)
	case m.tag == observationOpen && ok && !e.closing && !f.shown: // B19
		return f.result(s[e.n:])
	case f.streams && !ok && strings.IndexByte(s[:min(len(s), maxElem)], '>') < 0:
		if f.mayBeElement(trimSpace(s[1:]), start) {
			return f.soon(s, maxElem, 0)
		}
		return guess{}
	case !ok, e.closing, m.tag != noTag:
		return guess{}
	}
	tool, known := f.d.declared(e.name)
	calls := callElement().MatchString(e.fold)
	if !known && !start && !calls {
		return guess{}
	}
	if tool := f.inElement(e.attrs, ""); calls && tool != "" {
		return found(tool)
	}
	closer := "</" + e.name
	inside, _, closed := strings.Cut(f.ahead(s[e.n:], maxPassed), closer)
	switch content := strings.TrimSpace(inside); {
	case known && (e.empty || closed && (start || content != "") || start && strings.HasPrefix(content, "<")):
		return found(tool)
	case start && (strings.Contains(e.fold, "functioncall") || strings.Contains(e.fold, "toolcall")):
		return f.named(s)
	case f.streams && !closed:
		return guess{until: closer}
	case start && e.fold == "name" && strings.Contains(content, "<parameter"): // Qwen's, without the tags before the name
		tool, _ = f.d.declared(content[:pathLen(content)])
		return found(tool)
	case start && closed && e.name == "parameter" && nameAttr(e.attrs) != "": // without what comes before it
		return found(f.declares(nameAttr(e.attrs)))
	case start && closed && e.name == "arg_key":
		return found(f.declares(content))
	case start && closed && nameElements[e.fold] && f.d.exact(content) && !calls:
		_, after, _ := strings.Cut(f.ahead(s[e.n:], maxPassed), closer)
		return f.argumentsBelow(after, content)
	case !closed || content == "":
		return guess{}
	case calls:
		return found(f.inElement("", content))
	case strings.Contains(content, "<arg_key>"): // GLM's
		return found(f.word(content))
	case content[0] == '{', content[0] == '[':
		return found(f.inObject(content))
	}
	inside = inside[:min(len(inside), maxElem)]
	if m := namedInside().FindStringSubmatch(inside); m != nil {
		tool, known = f.d.declared(tidyName(m[2]))
		if known && (fold(m[1]) != "name" || f.hasArgument(tool, inside)) { // any document has a <name>
			return found(tool)
		}
	}
	return guess{}
}

// namedInside is an element that names something.
var namedInside = lazyRegexp(`(?i)<((?:tool|function)?[-_]?(?:name|tool|function))>\s*([\w.:-]+)\s*</`)

// hasArgument reports whether there is an element for an argument of a tool, or for all of
// them.
func (f *finder) hasArgument(tool, s string) bool {
	for at := range strings.SplitSeq(s, "<") {
		if e, ok := elemAt("<" + at); ok && (paramElements[e.fold] || f.d.property(tool, e.name) != nil) {
			return true
		}
	}
	return false
}

// mayBeElement reports whether s, behind a <, may become an element whose tag is not
// complete.
func (f *finder) mayBeElement(s string, start bool) bool {
	name, rest := tagName(s)
	_, known := f.d.declared(name)
	return s == "" || s[0] != '/' && !strings.ContainsAny(name, "<\"'{}") && (start || known || rest == "" || callElement().MatchString(fold(name)))
}

// argumentsBelow are those of a tool in an element that follows the one with its name, of
// whose closing tag s is the end.
func (f *finder) argumentsBelow(s, tool string) guess {
	_, next, ended := strings.Cut(s, ">")
	next = trimSpace(next)
	e, whole := elemAt(next[:min(len(next), maxTag)])
	switch {
	case whole && argsKeys[e.fold]:
		return found(tool)
	case !ended, next == "", next[0] == '<' && !whole:
		return f.soon(s, maxTag, 0)
	}
	return guess{}
}

// callToken reports whether a control token, of which end bytes stand before its >,
// may begin a call, also as DeepSeek's models misspell theirs.
func callToken(s string, end int) bool {
	text := strings.ToLower(s[1:end])
	if text == "|open|" {
		return strings.HasPrefix(strings.ToLower(s[end:]), ">call ")
	}
	bar := strings.HasPrefix(text, "|") || strings.HasPrefix(text, "｜")
	return bar && slices.ContainsFunc(callWords, func(word string) bool { return strings.Contains(text, word) })
}

var callWords = strings.Fields("tool call function action channel recipient plugin message python")

// word returns the first tool whose name occurs in s as a word.
func (f *finder) word(s string) string {
	for name := range namesIn(f.ahead(s, maxElem)) {
		if _, known := f.d.opts.Tools.Schema(name); known {
			return name
		}
	}
	return ""
}

// namesIn yields what may be names in s, and what of them is behind a dot.
func namesIn(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < utf8.RuneSelf && !isWord(byte(r)) && r != '-' && r != '.' }) {
			word = strings.Trim(word, ".-")
			if !yield(word) || !yield(word[strings.LastIndexByte(word, '.')+1:]) {
				return
			}
		}
	}
}

// onlyStep is a reply that is a thought and an action, or an action alone.
var onlyStep = lazyRegexp(`(?is)^\s*(?:(?:thought|act).*\n[\s*_]*)?act[^:]*:\s*[^\n]*$`)

// begins reports whether an object begins with an argument of a tool.
func (f *finder) begins(tool, object string) bool {
	m := firstKey().FindStringSubmatch(object[:min(len(object), maxTag)])
	return m != nil && f.d.property(tool, m[1]+m[2]) != nil
}

// shells are what is written behind the ticks of a fence with a command.
var shells = []string{"bash", "sh", "shell"}

// onlyCode is the inline code that is all of a reply so far; "": there is other text.
func (f *finder) onlyCode() string {
	const tick = "`"
	text := trimSpace(f.text[:min(len(f.text), maxElem)])
	if len(f.text) > maxElem || !strings.HasPrefix(text, tick) || f.d.opts.Told {
		return ""
	}
	code, after, _ := strings.Cut(strings.TrimPrefix(text, tick), tick)
	if !blank(after) || strings.IndexByte(code, '\n') >= 0 {
		return ""
	}
	return code
}

// only decides A8 for a whole reply: it returns the tool that a reply calls which is a call in
// inline code and nothing else; or the one tool that there is, if the reply is a thought and an
// action that names none, or the tool takes one text and the reply ends in its one fence behind
// prose: that is how agents with nothing but a shell have models write commands.
func (f *finder) only() (tool string, at int) {
	names := f.d.opts.Tools.Names()
	text := strings.TrimRight(f.text, " \t\r\n")
	if tool, rest := f.python(f.onlyCode()); tool != "" && strings.Trim(rest, ")") == "" {
		return tool, 0
	}
	switch {
	case len(names) != 1:
		return "", 0
	case !f.d.opts.Told && onlyStep().MatchString(text):
		return names[0], 0
	}
	at = strings.Index(text, fenceLine) + len(fenceLine)
	if strings.Count(text, fenceLine) != 2 || !strings.HasSuffix(text, fenceLine) || strings.HasPrefix(trimSpace(text), fenceLine[1:]) {
		return "", 0
	}
	info, content, _ := strings.Cut(text[at:], "\n")
	info = fold(info)
	command := !f.d.opts.Told && (slices.Contains(shells, info) || strings.Contains(fold(names[0]), info))
	schema, _ := f.d.opts.Tools.Schema(names[0])
	if schema == nil || len(schema.Required) != 1 || len(schema.Properties) != 1 ||
		!command && !f.begins(names[0], content) && (!strings.HasPrefix(content, "{") || f.inObject(content) == "") {
		return "", 0
	}
	if p := schema.Properties[schema.Required[0]]; p == nil || p.Type != "string" {
		return "", 0
	}
	return names[0], at
}
