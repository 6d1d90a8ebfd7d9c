package protocol

import (
	"cmp"
	"strings"
)

// The decoder is a small machine over a reply. In text it passes everything on
// but a tag or a word that may still be in the making (pend). A block is
// collected in buf while block looks for its end; one that the rest of the reply
// has to decide (held) goes on collecting until that is known, and so does a
// call without tags (whole). Every byte is looked at a bounded number of times.
//
//	decoder.go  text and thought: what is passed on, and what begins
//	line.go     where in its line, and in which code, text stands
//	tag.go      the tags that mean something in text
//	block.go    where a block ends, found as it arrives
//	held.go     blocks that what follows decides
//	whole.go    calls without tags: JSON, Python, a name and an object
//	action.go   and those of ReAct, Action:
//	resolve.go  what a block says: the one reader of calls, in whole or in pieces
//	  elements.go, elem.go, envelope.go, python.go   the forms it takes
//	  value.go, quote.go                    JSON as models write it
//	names.go    which tool a name stands for

type mode uint8

const (
	inText    mode = iota
	inThought      // inside <think>
	inAnswer       // inside <final_answer>
	afterward      // after </final_answer>
	inBlock        // in a call that is final at its close
	inHeld         // in a block that the rest of the reply decides
	inWhole        // in what may be a call without tags
	done
)

// Decoder reads one reply. It is not safe for concurrent use.
type Decoder struct {
	opts  Options
	mode  mode
	off   int64  // bytes of the reply that are dealt with, pend and buf not counted
	pend  string // a tag or word in the making
	line  line
	parts []Part

	held     strings.Builder // what is held back
	buf      string          // the same: a block from its opening tag
	open     mark            // that tag
	block    blockScan
	blockEnd int  // where the block in buf ends; 0: not known
	closed   bool // by its tag
	fenced   bool // it stands in a fence
	begun    bool // what follows the opening tag can be a call
	tail     tail // what follows a held block
	form     form // of a call without tags

	searched int   // how far buf was searched for the end of a thought
	tries    int   // calls without tags that were looked for
	lastTry  int64 // where the last of them began

	thought     bool // some thought was seen
	text        bool // some text other than white space was passed on and stands
	droppedCall bool
}

// NewDecoder returns a decoder for one reply.
func NewDecoder(o Options) *Decoder {
	o.MaxArgs = cmp.Or(o.MaxArgs, 16<<20)
	o.MaxDepth = cmp.Or(o.MaxDepth, defaultDepth)
	return &Decoder{opts: o}
}

// Done reports whether the reply is decided: nothing more is read, and the
// model may be stopped.
func (d *Decoder) Done() bool { return d.mode == done }

// DroppedCall reports whether what came after the first call, and was dropped,
// began another one. A backend that is stopped in time never gets there.
func (d *Decoder) DroppedCall() bool { return d.droppedCall }

// Push takes the next piece of the reply, of any size, and returns what is
// certain now. The slice is valid until the next call of Push or Close.
func (d *Decoder) Push(text string) []Part {
	d.parts = d.parts[:0]
	d.push(text)
	return d.parts
}

