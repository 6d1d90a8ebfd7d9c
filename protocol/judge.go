package protocol

import (
	"slices"
	"strings"
)

// held is what may be a call and is not decided yet.
type held struct {
	dialect *dialect
	b       strings.Builder
	buf     string // what b holds
	open    mark   // the tag it opens with
	final   bool   // its end decides: it opens at a line start outside a fence
	fenced  bool   // it is in a fence
	begun   bool   // what follows the opening tag can be a call

	span span   // of the search for its end
	any  bool   // a value or an element was seen
	ends budget // of ends that are not certain

	end    int  // where it ends; 0: not known
	inside int  // where what it holds ends
	closed bool // by its closing tag

	behind int // how far what follows was looked at
	ticks  int // of the closing fence
}

// hold begins to hold what may be a call. It decides B3: whether its end gives the verdict.
func (d *Decoder) hold(form *dialect, m mark) {
	fenced := d.line.fence > 0
	start := !d.line.filled || d.line.stars // B6: behind nothing but asterisks
	d.held = held{dialect: form, open: m, fenced: fenced, span: span{pos: m.n}}
	d.held.final = m.n > 0 && !fenced && start // B3
	d.held.begun = d.held.final && form != element && m.tag == toolOpen
	d.mode = inHeld
}

// minPiece is how much is taken into an empty buffer.
const minPiece = 64

// maxBlank is how much white space is waited through for what decides: the bound of L4.
const maxBlank = 4096

// pushHeld takes some of s into what is held back and returns what is still to
// be pushed. It takes little at first and then as much as it has, so that what
// turns out not to belong there is never much more than what was looked at.
func (d *Decoder) pushHeld(s string) (rest string) {
	h := &d.held
	n := min(len(s), max(minPiece, len(h.buf)))
	h.b.WriteString(s[:n])
	h.buf = h.b.String()
	return d.again(d.advance(), s, n)
}

// advance continues with what is held, until it is decided. With follow it decides B6, B11 and D10:
// what follows makes text of it, or leads to verdict.
func (d *Decoder) advance() (rest string) {
	h := &d.held
	tagged := h.open.n > 0
	if tagged && h.open.empty { // B26: a tag that closes itself is all there is of it
		if len(h.buf) < h.open.n {
			return ""
		}
		h.begun, h.closed, h.end, h.inside = true, true, h.open.n, h.open.n
	}
	if tagged && !h.begun && h.dialect != element {
		if decided, rest := d.opens(); !decided || d.mode != inHeld {
			return rest
		}
	}
	for h.end == 0 {
		end, state := h.dialect.scan(d)
		if state == scanMore { // the tag that ends it may be incomplete
			end = len(h.buf) - maxTag
		}
		switch {
		case end > d.opts.MaxArgs: // L1: tooLarge decides
			return d.tooLarge()
		case state == scanData:
			return d.release(end)
		case state == scanMore:
			return ""
		case state == scanMaybe && !d.endsHere(): // B16
			h.closed = false
			continue
		}
		h.end = end
	}
	if h.final { // B3
		rest = h.buf[h.end:]
		d.verdict(End)
		return rest
	}
	tail := h.buf[h.end:]
	switch f := d.follow(tail, &h.behind); {
	case f == words && h.dialect == action && len(tail)-h.behind < len("Final Answer:"): // it may become one of reactWords
	case f == words, f == thoughtEnds, f == nextCall && !tagged: // B6, B11, D10: text
		if f == words && tagged {
			x := d.resolver(h.buf[:h.inside], true)
			x.tagged = h.closed
			_, err := x.call()
			d.mentions(x, err)
		}
		return d.release(h.end)
	case f != nothing:
		if rest = d.verdict(End); rest == "" {
			d.drop(tail)
		}
	}
	return rest
}

