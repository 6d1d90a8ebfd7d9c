package protocol

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// The decoder is a small state machine over a reply. It passes text on at once,
// except for a tag or a word that may be incomplete (pend). What may be a call is
// held until its dialect finds its end and the judge allows what follows. Every
// byte is looked at a bounded number of times, and how the reply is split makes no
// difference.
//
//	decoder.go    text, thought and answers: what is passed on, and what begins
//	line.go       position in the line, and the code or example around the text
//	tag.go        the tags and tokens that mean something
//	dialect.go    the table of dialects, which tool a name refers to, and Action; json, python, arguments and token.go read the others
//	judge.go      where a call ends, and what may follow it
//	block.go      the content of a block: the one reader of calls
//	value.go      JSON as models write it, the cursor that all readers share, the tokens, and the search for a value's end
//	native.go     calls that the server took out of the text
//	lost.go       calls that would be lost in an answer
//	prose.go      those in the middle of a line and in a fence
//	result.go     results that the model made up
//	doubt.go      what of the text may turn out to be one

type mode uint8

const (
	inText    mode = iota
	inThought      // inside <think>
	inAnswer       // inside <final_answer>
	afterward      // after </final_answer>
	inHeld         // in what may be a call
	done
)

// Decoder reads one reply. It is not safe for concurrent use.
type Decoder struct {
	opts       Options
	anyTool    bool // no tools were given: every name counts in a block
	oneTool    bool
	mode       mode
	off        int64  // bytes of the reply that are dealt with, pend and held not counted
	pend       string // the beginning of a tag or a word
	line       line
	parts      []Part
	held       held
	thinking   thought
	passed     strings.Builder // the text so far, unless retracted, up to maxPassed
	noted      int             // how much of it is not passed on yet
	callStarts []int           // where in it a call may begin
	lookedAt   int             // the last of these that was looked at; -1: none

	mention mention // the first in it, if there is one

	shownAt int   // where in it the last example, comment or inline code of several lines began
	doubt   doubt // see Doubtful
	lostAt  int   // what lost found is so far from the end of the text; 0: nothing

	tries  budget // of calls without tags
	folded map[string][]string

	initials [256]bool // with which the name of a tool may begin, however it is written

	thought       bool // some thought was seen
	text          bool // some text other than white space was passed on and not retracted
	answered      bool // <final_answer> was seen
	strikethrough bool // <s> was seen, as in HTML
	harmony       bool // a header of that format was seen
	droppedCall   bool
}

// thought is one that is being read.
type thought struct {
	depth    int    // tags of thought that are open
	mid      string // the tag, where it began in the middle of a line
	messages bool   // its end is that of a message in the harmony format
	first    byte   // of its tags
	last     byte   // of what was passed on
	quote    byte   // that is open on its line
	text     strings.Builder
}

// NewDecoder returns a decoder for one reply.
func NewDecoder(o Options) *Decoder {
	o.MaxArgs = cmp.Or(o.MaxArgs, 16<<20) // L1
	o.MaxDepth = cmp.Or(o.MaxDepth, defaultDepth)
	d := &Decoder{opts: o, anyTool: o.Tools == nil, lookedAt: -1}
	if d.anyTool {
		d.opts.Tools = noTools{}
	}
	names := d.opts.Tools.Names()
	d.oneTool = len(names) == 1
	for _, name := range names {
		c := lower((fold(name) + " ")[0])
		d.initials[(name + " ")[0]], d.initials[c], d.initials[strings.ToUpper(string(c))[0]] = true, true, true
	}
	return d
}

// noTools are the known tools of a decoder that was given none.
type noTools struct{}

func (noTools) Names() []string                          { return nil }
func (noTools) Schema(string) (*jsonschema.Schema, bool) { return nil, false }

// Done reports whether the reply is decided: nothing more is read, and the
// model may be stopped.
func (d *Decoder) Done() bool { return d.mode == done }

// DroppedCall reports whether another call came behind the verdict, which has no
// effect. A backend that is stopped in time never gets there.
func (d *Decoder) DroppedCall() bool { return d.droppedCall }

// Push takes the next piece of the reply, of any size, and returns what is
// certain now. The slice is valid until the next call of Push or Close.
func (d *Decoder) Push(text string) []Part {
	d.parts = d.parts[:0]
	d.push(text)
	return d.parts
}

