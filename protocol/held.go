package protocol

import "strings"

func (d *Decoder) startBlock(m mark, fenced bool) {
	d.held.Reset()
	d.buf, d.open, d.block, d.blockEnd, d.closed = "", m, blockScan{pos: m.n}, 0, false
	d.fenced, d.tail, d.begun = fenced, tail{}, d.mode == inText && !fenced && !d.line.filled && m.tag == toolOpen
}

// pushHeld takes some of s into what is held back and returns what is still to
// be pushed. It takes little at first and then as much as it has, so that what
// turns out not to belong there is never much more than what was looked at.
func (d *Decoder) pushHeld(s string) (rest string) {
	n := min(len(s), max(minPiece, len(d.buf)))
	d.held.WriteString(s[:n])
	d.buf = d.held.String()
	if d.mode == inWhole {
		rest = d.pushWhole()
	} else {
		rest = d.pushBlock()
	}
	return d.again(rest, s, n)
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

// minPiece is how much is taken into an empty buffer.
const minPiece = 64

// maxBlank is how much white space is waited through for what decides.
const maxBlank = 4096

// pushBlock goes on with a block and returns what comes after it, once that is
// known to be something else.
func (d *Decoder) pushBlock() (rest string) {
	if d.open.empty { // all there is of it
		if len(d.buf) < d.open.n {
			return ""
		}
		d.begun, d.blockEnd = true, d.open.n
	}
	if !d.begun {
		decided, rest := d.begin()
		if !decided || d.mode == inText {
			return rest
		}
	}
	for d.blockEnd == 0 {
		end, state := d.block.scan(d.buf)
		if state == blockOpen {
			end = len(d.buf)
		}
		switch {
		case end > d.opts.MaxArgs:
			return d.tooLarge()
		case state == blockOpen:
			return ""
		}
		if state == blockMaybe && !d.endsHere(end) {
			continue
		}
		d.blockEnd, d.closed = end, d.block.byTag
	}
	if d.mode == inBlock {
		end := d.blockEnd
		rest = d.buf[end:]
		d.finish(end, true, End)
		return rest
	}
	switch d.tail.scan(d.buf[d.blockEnd:], d.fence()) {
	case tailText:
		return d.release(d.blockEnd)
	case tailEnds:
		tail := d.buf[d.blockEnd:]
		if rest := d.decide(End); rest != "" {
			return rest
		}
		d.drop(tail)
	}
	return ""
}

func (d *Decoder) tooLarge() (rest string) {
	x := d.resolver(d.buf[:min(len(d.buf), d.opts.MaxArgs, maxElem)], false)
	_, _ = x.call() // for the name
	d.fail(&FormatError{Reason: TooLarge, Offset: d.off, Detail: "the call is longer than the limit", Tool: tidyName(x.name), Raw: d.buf[:min(len(d.buf), d.opts.MaxArgs)]})
	return ""
}

// begin looks at what follows the opening tag of a block that need not be one:
// an element or a value makes it one, another opening tag takes its place.
func (d *Decoder) begin() (decided bool, rest string) {
	i := max(d.open.n, d.block.pos)
	for {
		if i = firstFilled(d.buf, i); i-d.open.n > maxBlank {
			return true, d.release(i)
		}
		d.block.pos = i
		if i >= len(d.buf) { // not even the whole tag
			return false, ""
		}
		if d.buf[i] != '<' {
			break
		}
		m, more := matchTag(d.buf[i:min(len(d.buf), i+maxTag+1)])
		switch {
		case more:
			return false, ""
		case m.tag == delimiter && d.open.tag == delimiter:
			i += m.n
			continue
		case m.tag == toolOpen && d.open.tag != toolOpen, m.tag == toolOpen && m.name == "", m.tag == delimiter:
			rest = d.buf[i:]
			d.off += int64(i)
			d.mode, d.line = inText, line{seen: true}
			return true, rest
		}
		break
	}
	if c := d.buf[i]; c != '{' && c != '[' && (c != '<' || d.open.tag == delimiter) {
		return true, d.release(d.open.n)
	}
	d.begun = true
	d.block.pos = max(d.block.pos, i)
	return true, ""
}

// endsHere reports whether a tag inside what looks like a string ends the block
// after all: the block reads as a call up to there.
func (d *Decoder) endsHere(end int) bool {
	x := d.resolver(d.buf[:d.block.inside], true)
	x.tagged = d.block.byTag
	_, err := x.call()
	return err == nil
}

func (d *Decoder) resolver(block string, closed bool) *resolver {
	x := &resolver{d: d, src: block, pos: d.open.n, name: d.open.name, closed: closed, attrs: []string{d.open.attrs}}
	for x.pos < len(x.src) && d.open.tag == delimiter { // several in a row
		x.space()
		if m, _ := matchTag(x.rest() + " "); m.tag != delimiter {
			break
		} else {
			x.pos += m.n
		}
	}
	return x
}

// finish reads the block buf[:end] and passes the verdict on.
func (d *Decoder) finish(end int, closed bool, stop Stop) {
	call, _, err := d.read(end, closed, stop)
	d.off += int64(end)
	if err != nil {
		d.fail(err)
		return
	}
	d.parts = append(d.parts, Part{Kind: Call, Call: call})
	d.mode = done
}

// read resolves the block buf[:end]. closed says that the block ended, not the
// reply; stray is told of words behind the call, where a block is not closed.
func (d *Decoder) read(end int, closed bool, stop Stop) (_ *ToolCall, stray bool, _ *FormatError) {
	block := d.buf[:end]
	inner := block
	if d.closed {
		inner = block[:d.block.inside]
	}
	x := d.resolver(inner, closed)
	x.tagged = d.closed || d.open.empty
	call, err := x.call()
	if err == nil && !closed && stop != End {
		err = x.cut()
	}
	if err != nil {
		return nil, x.stray, &FormatError{Reason: err.reason, Offset: d.off + int64(err.pos), Detail: err.detail, Tool: tidyName(x.name), Raw: block}
	}
	call.Raw, call.Dialect = block, dialects[d.open.kind]
	for i := range call.Repairs {
		call.Repairs[i].Offset += d.off
	}
	return call, !closed && !onlyCloses(x.rest()), nil
}

// onlyCloses reports whether s holds nothing but closing tags.
func onlyCloses(s string) bool {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		e, ok := elemAt(s)
		if !ok || !e.closing {
			return s == ""
		}
		s = s[e.n:]
	}
}