// opens decides B8, B18, D9 and D20 by what follows the opening tag of a block that need not be
// one: an element, a value or the name of a known tool makes it one, another opening tag takes
// its place.
func (d *Decoder) opens() (decided bool, rest string) {
	h := &d.held
	i := max(h.open.n, h.span.pos)
	for {
		for i < len(h.buf) && isSpace(h.buf[i]) {
			i++
		}
		if i-h.open.n > maxBlank { // L4
			return true, d.release(min(i, len(h.buf)))
		}
		h.span.pos = i
		if i >= len(h.buf) { // not even the whole tag
			return false, ""
		}
		m, more := mark{}, false
		if c := h.buf[i]; c == '<' || c == '[' {
			m, more = matchTag(h.buf[i:min(len(h.buf), i+maxTag+1)])
		}
		opener := m.tag == delimiter || m.tag == tokenOpen
		switch {
		case more:
			return false, ""
		case opener && h.open.tag == m.tag, m.tag == separator && h.open.tag == tokenOpen:
			i += m.n
			continue
		case m.tag == toolOpen && h.open.tag != toolOpen, m.tag == toolOpen && m.name == "", opener: // B18
			rest = h.buf[i:]
			d.off += int64(i)
			d.mode = inText
			d.line = line{seen: true}
			return true, rest
		}
		break
	}
	head := strings.TrimLeft(h.buf[i:], "*") // B2: they mean nothing behind the opening tag
	word := head[:pathLen(head)]
	switch {
	case len(h.buf)-len(head)-h.open.n > maxBlank:
		return true, d.release(h.open.n)
	case len(word) == len(head) && len(word) < maxTag:
		return false, ""
	}
	_, known := d.declared(strings.TrimSuffix(tidyName(word), ".call"))
	look := head[len(word):min(len(head), len(word)+maxTag)]
	next := strings.TrimLeft(look, ":0123456789") // Kimi numbers its calls
	after := trimSpace(next) + " "
	more := len(look) < maxTag
	switch c := after[0]; {
	case word == "": // B8, D9, D20
		h.begun = c == head[0] && (c == '{' || c == '[' || c == '<' && h.open.tag == toolOpen)
	case more && after == " " && h.open.tag == toolOpen && known, more && next == "" && h.open.tag == tokenOpen && !known:
		return false, ""
	case h.open.tag == tokenOpen: // B8, D20: any name will do, once
		h.begun = known || word == "function" || !d.opts.Told && next != "" &&
			(strings.IndexByte("{[<", next[0]) >= 0 || next[0] == '(' && strings.HasSuffix(word, ".call"))
	case h.open.tag == toolOpen && known: // B8
		h.begun = c == '<' || c == '{' || c == '(' && h.open.kind == "functioncalls"
	}
	if !h.begun {
		return true, d.release(h.open.n)
	}
	return true, ""
}

// budget is what is left of tries, of which maxTries is the bound.
type budget struct{ tries, last int }

// take decides L5: whether one more may be made, at an offset.
func (b *budget) take(at int) bool {
	if b.tries >= maxTries && at < 4*b.last {
		return false
	}
	b.tries, b.last = b.tries+1, at
	return true
}

// maxTries bounds how often an end inside a string, or a call without tags, is
// tried, beside every time that what was read has grown fourfold: the bound of L5.
const maxTries = 8

// endsHere decides B16: whether what is held ends at a place that is not certain, since it
// reads as a call up to there.
func (d *Decoder) endsHere() bool {
	h := &d.held
	if !h.ends.take(h.inside) {
		return false
	}
	x := d.resolver(h.buf[:h.inside], true)
	x.tagged = h.closed
	_, err := x.call()
	return err == nil
}

// scanBlock looks for the end of a block. It decides B14, B15 and B17. It assumes strict JSON,
// so that tags in strings are data, and considers every tag that may end the block: outside a
// value it does; inside a string it may, since quotes that a model did not escape mislead
// this search.
func scanBlock(d *Decoder) (end int, state scanState) {
	h := &d.held
	p := &h.span
	for p.pos < len(h.buf) {
		if k, n := lex(h.buf[p.pos:], p.str); k != markup {
			if n == 0 {
				break
			}
			p.step(k, h.buf[p.pos], n)
			h.any = h.any || p.depth > 0
			continue
		}
		m, more := matchTag(h.buf[p.pos:min(len(h.buf), p.pos+maxTag+1)])
		if more {
			return 0, scanMore
		}
		at := p.pos
		p.pos += max(m.n, 1)
		h.closed = m.tag == toolClose // B17: of any dialect
		switch {
		case h.closed:
			end = p.pos
		case (m.tag == toolOpen || m.tag == tokenOpen) && h.any, m.tag == thinkClose && !h.final && !p.str,
			m.tag == observationOpen, m.tag == delimiter, m.tag == turnEnd && m.kind != "/s", m.tag == channel:
			end = at // B14, D9
		default:
			h.any = h.any || m.tag == toolOpen || m.tag == noTag
			continue
		}
		h.inside = at
		if p.str { // B15; endsHere tells whether by B16 it ends all the same
			return end, scanMaybe
		}
		return end, scanEnd
	}
	return 0, scanMore
}