func (d *Decoder) push(text string) {
	for text != "" {
		switch d.mode {
		case inText, inAnswer, afterward:
			text = d.pushText(text)
		case inThought:
			text = d.pushThought(text)
		case inBlock, inHeld, inWhole:
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
	for d.mode != done {
		switch d.mode {
		case inBlock:
			d.finish(len(d.buf), false, stop)
			continue
		case inHeld:
			if rest := d.closeHeld(stop); rest != "" {
				d.push(rest)
				continue
			}
		case inWhole:
			if rest := d.closeWhole(stop); rest != "" {
				d.push(rest)
				continue
			}
		}
		if d.mode == inThought {
			d.emitThought(d.pend)
		} else if d.mode == inAnswer && cutAnswer(d.pend) {
			d.off += int64(len(d.pend))
		} else if d.mode != done {
			d.emit(d.pend)
		}
		d.pend = ""
		break
	}
	for _, p := range d.parts {
		if p.Kind == Malformed {
			p.Err.Cut = stop == Length
		}
	}
	if d.mode != done && !d.text {
		reason := Empty
		if d.thought {
			reason = OnlyThought
		}
		d.fail(&FormatError{Reason: reason, Offset: d.off})
	}
	d.mode = done
	return d.parts
}

// drop looks at what comes after the verdict.
func (d *Decoder) drop(s string) {
	for i := 0; i < len(s) && !d.droppedCall; i++ {
		if s[i] == '<' {
			m, _ := matchTag(s[i:])
			d.droppedCall = m.tag == toolOpen
		}
	}
}

// emit passes text on.
func (d *Decoder) emit(s string) {
	if s == "" {
		return
	}
	d.off += int64(len(s))
	if d.mode == afterward {
		return // what follows a closed answer is no part of it
	}
	d.text = d.text || !blank(s)
	d.parts = append(d.parts, Part{Kind: Text, Text: s})
}

func (d *Decoder) emitThought(s string) {
	if s == "" {
		return
	}
	d.off += int64(len(s))
	d.thought = d.thought || !blank(s)
	d.parts = append(d.parts, Part{Kind: Thought, Text: s})
}

func (d *Decoder) fail(err *FormatError) {
	d.parts = append(d.parts, Part{Kind: Malformed, Err: err})
	d.mode = done
}

// shortText is where searching for each byte by itself begins to pay.
const shortText = 64

// matters marks the bytes that next finds.
var matters = [256]bool{'<': true, '\n': true, '`': true}

// next finds the bytes that matter in the middle of a line. It searches for
// each by itself, which is faster than looking at every byte.
type next struct {
	s                  string
	tag, newline, tick int
}

// window bounds how far next looks ahead, so that text which is taken up again
// and again is not searched to its end each time.
const window = 4096

func (n *next) find(at *int, i int, c byte) int {
	if *at < i {
		end := min(len(n.s), i+window)
		if k := strings.IndexByte(n.s[i:end], c); k >= 0 {
			*at = i + k
		} else {
			*at = end
		}
	}
	return *at
}

func (n *next) from(i int) int {
	if len(n.s)-i < shortText {
		for i < len(n.s) && !matters[n.s[i]] {
			i++
		}
		return i
	}
	return min(n.find(&n.tag, i, '<'), n.find(&n.newline, i, '\n'), n.find(&n.tick, i, '`'))
}

// pushText passes on text up to what changes the mode, and returns what comes
// after it.
func (d *Decoder) pushText(s string) (rest string) {
	if d.pend != "" {
		return d.resume(s)
	}
	if d.off == 0 && !d.line.seen {
		const bom = "\ufeff"
		if strings.HasPrefix(bom, s) && s != bom {
			d.pend = s
			return ""
		}
		if after, ok := strings.CutPrefix(s, bom); ok {
			d.off += int64(len(bom))
			return after
		}
	}
	seek := next{s: s, tag: -1, newline: -1, tick: -1}
	start := 0
	for i := 0; i < len(s); {
		if d.line.filled && d.line.run == 0 && !d.line.comment {
			from := i
			i = seek.from(i)
			d.line.skip(s[from:i])
			if i == len(s) {
				break
			}
		}
		c := s[i]
		switch {
		case c == '<':
			m, more := matchTag(s[i:])
			if more {
				d.emit(s[start:i])
				d.pend = s[i:]
				return ""
			}
			d.line.settle()
			if taken := d.onTag(m, s[start:i]); taken >= 0 {
				return s[i+taken:]
			}
		case !d.line.filled && d.mode == inText && mayBegin[c]:
			d.line.settle()
			form, more := d.begins(s[i:])
			if more {
				d.emit(s[start:i])
				d.pend = s[i:]
				return ""
			}
			if form == actionForm || form != noForm && d.tryAgain(d.off+int64(i-start)) {
				d.emit(s[start:i])
				d.startWhole(form)
				return s[i:]
			}
		}
		d.line.step(c)
		i++
	}
	d.emit(s[start:])
	return ""
}

// resume goes on behind a tag or word in the making, with no more of s than it
// can take to decide.
func (d *Decoder) resume(s string) (rest string) {
	n := min(len(s), maxTag)
	joined := d.pend + s[:n]
	d.pend = ""
	return d.again(d.pushText(joined), s, n)
}

// onTag decides what a tag does, where before is the text in front of it that
// was not yet passed on. It returns how much of the tag it took, or -1 if the
// tag is only text.
func (d *Decoder) onTag(m mark, before string) (taken int) {
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
	case m.tag == noTag || d.line.literal():
		return literal
	case m.tag == comment:
		d.line.comment, d.line.dashes = !fenced && d.mode == inText, 0
		return literal
	case d.mode == inAnswer:
		if m.tag == answerClose {
			return skip(afterward)
		}
	case d.mode == afterward:
		if m.tag == toolOpen && !fenced {
			enter(done)
			d.fail(&FormatError{Reason: CallAfterAnswer, Offset: d.off})
			return m.n
		}
	case m.tag == toolOpen, m.tag == delimiter && !d.line.filled && !fenced:
		d.startBlock(m, fenced)
		if fenced || d.line.filled {
			d.block.held = true
			return enter(inHeld)
		}
		return enter(inBlock)
	case fenced:
	case m.tag == thinkClose:
		skip(inText)
		d.parts = append(d.parts, Part{Kind: Retract})
		d.thought = d.thought || d.text
		d.text, d.line = false, line{}
		return m.n
	case d.line.filled && (m.tag != answerOpen || d.line.last != ':'): // "The answer: <final_answer>"
	case m.tag == thinkOpen:
		return skip(inThought)
	case m.tag == observationOpen:
		enter(done)
		d.fail(&FormatError{Reason: InventedObservation, Offset: d.off})
		return m.n
	case m.tag == answerOpen:
		skip(inAnswer)
		d.parts = append(d.parts, Part{Kind: Answer})
		d.text, d.line = false, line{}
		return m.n
	}
	return literal
}

// pushThought passes on thought up to its closing tag.
func (d *Decoder) pushThought(s string) (rest string) {
	if d.pend != "" {
		s, d.pend = d.pend+s, ""
	}
	for i := 0; ; i++ {
		k := strings.IndexByte(s[i:], '<')
		if k < 0 {
			d.emitThought(s)
			return ""
		}
		i += k
		m, more := matchTag(s[i:])
		if more {
			d.emitThought(s[:i])
			d.pend = s[i:]
			return ""
		}
		if m.tag == thinkClose {
			d.emitThought(s[:i])
			d.off += int64(m.n)
			d.mode, d.line = inText, line{seen: d.line.seen}
			return s[i+m.n:]
		}
	}
}

func blank(s string) bool {
	for i := range len(s) {
		if !isSpace(s[i]) {
			return false
		}
	}
	return true
}