// push takes a piece of the reply, of any size. It decides T1: what may be incomplete waits
// in pend or in held, for the next piece.
func (d *Decoder) push(text string) {
	for text != "" {
		switch d.mode {
		case inText, inAnswer, afterward:
			text = d.pushText(text)
		case inThought:
			text = d.pushThought(text)
		case inHeld:
			text = d.pushHeld(text)
		case done:
			d.drop(text)
			text = ""
		}
	}
}

// Close ends the reply and returns the rest: what was held back, and the
// verdict if the reply is neither text nor a call.
func (d *Decoder) Close(stop Stop) []Part {
	d.parts = d.parts[:0]
	for d.mode == inHeld {
		d.push(d.decide(stop))
	}
	d.conclude(stop)
	return d.parts
}

// conclude gives the verdict on a reply that ended, or whose turn did. It decides T9, A1, A7 and H4,
// what of T2 is cut, and with Insisted and Last when lost looks for a call (A8).
func (d *Decoder) conclude(stop Stop) {
	pend := d.pend
	d.pend = ""
	defer func() { d.mode = done }()
	switch {
	case d.mode == inThought: // H4: it goes to the end
		d.emitThought(pend)
		d.unclosedThought()
	case d.mode != done:
		d.line.settle()
		m, _ := matchTag(pend + " ")
		explained, _ := d.inSentence(pend+"\n", m)
		switch literal := d.line.literal() || d.line.fence > 0; {
		case !literal && m.tag == turnEnd && !explained:
		case !literal && stop == Length && d.halfTag(pend): // T2: cut
			d.parts = append(d.parts, Part{Kind: Cut, Text: pend})
			return
		default:
			if d.off == 0 && pend != "" {
				d.noteCallStart("", pend)
				d.noteWords()
			}
			d.emit(pend)
		}
	}
	switch {
	case d.mode == done:
	case !d.text && d.thought: // H4: nothing else
		d.fail(&FormatError{Reason: OnlyThought, Offset: d.off})
	case !d.text: // T9, A7
		d.fail(&FormatError{Reason: Empty, Offset: d.off})
	case (stop == End || d.opts.Last) && !d.answered && !d.opts.Insisted: // A8
		d.lost()
	} // without a verdict it is the answer (A1)
	for _, p := range d.parts {
		if p.Kind == Malformed {
			p.Err.Cut = stop == Length
		}
	}
}

// halfTag reports whether s, at the end of a reply, is the beginning of a tag.
func (d *Decoder) halfTag(s string) (more bool) {
	const letters = 3 // fewer may be anything
	if len(fold(s)) < letters {
		return false
	}
	if _, more = matchToken(s); s[0] == '<' {
		_, more = d.matchTag(s)
	}
	return more
}

// drop decides B4, B5 and H6 behind the verdict: it drops what comes, and notes a call in it.
func (d *Decoder) drop(s string) {
	for i := 0; i < len(s) && !d.droppedCall; i++ {
		if s[i] == '<' {
			m, _ := matchTag(s[i:min(len(s), i+maxTag+1)])
			d.droppedCall = m.tag == toolOpen
		}
	}
}

// maxPassed bounds the text that lost looks at (L5).
const maxPassed = 1 << 20

// emit passes text on. It decides A5: what follows a wrapped answer is dropped.
func (d *Decoder) emit(s string) {
	if s == "" {
		return
	}
	d.off += int64(len(s))
	if d.mode == afterward {
		return // A5
	}
	d.text = d.text || !blank(s)
	d.note(s)
	d.noted = 0
	d.parts = append(d.parts, Part{Kind: Text, Text: s})
}

// note adds to passed what is about to be passed on, and returns where in the text it ends.
func (d *Decoder) note(s string) (end int) {
	d.passed.WriteString(s[d.noted:][:min(len(s)-d.noted, maxPassed-d.passed.Len())])
	d.noted = len(s)
	return d.passed.Len()
}