// scanRest looks for the end of the reply, or for a tag up to which the call can be
// read.
func scanRest(d *Decoder) (end int, state scanState) {
	const observation = "\nObservation:"
	h := &d.held
	for ; h.span.pos < len(h.buf); h.span.pos++ {
		rest := h.buf[h.span.pos:]
		switch {
		case h.dialect == action && strings.HasPrefix(rest, observation): // D17
			return h.span.pos, scanEnd
		case h.dialect == action && strings.HasPrefix(observation, rest):
			return 0, scanMore
		case rest[0] == '<' && h.ends.tries < maxTries:
			m, more := matchTag(rest[:min(len(rest), maxTag+1)])
			if more {
				return 0, scanMore
			}
			if m.tag != noTag {
				h.inside = h.span.pos
				h.span.pos++
				return h.inside, scanMaybe
			}
		}
	}
	return 0, scanMore
}

// mention is a block in the text that reads as a call (A8).
type mention struct {
	tool string
	at   int // where in the text it begins
}

// mentions notes a block that was read and is about to be released as text (A8), if it is the
// first: it is whole, or has the name of a known tool and arguments.
func (d *Decoder) mentions(x *resolver, err *ValueError) {
	tool, known := d.declared(tidyName(x.name))
	if (err == nil && (known || !d.opts.Told) || known && x.args != nil) && tool != "" && d.mention.tool == "" && !d.anyTool && !d.held.fenced && d.passed.Len() < maxPassed {
		d.mention = mention{tool, d.passed.Len()}
	}
}

// release makes text of what is held up to end and returns the rest.
func (d *Decoder) release(end int) (rest string) {
	buf := d.held.buf
	d.mode = inText
	for i := range end {
		d.step(buf[i], d.passed.Len()+i+1)
	}
	d.emit(buf[:end])
	return buf[end:]
}

// tooLarge decides L1 and L3 for what is beyond the limit: a block is malformed, a call without
// tags is text.
func (d *Decoder) tooLarge() (rest string) {
	h := &d.held
	if h.open.n == 0 { // L3
		return d.release(1)
	}
	x := d.resolver(h.buf[:min(len(h.buf), d.opts.MaxArgs, maxElem)], false)
	_, _ = x.call() // for the name
	d.failBehind(&FormatError{Reason: TooLarge, Offset: d.off, Detail: "the call is longer than the limit", Tool: tidyName(x.name), Raw: h.buf[:min(len(h.buf), d.opts.MaxArgs)]})
	return ""
}

// resolver returns the reader of a block, or of a call without tags.
func (d *Decoder) resolver(block string, closed bool) *resolver {
	h := &d.held
	at := cursor{src: block, pos: min(h.open.n, len(block))}
	return &resolver{d: d, cursor: at, closed: closed, dialect: h.dialect, name: h.open.name, bare: h.open.n == 0, attrs: []string{h.open.attrs}}
}

// decide settles what is held at the end of the reply. What it returns is text
// that was held back behind it.
func (d *Decoder) decide(stop Stop) (rest string) {
	h := &d.held
	if h.open.n > 0 && !h.begun { // B8: a tag that was only mentioned
		return d.release(min(h.open.n, len(h.buf)))
	}
	if h.end == 0 && len(h.buf) > d.opts.MaxArgs { // L1: tooLarge decides
		return d.tooLarge()
	}
	if h.end > 0 && h.open.n == 0 && d.follow(h.buf[h.end:], &h.behind) == words { // D10, D14
		return d.release(h.end)
	}
	if h.end == 0 {
		h.end = len(h.buf)
		mark := d.line.fenceMark()
		if i := strings.LastIndex(h.buf, mark); i >= 0 && h.fenced && h.open.n == 0 && strings.Trim(h.buf[i:], white+mark) == "" {
			h.end = i
		}
	}
	return d.verdict(stop)
}

