package protocol

import "cmp"

// The decoder is a small machine over a reply. In text it passes everything on
// but a tag that may still be in the making (pend). A block is collected in
// buf while block looks for its end; a block that the rest of the reply has to
// decide (held) goes on collecting until that is known. Every byte is looked at
// a bounded number of times.

type mode uint8

const (
	inText    mode = iota
	inThought      // inside <think>
	inAnswer       // inside <final_answer>
	afterward      // after </final_answer>
	inBlock        // in a call that is final at its close
	inHeld         // in a block that the rest of the reply decides
	done
)

// Decoder reads one reply. It is not safe for concurrent use.
type Decoder struct {
	opts  Options
	mode  mode
	off   int64  // bytes of the reply that are dealt with, pend and buf not counted
	pend  string // a tag in the making
	line  line
	parts []Part

	buf      []byte // the block, from its opening tag
	block    blockScan
	blockEnd int  // where the block in buf ends; 0: not known
	closed   bool // by its tag
	fenced   bool // it stands in a fence
	begun    bool // held: what follows the opening tag can be a call
	tail     tail // what follows a held block

	thought     bool // some thought was seen
	text        bool // some text other than white space was passed on and stands
	droppedCall bool
}

// NewDecoder returns a decoder for one reply.
func NewDecoder(o Options) *Decoder {
	o.MaxArgs = cmp.Or(o.MaxArgs, 16<<20)
	o.MaxDepth = cmp.Or(o.MaxDepth, 200)
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
	for text != "" {
		switch d.mode {
		case inText, inAnswer, afterward:
			text = d.pushText(text)
		case inThought:
			text = d.pushThought(text)
		case inBlock, inHeld:
			text = d.pushBlock(text)
		case done:
			d.drop(text)
			text = ""
		}
	}
	return d.parts
}

// Close ends the reply and returns the rest: what was held back, and the
// verdict if the reply is neither text nor a call.
func (d *Decoder) Close(stop Stop) []Part {
	d.parts = d.parts[:0]
	switch d.mode {
	case inBlock:
		d.finish(len(d.buf), false, stop == End)
	case inHeld:
		d.closeHeld(stop)
	case inThought:
		d.emitThought(d.pend)
	case inText, inAnswer:
		d.emit(d.pend)
	}
	d.pend = ""
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
			t, _, _ := matchTag(s[i:])
			d.droppedCall = t == toolOpen
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
	if n := len(d.parts); n > 0 && d.parts[n-1].Kind == Text {
		d.parts[n-1].Text += s
		return
	}
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

// pushText passes on text up to a tag that changes the mode, and returns what
// comes after it.
func (d *Decoder) pushText(s string) (rest string) {
	if d.pend != "" {
		s, d.pend = d.pend+s, ""
	}
	start := 0
	for i := 0; i < len(s); {
		if s[i] != '<' {
			d.line.step(s[i])
			i++
			continue
		}
		t, n, more := matchTag(s[i:])
		if more {
			d.emit(s[start:i])
			d.pend = s[i:]
			return ""
		}
		d.line.settle()
		if taken := d.onTag(t, n, s[start:i]); taken >= 0 {
			return s[i+taken:]
		}
		d.line.step('<')
		i++
	}
	d.emit(s[start:])
	return ""
}

// onTag decides what a tag of n bytes does, where before is the text in front
// of it that was not yet passed on. It returns how much of the tag it took, or
// -1 if the tag is only text.
func (d *Decoder) onTag(t tag, n int, before string) (taken int) {
	const literal = -1
	enter := func(m mode) int {
		d.emit(before)
		d.mode = m
		return 0
	}
	skip := func(m mode) int {
		enter(m)
		d.off += int64(n)
		return n
	}
	fenced := d.line.fence > 0
	switch {
	case t == noTag || d.line.literal():
		return literal
	case d.mode == inAnswer:
		if t == answerClose {
			return skip(afterward)
		}
	case d.mode == afterward:
		if t == toolOpen && !fenced {
			enter(done)
			d.fail(&FormatError{Reason: CallAfterAnswer, Offset: d.off})
			return n
		}
	case t == toolOpen:
		d.startBlock(fenced)
		if fenced || d.line.filled {
			return enter(inHeld)
		}
		return enter(inBlock)
	case fenced:
	case t == thinkClose:
		skip(inText)
		d.parts = append(d.parts, Part{Kind: Retract})
		d.thought = d.thought || d.text
		d.text, d.line = false, line{}
		return n
	case d.line.filled:
	case t == thinkOpen:
		return skip(inThought)
	case t == observationOpen:
		enter(done)
		d.fail(&FormatError{Reason: InventedObservation, Offset: d.off})
		return n
	case t == answerOpen:
		skip(inAnswer)
		d.parts = append(d.parts, Part{Kind: Answer})
		d.text, d.line = false, line{}
		return n
	}
	return literal
}

// pushThought passes on thought up to its closing tag.
func (d *Decoder) pushThought(s string) (rest string) {
	if d.pend != "" {
		s, d.pend = d.pend+s, ""
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '<' {
			continue
		}
		t, n, more := matchTag(s[i:])
		if more {
			d.emitThought(s[:i])
			d.pend = s[i:]
			return ""
		}
		if t == thinkClose {
			d.emitThought(s[:i])
			d.off += int64(n)
			d.mode, d.line = inText, line{seen: d.line.seen}
			return s[i+n:]
		}
	}
	d.emitThought(s)
	return ""
}

func blank(s string) bool {
	for i := range len(s) {
		if !isSpace(s[i]) {
			return false
		}
	}
	return true
}