func (d *Decoder) emitThought(s string) {
	if s == "" {
		return
	}
	d.off += int64(len(s))
	d.thought = d.thought || !blank(s)
	d.thinking.quote, d.thinking.last = d.thinking.openQuote(s), s[len(s)-1]
	if d.thinking.text.Len() < max(d.opts.MaxArgs, maxPassed) {
		d.thinking.text.WriteString(s)
	}
	d.parts = append(d.parts, Part{Kind: Thought, Text: s})
}

// fail gives the verdict that the reply is malformed. It decides B5: no later block is looked at.
func (d *Decoder) fail(err *FormatError) {
	d.parts = append(d.parts, Part{Kind: Malformed, Err: err})
	d.mode = done
}

// retract takes back all text: it was thought.
func (d *Decoder) retract() {
	d.parts = append(d.parts, Part{Kind: Retract})
	d.thought = d.thought || d.text
	d.text, d.line = false, line{}
	d.passed.Reset()
	d.callStarts, d.lookedAt, d.doubt, d.mention = nil, -1, doubt{}, mention{}
}

// stops are the bytes that matter in the middle of a line, beside its end: 0xe2 as the
// first of ◁, two with which the arguments of a call may begin, and one that matters in
// a line that begins with words.
var stops = [...]byte{'<', '`', '[', 0xe2, '{', '(', '='}

var isStop = [256]bool{'\n': true, '<': true, '`': true, '[': true, 0xe2: true, '{': true, '(': true, '=': true}

// next finds them. It searches for each by itself, which is faster than looking at
// every byte of a long text.
type next struct {
	s     string
	line  int             // where the line ends
	at    [len(stops)]int // where each of the others comes next
	first int             // of these
	near  bool            // the last was close by: in Markdown the next is, too, and is looked for byte by byte
}

// of is where c comes next in s, from i on, or how far was looked: what is taken up
// again and again is not searched to its end each time.
func (n *next) of(c byte, i int) int {
	const window = 4096
	s := n.s[i:min(len(n.s), i+window)]
	if k := strings.IndexByte(s, c); k >= 0 {
		return i + k
	}
	return i + len(s)
}

func (n *next) from(i int) int {
	if n.near || len(n.s)-i <= minPiece {
		end := min(len(n.s), i+minPiece)
		for i < end && !isStop[n.s[i]] {
			i++
		}
		if n.near = i < end; n.near || i == len(n.s) {
			return i
		}
	}
	if n.line <= i {
		n.line = n.of('\n', i)
	}
	if n.first <= i {
		n.first = len(n.s)
		for k, c := range stops {
			if n.at[k] <= i {
				n.at[k] = n.of(c, i)
			}
			n.first = min(n.first, n.at[k])
		}
	}
	at := min(n.line, n.first)
	n.near = at-i < minPiece/4
	return at
}

// mayBegin reports whether a call without tags can begin with a byte at the start
// of a line.
func (d *Decoder) mayBegin(c byte) bool {
	if d.line.seen && d.line.fence == 0 { // of those only Action: comes behind other text
		return c == actionLabel[0]
	}
	return c == '{' || c == '[' || c < utf8.RuneSelf && isWord(c) && !isDigit(c)
}