// verdict decides B6, B7, B9, B10, B11 and D18: it reads what is held and gives the verdict, or makes
// text of it.
func (d *Decoder) verdict(stop Stop) (rest string) {
	h := &d.held
	block, tagged := h.buf[:h.end], h.open.n > 0
	ended := h.closed || h.end < len(h.buf)
	if tagged && h.fenced && !ended && strings.Contains(h.buf, d.line.fenceMark()) {
		return d.release(len(h.buf)) // B11: an example that lacks its closing tag
	}
	inner := block
	if h.closed {
		inner = block[:h.inside]
	}
	x := d.resolver(inner, tagged && ended)
	x.tagged = h.closed
	call, err := x.call()
	if err == nil && stop != End { // B6, B9, B12, B13: truncated, since what follows would have decided
		err = try(x.cut)
	}
	name, known := d.declared(tidyName(x.name))
	if tagged && !h.final { // D18: else it is a call whatever its name
		from := 0
		stray := x.stray || err == nil && !ended && d.follow(x.rest()+"<", &from) == words // nothing completes a tag
		switch {
		case stray && !ended, name == "", !known: // B6: words follow its arguments; B7: it names no known tool
			d.mentions(x, err)
			return d.release(h.end)
		case err == nil && h.fenced && h.ticks >= d.line.fence && (d.line.fenceLead || d.line.fenceFull): // B10
			err = &ValueError{Reason: FencedCall}
		} // B9: any other in a fence that is not closed, or that is all of the reply, is a call
	}
	if !tagged {
		var isText bool
		if err, isText = d.bare(x, err, known); isText {
			return d.release(1) // T2: it is read again from its second byte on
		}
	}
	d.finish(x.name, call, err, block)
	d.off += int64(h.end)
	return ""
}

// finish gives the verdict that raw is a call, or cannot be read as one. It decides B4: what
// follows a call is dropped.
func (d *Decoder) finish(name string, call *ToolCall, err *ValueError, raw string) {
	if err != nil {
		at := d.off + int64(min(err.Offset, len(raw)))
		d.failBehind(&FormatError{Reason: err.Reason, Offset: at, Detail: err.Detail, Tool: tidyName(name), Raw: raw})
		return
	}
	call.Raw = raw
	for i := range call.Repairs {
		call.Repairs[i].Offset += d.off
	}
	d.parts = append(d.parts, Part{Kind: Call, Call: call})
	d.mode = done
	d.losesBefore(false)
}

// bare decides D10, D11, D12, D13, D14, D17 and D18: it judges a call without tags by what is around
// it. Only a known tool makes one, and only what may follow it; otherwise all of it is text. An
// action that other words follow is malformed.
func (d *Decoder) bare(x *resolver, fault *ValueError, known bool) (err *ValueError, isText bool) {
	h := &d.held
	if fault != nil {
		if x.name == "" && (fault.Reason == Truncated || fault.Reason == BadJSON) { // D12
			x.name = d.namesTool(h.buf[:min(fault.Offset, h.end)])
			known = x.name != ""
		}
		prose := x.form == "python" && fault.Reason != Truncated && mentioned(x.src)
		if h.fenced && fault.Reason != Truncated && fault.Reason != BadJSON { // D10, D13: it was read whole
			behind, several := d.behindFence()
			prose = prose || !several && !blank(behind)
		}
		return fault, prose || !known // D11
	}
	from := 0
	_, several := d.behindFence()
	switch follows := d.follow(x.rest(), &from); {
	case follows == nothing, follows == ends: // D10, D14: a call
		return nil, !known && x.form != "python" && (d.opts.Told || !nameAndArgs().MatchString(x.src)) // D11, D18
	case follows == words && known && h.fenced && several: // D13
		return &ValueError{Reason: FencedCall}, false
	case follows == words && known && h.dialect == action: // D17
		return &ValueError{Reason: Ambiguous, Offset: x.pos, Detail: "words follow the action"}, false
	default: // D10, D14: text
		return nil, true
	}
}