// dialects names the forms of a block after the tags that they open with.
var dialects = map[string]string{
	"toolcode": "mylm", "toolcall": "tool_call", "toolcalls": "tool_calls",
	"functioncall": "function_call", "functioncalls": "function_calls", "function": "function", "invoke": "invoke", "|imstart|": "delimiter", "|pythontag|": "delimiter", "|toolcall|": "delimiter",
}

// firstFilled returns the index of the first byte from i on that is not white
// space.
func firstFilled(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// release makes text of the held bytes up to end and returns the rest.
func (d *Decoder) release(end int) (rest string) {
	held := d.buf
	d.mode = inText
	for i := range end {
		d.line.step(held[i])
	}
	d.emit(held[:end])
	return held[end:]
}

// closeHeld decides a held block at the end of the reply. What it returns is
// text that was held back behind it.
func (d *Decoder) closeHeld(stop Stop) (rest string) {
	if !d.begun {
		return d.release(d.open.n) // a tag that was only mentioned
	}
	if d.blockEnd == 0 {
		d.blockEnd = len(d.buf)
	}
	return d.decide(stop)
}

// decide settles a held block: nothing that follows makes it a mention.
func (d *Decoder) decide(stop Stop) (rest string) {
	ended := d.closed || d.blockEnd < len(d.buf)
	if d.fenced && !ended && strings.Contains(d.buf, "\n```") {
		return d.release(len(d.buf)) // an example that lacks its closing tag
	}
	call, stray, err := d.read(d.blockEnd, ended, stop)
	if err == nil && stop != End { // what follows would have decided
		err = &FormatError{Reason: Truncated, Offset: d.off + int64(d.blockEnd), Detail: "the reply ended before what follows the call", Tool: call.Name, Raw: call.Raw}
	}
	if stray && !ended {
		return d.release(d.blockEnd)
	}
	name := ""
	if err != nil {
		name = err.Tool
	} else {
		name = call.Name
	}
	if _, known := d.declared(name); !known || name == "" && (stop == End || ended) {
		return d.release(d.blockEnd)
	}
	if err == nil && d.fenced && d.tail.state == tailFence && (d.line.fenceLead || d.line.fenceFull) {
		err = &FormatError{Reason: FencedCall, Offset: d.off, Tool: name, Raw: call.Raw}
	}
	d.off += int64(d.blockEnd)
	if err != nil {
		d.fail(err)
		return ""
	}
	d.parts = append(d.parts, Part{Kind: Call, Call: call})
	d.mode = done
	return ""
}

// maxTicks bounds a closing fence.
const maxTicks = 64

// fence is the fence that what is held stands in.
func (d *Decoder) fence() line {
	if d.fenced {
		return d.line
	}
	return line{}
}

// tail reads what follows a held block.
type tail struct {
	pos   int
	ticks int
	state tailState
	call  bool // it ends at another call
}

// endTokens end a reply where a server lets them through.
var endTokens = []string{"</s>", "<end_of_turn>", "<｜end▁of▁sentence｜>"}

// endToken returns the length of the token that s begins with. part says that s
// may go on to be one.
func endToken(s string) (n int, part bool) {
	for _, token := range endTokens {
		if strings.HasPrefix(s, token) {
			return len(token), false
		}
		part = part || strings.HasPrefix(token, s)
	}
	return 0, part
}

type tailState uint8

const (
	tailNothing tailState = iota // white space so far
	tailFence                    // the closing fence, and white space
	tailText                     // prose: the block was a mention
	tailEnds                     // an observation or another block: the reply ends here
)

// scan goes on in s, which starts after the block.
func (t *tail) scan(s string, fence line) tailState {
	for ; t.pos < len(s); t.pos++ {
		if t.pos > maxBlank {
			return tailEnds
		}
		c := s[t.pos]
		switch {
		case isSpace(c):
		case fence.fence > 0 && c == fence.fenceChar && t.ticks < maxTicks:
			if t.ticks++; t.ticks >= fence.fence {
				t.state = tailFence
			}
		case c == '<':
			m, more := matchTag(s[t.pos:min(len(s), t.pos+maxTag+1)])
			if n, part := endToken(s[t.pos:]); n > 0 {
				t.pos += n - 1
				continue
			} else if part {
				return t.state
			}
			switch {
			case more:
				return t.state
			case m.tag == toolClose: // one too many
				t.pos += m.n - 1
			case fence.fence == 0 && (m.tag == observationOpen || m.tag == toolOpen || m.tag == delimiter || m.tag == control):
				t.call = m.tag == toolOpen
				return tailEnds
			default:
				return tailText
			}
		default:
			return tailText
		}
	}
	return t.state
}