// pushText passes on text up to what changes the mode, and returns what comes after it. In text
// it decides T2 and T10: what is passed on at once, what is held back and what is dropped.
func (d *Decoder) pushText(s string) (rest string) {
	if d.pend != "" { // no more of s than it can take to decide
		n := min(len(s), maxTag)
		joined := d.pend + s[:n]
		d.pend = ""
		return d.again(d.pushText(joined), s, n)
	}
	if d.off == 0 { // T10
		const bom = "\ufeff"
		if strings.HasPrefix(bom, s) && s != bom {
			d.pend = s
			return ""
		}
		if after, ok := strings.CutPrefix(s, bom); ok {
			d.off += int64(len(bom))
			return after
		}
		if begun, more := d.prefilled(s); begun { // D21: the prompt ended with <|channel|>
			d.off -= int64(len(channelToken))
			return channelToken + s
		} else if more {
			d.pend = s
			return ""
		}
	}
	seek := next{s: s}
	start := 0
	for i := 0; i < len(s); {
		if d.line.filled && d.line.item == noItem && d.line.run == 0 && !d.line.comment {
			from := i
			i = seek.from(i)
			d.line.skip(s[from:i])
			if i == len(s) {
				break
			}
		}
		switch c := s[i]; {
		case d.anyTool || d.answered || d.passed.Len() >= maxPassed:
		case (c == '{' || c == '(') && d.line.filled && d.mayTake(s[start:i], s[i:]):
			d.noteCallStart(s[start:i], s[i:])
		case c == '[' && d.line.filled && d.mayLabel(s[i+1:]):
			d.noteCallStart(s[start:i], s[i:])
		case d.line.words > 0 && (c == '{' || c == '='):
			d.noteWords()
		case !d.line.filled && !isSpace(c), c == '<' && (d.line.last == '[' || d.mayName(s[i:])):
			d.noteCallStart(s[start:i], s[i:])
		}
		var m mark
		var form *dialect
		more := false
		switch c := s[i]; {
		case c == '<' && (!plain(s[i:]) || d.mode == inText && d.initials[s[i+1]]):
			m, more = d.matchTag(s[i:])
		case c == ']' && !d.line.filled: // T14: at a line start only
			if m, more = matchToken(s[i:]); m.tag == turnEnd {
				m, more = d.matchTag(s[i:])
			}
		case c == '[' || c == 0xe2:
			if m, more = matchToken(s[i:]); d.line.filled && (m.tag == thinkClose || m.kind == "[INST]") { // H5, T14
				m = mark{}
			}
		}
		if m.tag == noTag && !more && !d.line.filled && d.mode == inText && d.mayBegin(s[i]) {
			d.line.settle()
			form, more = d.begins(s[i:], d.off+int64(i-start))
		}
		switch {
		case more: // T2: held back
			d.emit(s[start:i])
			d.pend = s[i:]
			return ""
		case form != nil:
			d.emit(s[start:i])
			d.hold(form, mark{})
			return s[i:]
		case m.tag != noTag:
			d.line.settle()
			d.noteWords()
			if taken := d.onTag(m, s[i:], s[start:i]); taken >= 0 {
				return s[i+taken:]
			}
		}
		i++
		d.step(s[i-1], d.passed.Len()-d.noted+i-start)
	}
	d.emit(s[start:])
	return ""
}

// step moves past one byte, with which the text has end bytes.
func (d *Decoder) step(c byte, end int) {
	span, after := d.line.span, d.line.afterSpan
	d.line.step(c)
	if d.line.span && !span || d.line.afterSpan && !after {
		d.shownAt = end
	}
}

// matchTag reads the tag at the beginning of s, or the element of a tool. A header of the
// harmony format is read whole. It decides T14 where a role follows: whose turn begins.
func (d *Decoder) matchTag(s string) (m mark, more bool) {
	m, more = matchTag(s)
	switch m.tag {
	case noTag:
		if !more && d.mode == inText {
			return d.matchElement(s)
		}
	case channel:
		_, _, m.n, more = d.header(s)
		if m.n == 0 {
			m.tag = noTag
		}
	case turnEnd, delimiter:
		if text, unsure := d.inSentence(s, m); text || unsure {
			return mark{}, unsure
		}
		if after := s[m.n:]; m.kind == endToken && !d.harmony { // D21: before <|start|>, with no header before it
			if strings.HasPrefix(after, startToken) {
				m.tag = thinkClose
			}
			return m, strings.HasPrefix(startToken, after) && len(after) < len(startToken)
		}
		if foreign, begins := turns[m.kind]; foreign || !begins {
			break
		}
		word := strings.TrimLeft(s[m.n:min(len(s), maxTag)], " \t\r\n<|") // T14, D9: the role, if one follows
		n := pathLen(word)
		if n == len(word) && len(s) < maxTag {
			return mark{}, true
		}
		switch role := strings.TrimSuffix(strings.ToLower(word[:n]), "_token"); {
		case roles[role]:
			m.tag, m.name = turnEnd, role
		case !d.line.seen && ownRoles[role]:
			m.tag, m.n = ownTurn, min(len(s), maxTag)-len(word)+n
			for _, end := range headerEnds {
				if after, ok := strings.CutPrefix(s[m.n:], end); ok {
					m.n = len(s) - len(after)
					break
				}
				more = more || strings.HasPrefix(end, s[m.n:])
			}
		}
	}
	return m, more
}