// nameAndArgs is how an object begins that can be nothing but a call, of any tool (D18, A8).
var nameAndArgs = lazyRegexp(`^\s*\{\s*"name"\s*:\s*"[\w.-]+"\s*,\s*"(?:arguments|parameters)"\s*:\s*\{`)

// behindFence is what follows the fence that a call without tags is in (D13). Where that is
// another fence, which of their calls is meant is not guessed.
func (d *Decoder) behindFence() (behind string, several bool) {
	mark := d.line.fenceMark()
	_, behind, _ = strings.Cut(d.held.buf, mark)
	behind = trimSpace(strings.TrimLeft(behind, mark[1:]))
	return behind, strings.HasPrefix(behind, mark[1:])
}

// namesTool returns a tool that is named in quotes in what was held back (D12): it was going
// to be a call.
func (d *Decoder) namesTool(held string) string {
	for _, tool := range d.opts.Tools.Names() {
		if strings.Contains(held, `"`+tool+`"`) || strings.Contains(held, `'`+tool+`'`) {
			return tool
		}
	}
	return ""
}

// following is what follows a call that its own end does not decide.
type following uint8

const (
	nothing     following = iota // white space, closing tags, a closing fence: so far
	words                        // it was mentioned
	ends                         // the turn, an observation: the reply ends here
	nextCall                     // another call with tags
	thoughtEnds                  // it was a draft
)

// reactWords may follow an action: D17's list.
var reactWords = []string{"Observation:", "Thought:", actionLabel, "Final Answer:", "PAUSE"}

// follow judges what follows the call so far, from at on, and moves at. It decides B6, B11 and L4:
// what counts as nothing, as an end or as words. It does so behind D10, D14 and D17, too.
func (d *Decoder) follow(s string, at *int) following {
	h := &d.held
	for ; *at < len(s); *at++ {
		if *at > maxBlank { // L4
			return ends
		}
		switch c := s[*at]; {
		case isSpace(c), c == '*' && h.open.n > 0:
		case h.fenced && c == d.line.fenceChar: // B9, B10: the ticks of the closing fence
			h.ticks++
		case c == '<', c == '[' && h.open.tag == tokenOpen:
			m, more := matchTag(s[*at:min(len(s), *at+maxTag+1)])
			inFence := h.fenced && h.ticks < d.line.fence
			switch {
			case more:
				return nothing
			case m.tag == toolClose || m.tag == paramsClose: // B6: one too many
				*at += m.n - 1
			case m.tag == thinkClose:
				return thoughtEnds
			case inFence && m.tag == turnEnd && !turns[m.kind] && (h.closed || d.endsHere()): // B11
				*at += m.n - 1
			case inFence && m.tag != turnEnd, m.tag == noTag, m.tag == comment, m.kind == "/s" && d.strikethrough:
				return words // B6, B11
			case m.tag == toolOpen || m.tag == tokenOpen: // B6: another block
				return nextCall
			case m.tag == turnEnd || m.tag == observationOpen || m.tag == delimiter || m.tag == channel || h.dialect == action:
				return ends // B6, D17
			default:
				return words
			}
		default:
			if h.dialect == action && slices.ContainsFunc(reactWords, func(w string) bool { return strings.HasPrefix(s[*at:], w) }) {
				return ends // D17
			}
			return words // B6, B11, D10, D14, D17
		}
	}
	return nothing
}

// mentioned reports whether prose follows a call of Python that cannot be read (D14):
// read_file(path) reads a file.
func mentioned(s string) bool {
	_, args, _ := strings.Cut(s, "(")
	line, _, _ := strings.Cut(args, "\n")
	end := strings.LastIndexByte(line, ')')
	after := strings.Trim(args[end+1:], " \t\r\n;])")
	return end >= 0 && after != "" && !strings.HasPrefix(after[pathLen(after):], "(")
}
