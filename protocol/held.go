package protocol

import "slices"

func (d *Decoder) startBlock(fenced bool) {
	d.buf, d.block, d.blockEnd, d.closed = d.buf[:0], blockScan{}, 0, false
	d.fenced, d.tail, d.begun = fenced, tail{}, false
}

// pushBlock collects a block and returns what comes after it, once that is
// known to be something else.
func (d *Decoder) pushBlock(s string) (rest string) {
	d.buf = append(d.buf, s...)
	if d.block.pos == 0 {
		_, n, more := matchTag(string(d.buf[:min(len(d.buf), maxTag+1)]))
		if more {
			return ""
		}
		d.block.pos = n
	}
	if d.mode == inHeld && !d.begun {
		switch i := firstFilled(d.buf, d.block.pos); {
		case i == len(d.buf):
			return ""
		case d.buf[i] != '<' && d.buf[i] != '{': // neither an element nor a value
			return d.release(d.block.pos)
		}
		d.begun = true
	}
	if d.blockEnd == 0 {
		end, state := d.block.scan(d.buf)
		if state == blockOpen {
			if len(d.buf) > d.opts.MaxArgs {
				d.fail(&FormatError{Reason: TooLarge, Offset: d.off, Detail: "the call is longer than the limit", Raw: string(d.buf)})
			}
			return ""
		}
		d.blockEnd, d.closed = end, state == blockClosed
	}
	if d.mode == inBlock {
		end := d.blockEnd
		rest = string(d.buf[end:])
		d.finish(end, true, true)
		return rest
	}
	switch d.tail.scan(d.buf[d.blockEnd:], d.fenced) {
	case tailText:
		return d.release(d.blockEnd)
	case tailEnds:
		d.decide(End)
		d.drop(string(d.buf[d.blockEnd:]))
	}
	return ""
}

// finish reads the block buf[:end] and passes the verdict on.
func (d *Decoder) finish(end int, closed, whole bool) {
	call, err := d.resolve(d.buf[:end], d.block, d.off, closed, whole)
	d.off += int64(end)
	if err != nil {
		d.fail(err)
		return
	}
	d.parts = append(d.parts, Part{Kind: Call, Call: call})
	d.mode = done
}

// firstFilled returns the index of the first byte from i on that is not white
// space.
func firstFilled(s []byte, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// release makes text of the held bytes up to end and returns the rest. The
// closing tag of a mentioned block is part of the mention.
func (d *Decoder) release(end int) (rest string) {
	held := slices.Clone(d.buf)
	d.mode = inText
	for _, c := range held[:end] {
		d.line.step(c)
	}
	d.emit(string(held[:end]))
	return string(held[end:])
}

// closeHeld decides a held block at the end of the reply.
func (d *Decoder) closeHeld(stop Stop) {
	if !d.begun {
		d.release(len(d.buf)) // a tag that was only mentioned
		return
	}
	if d.blockEnd == 0 {
		d.blockEnd = len(d.buf)
	}
	d.decide(stop)
}

// decide settles a held block: nothing that follows makes it a mention.
func (d *Decoder) decide(stop Stop) {
	ended := d.closed || d.blockEnd < len(d.buf)
	call, err := d.resolve(d.buf[:d.blockEnd], d.block, d.off, ended, stop == End)
	name := ""
	if err != nil {
		name = err.Tool
	} else {
		name = call.Name
	}
	switch {
	case name != "" && !d.known(name):
		d.release(len(d.buf))
		return
	case err == nil && d.fenced && d.tail.state == tailFence && (d.line.fenceLead || d.line.fenceFull):
		err = &FormatError{Reason: FencedCall, Offset: d.off, Tool: name, Raw: call.Raw}
	}
	d.off += int64(d.blockEnd)
	if err != nil {
		d.fail(err)
		return
	}
	d.parts = append(d.parts, Part{Kind: Call, Call: call})
	d.mode = done
}

func (d *Decoder) known(name string) bool {
	if d.opts.Tools == nil {
		return true
	}
	_, ok := d.opts.Tools.Schema(name)
	return ok
}

// tail reads what follows a held block.
type tail struct {
	pos   int
	ticks int
	state tailState
}

type tailState uint8

const (
	tailNothing tailState = iota // white space so far
	tailFence                    // the closing fence, and white space
	tailText                     // prose: the block was a mention
	tailEnds                     // an observation or another block: the reply ends here
)

// scan goes on in s, which starts after the block.
func (t *tail) scan(s []byte, fenced bool) tailState {
	for ; t.pos < len(s); t.pos++ {
		c := s[t.pos]
		switch {
		case isSpace(c):
		case fenced && (c == '`' || c == '~') && t.ticks < 8:
			if t.ticks++; t.ticks >= 3 {
				t.state = tailFence
			}
		case c == '<':
			tag, _, more := matchTag(string(s[t.pos:min(len(s), t.pos+maxTag+1)]))
			if more {
				return t.state
			}
			if tag == observationOpen || tag == toolOpen {
				return tailEnds
			}
			return tailText
		default:
			return tailText
		}
	}
	return t.state
}