// begins finds out whether s, at the start of a line, begins a call without tags, as a
// dialect says. With Decoder.bare it decides D13: in a fence that is the whole reply, too.
// more means that the next bytes decide.
func (d *Decoder) begins(s string, at int64) (form *dialect, more bool) {
	// The start of a fence that starts the reply counts as that of the reply.
	first := !d.line.seen || d.line.fence > 0 && !d.line.fenceLead && !d.line.fenceFull && !d.line.fenceHead
	if d.anyTool || d.line.literal() || d.line.fence > 0 && !first {
		return nil, false
	}
	for _, dialect := range []*dialect{action, bare} {
		ok, partly := dialect.opens(d, s, first)
		if ok && d.tries.take(int(at)) { // L5
			return dialect, false
		}
		more = more || partly
	}
	return nil, more
}

// again returns what is to be pushed after the first n bytes of s were taken and
// rest, which ends with them, was given back. The end of s is not copied: it may
// be long, and this happen often.
func (d *Decoder) again(rest, s string, n int) string {
	switch {
	case len(rest) <= n:
		return s[n-len(rest):]
	case n == len(s):
		return rest
	}
	d.push(rest)
	return s[n:]
}

// onTag decides what a tag does: A2, A3, A4, A6, D9, H5, T7, T11, and the tags of B19 and D20.
// s begins with the tag, and before is the text in front of it that was not yet passed on.
// It returns how much of s it took, or -1 if the tag is only text.
func (d *Decoder) onTag(m mark, s, before string) (taken int) {
	const literal = -1
	enter := func(to mode) int {
		d.emit(before)
		d.mode = to
		return 0
	}
	skip := func(to mode) int {
		enter(to)
		d.off += int64(m.n)
		return m.n
	}
	fenced := d.line.fence > 0
	switch {
	case !fenced && m.tag == exampleClose && d.line.example == m.kind[1:]: // T11: the element's end
		d.line.example = ""
		return literal
	case d.line.literal(): // T5, T6, T7, T11, T13
		return literal
	case m.tag == struck:
		d.strikethrough = true
	case m.tag == comment || m.tag == exampleOpen: // T7, T11
		if !fenced && d.mode == inText {
			d.line.comment, d.line.dashes, d.line.example = m.tag == comment, 0, m.kind
			d.shownAt = d.note(before) + m.n
		}
		return literal
	case m.tag == ownTurn: // T14: the header of the model's own turn
		return skip(inText)
	case m.tag == turnEnd && !fenced:
		return d.turnEnds(m, skip)
	case d.mode == inAnswer: // A4
		if m.tag == answerClose {
			return skip(afterward)
		}
		if _, to, _, _ := d.header(s); d.harmony && m.tag == channel && to != "" { // A6
			enter(done)
			tool, _ := d.declared(to)
			d.fail(&FormatError{Reason: CallAfterAnswer, Offset: d.off, Tool: tool})
			return m.n
		}
	case d.mode == afterward:
		if m.tag == toolOpen && !fenced { // A6
			enter(done)
			d.fail(&FormatError{Reason: CallAfterAnswer, Offset: d.off})
			return m.n
		}
	case m.tag == toolOpen, m.tag == tokenOpen, m.tag == delimiter && !d.line.filled && !fenced: // D9, D20; B8: see opens
		enter(inText)
		d.hold(dialectOf[m.kind], m)
		return 0
	case fenced: // T8: other tags are text there
	case m.tag == channel: // D21
		skip(inText)
		d.message(s)
		return m.n
	case m.tag == thinkClose: // H5
		skip(inText)
		d.retract()
		return m.n
	case m.tag == thinkOpen:
		skip(inThought)
		d.thinking = thought{depth: 1, first: s[0]}
		if d.line.filled { // H7: it began in the middle of a line
			d.thinking.mid = s[:m.n]
		}
		return m.n
	case d.line.filled && (m.tag != answerOpen || d.line.last != ':'): // A2, A3; "The answer: <final_answer>"
	case m.tag == observationOpen: // B19: a tag or a token at a line start
		enter(done)
		d.failBehind(&FormatError{Reason: InventedObservation, Offset: d.off})
		return m.n
	case m.tag == answerOpen:
		skip(inAnswer)
		d.beginAnswer()
		return m.n
	}
	return literal
}

func (d *Decoder) beginAnswer() {
	d.parts = append(d.parts, Part{Kind: Answer})
	d.text, d.answered, d.line = false, true, line{}
}

// turnEnds decides T14: a token that ends the model's turn, or begins somebody else's, ends the
// reply. At the start of the reply it is dropped.
func (d *Decoder) turnEnds(m mark, skip func(mode) int) (taken int) {
	mode := d.mode
	switch {
	case m.kind == "/s" && d.strikethrough:
		return -1
	case ownTurns[m.kind] && !d.line.seen:
		return skip(inText)
	case d.harmony && m.kind == endToken: // D21: it ends the message only
		return skip(mode)
	}
	skip(mode)
	d.line.mark()
	if d.text || d.thought || mode != inText || m.name != "" || turns[m.kind] {
		d.conclude(End)
	}
	return m.n
}

// message begins a message of the harmony format. It decides D21: what a channel and a
// recipient make of the message.
func (d *Decoder) message(s string) {
	begun := d.harmony
	d.harmony = true
	ch, recipient, n, _ := d.header(s)
	switch {
	case ch == "other": // D21, B19: another role's header
		d.failBehind(&FormatError{Reason: InventedObservation, Offset: d.off})
	case recipient != "":
		d.off -= int64(n)
		d.hold(harmony, mark{tag: toolOpen, name: recipient, n: n})
		d.held.b.WriteString(s[:n])
		d.held.buf = d.held.b.String()
		d.held.begun, d.held.final = true, begun || !d.line.filled
	case ch == "analysis":
		d.mode, d.thinking = inThought, thought{depth: 1, first: '<', messages: true}
	case ch == "final":
		d.mode = inAnswer
		d.beginAnswer()
	}
}

// openQuote is the quotation mark that is open on the line that s, the next piece of a
// thought, ends in. An apostrophe, or inches, open none.
func (t *thought) openQuote(s string) byte {
	quote, last := t.quote, t.last
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n', c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte("`\"'", c) >= 0 && strings.IndexByte("\x00 \t\n([{=:", last) >= 0:
			quote = c
		}
		last = s[i]
	}
	return quote
}

// quotes reports whether a thought quotes a header that comes behind before, or, directly
// behind an opening mark, a token that ends messages (D21): a mark that never closes is no
// reason to miss the end.
func (t *thought) quotes(before string, m mark) bool {
	quote := t.openQuote(before)
	return quote != 0 && (m.tag == channel || strings.HasSuffix(string(t.last)+before, string(quote)))
}

// pushThought passes on thought up to its closing tag. It decides H1, H2 and H3: tags of
// thought nest, but for one that is quoted as code, each closes the others, and no call is
// looked for, but by unclosedThought.
func (d *Decoder) pushThought(s string) (rest string) {
	if d.pend != "" {
		s, d.pend = d.pend+s, ""
	}
	for i := 0; ; i++ {
		k := strings.IndexByte(s[i:], d.thinking.first)
		if k < 0 {
			d.emitThought(s)
			return ""
		}
		i += k
		m, more := d.matchTag(s[i:])
		if more {
			d.emitThought(s[:i])
			d.pend = s[i:]
			return ""
		}
		last := d.thinking.last
		if i > 0 {
			last = s[i-1]
		}
		switch {
		case d.thinking.messages && (m.tag == channel || m.tag == turnEnd) && d.thinking.quotes(s[:i], m): // D21
			d.emitThought(s[:i+m.n])
			s, i = s[i+m.n:], -1
			continue
		case d.thinking.messages && m.tag == channel:
			m.n, d.thinking.depth = 0, 0
		case d.thinking.messages && m.tag == turnEnd, m.tag == thinkClose && !d.thinking.messages: // D21; H1, H3
			d.thinking.depth--
		case m.tag == thinkOpen && !d.thinking.messages && last != '`':
			d.thinking.depth++
			continue
		default:
			continue
		}
		if d.thinking.depth > 0 {
			continue
		}
		d.emitThought(s[:i])
		d.off += int64(m.n)
		d.mode, d.line = inText, line{seen: d.line.seen}
		return s[i+m.n:]
	}
}
