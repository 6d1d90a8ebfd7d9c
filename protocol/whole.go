package protocol

import "strings"

// form is a call without tags.
type form uint8

const (
	noForm      form = iota
	jsonForm         // an object or a list of objects
	pythonForm       // name(key=value), in brackets or not
	namedForm        // a name, and an object on the next line
	actionForm       // Action: name, Action Input: object
	escapedForm      // a block whose tags are escaped as in HTML: a call gone wrong
	tokenForm        // Mistral's token before a list of calls: a block
)

// toolCalls is how Mistral's token for calls reads where a server writes it out.
const toolCalls = "[TOOL_CALLS]"

// mayBegin marks the bytes that a call without tags can begin with.
var mayBegin = func() (m [256]bool) {
	for c := range 256 {
		m[c] = c == '{' || c == '[' || c == '&' || isWord(byte(c)) && !isDigit(byte(c)) && c < 0x80
	}
	return m
}()

// begins reports whether s, which starts a line, begins a call without tags:
// at the start of the reply, or of a fence that starts the reply, one of any
// form; elsewhere only Action. more means that the next bytes decide.
func (d *Decoder) begins(s string) (f form, more bool) {
	first := !d.line.seen || d.line.fence > 0 && !d.line.fenceLead && !d.line.fenceFull && !d.line.fenceHead
	if d.line.literal() || d.line.fence > 0 && !first {
		return noForm, false
	}
	if first && s[0] == '&' {
		return escapedTag(s)
	}
	if first && s[0] == '[' && (strings.HasPrefix(s, toolCalls) || strings.HasPrefix(toolCalls, s)) {
		return tokenForm, len(s) < len(toolCalls)
	}
	if d.opts.Tools == nil {
		return noForm, false
	}
	if strings.HasPrefix(s, action) {
		return actionForm, false
	}
	if strings.HasPrefix(action, s) {
		return noForm, true
	}
	if !first {
		return noForm, false
	}
	if s[0] == '{' {
		return jsonForm, false
	}
	i := 0
	if s[0] == '[' {
		i = len(s) - len(strings.TrimLeft(s[1:], " \t\r\n"))
		if i >= maxTag {
			return noForm, false
		}
		if i == len(s) {
			return noForm, true
		}
		if s[i] == '{' {
			return jsonForm, false
		}
	}
	return d.nameBegins(s[i:], i > 0)
}

// escapedTag reports whether s begins with the opening tag of a block, escaped.
func escapedTag(s string) (f form, more bool) {
	const lt, gt = "&lt;", "&gt;"
	if strings.HasPrefix(lt, s) {
		return noForm, true
	}
	name, ok := strings.CutPrefix(s, lt)
	if !ok {
		return noForm, false
	}
	name, _, ok = strings.Cut(name[:min(len(name), maxTag)], gt)
	switch {
	case ok:
		m, _ := matchTag("<" + name + ">")
		if m.tag == toolOpen {
			return escapedForm, false
		}
	case len(name) < maxTag:
		return noForm, true
	}
	return noForm, false
}

// nameBegins reports whether s begins with the name of a tool and what makes it
// a call.
func (d *Decoder) nameBegins(s string, bracket bool) (f form, more bool) {
	end := 0
	for end < len(s) && (isWord(s[end]) || s[end] == '.' || s[end] == '\\' || s[end] == '-') {
		end++
	}
	switch {
	case end >= maxTag:
		return noForm, false
	case end == len(s): // any word may be a namespace
		return noForm, true
	}
	if s[:end] == "print" && s[end] == '(' && !bracket {
		return d.nameBegins(s[end+1:], true)
	}
	if _, known := d.declared(tidyName(s[:end])); !known {
		return noForm, false
	}
	rest := strings.TrimLeft(s[end:], " \t\r\n")
	switch {
	case s[end] == '(':
		return pythonForm, false
	case bracket, len(s)-len(rest) >= maxTag:
	case rest == "":
		return noForm, true
	case rest[0] == '{' && strings.Contains(s[end:len(s)-len(rest)], "\n"):
		return namedForm, false
	}
	return noForm, false
}

func (d *Decoder) startWhole(f form) {
	d.startBlock(mark{}, d.line.fence > 0)
	if f == tokenForm {
		d.startBlock(mark{tag: delimiter, kind: "|imstart|", n: len(toolCalls)}, d.line.fence > 0)
		d.mode = inBlock
		return
	}
	d.mode, d.form, d.searched = inWhole, f, 0
}

// tryAgain reports whether one more call without tags may be looked for, at an
// offset of the reply.
func (d *Decoder) tryAgain(at int64) bool {
	if d.tries >= maxTries && at < 4*d.lastTry {
		return false
	}
	d.tries, d.lastTry = d.tries+1, at
	return true
}

// pushWhole goes on with what may be a call without tags up to the end of a
// thought that was not opened: then it was thought.
func (d *Decoder) pushWhole() (rest string) {
	buf := d.buf
	end := d.endOfThought()
	if end >= 0 {
		d.buf = buf[:end]
	}
	rest = d.pushForm()
	switch {
	case end < 0:
		return rest
	case d.mode == inWhole:
		d.buf = buf
		return d.release(1)
	}
	return rest + buf[end:]
}

// endOfThought returns where a closing tag of thought stands in buf, at the
// start of a line since in a string it is data, and -1 if there is none.
func (d *Decoder) endOfThought() int {
	for {
		i := strings.Index(d.buf[d.searched:], "\n</")
		if i < 0 {
			d.searched = max(d.searched, len(d.buf)-len("\n<"))
			return -1
		}
		d.searched += i
		m, more := matchTag(d.buf[d.searched+1 : min(len(d.buf), d.searched+1+maxTag)])
		if more {
			return -1
		}
		if m.tag == thinkClose {
			return d.searched
		}
		d.searched++
	}
}

// pushForm goes on with what may be a call without tags, and gives it up as soon
// as it can be none.
func (d *Decoder) pushForm() (rest string) {
	switch d.form {
	case jsonForm:
		return d.pushJSON()
	case actionForm:
		return d.pushAction()
	}
	if len(d.buf) > d.opts.MaxArgs {
		return d.release(1)
	}
	return ""
}

// pushJSON follows a value that begins the reply. When it is whole, it is either
// a call of a known tool or text; as long as only tags and white space follow,
// the end of the reply decides.
func (d *Decoder) pushJSON() (rest string) {
	b := &d.block
	for d.blockEnd == 0 && b.pos < min(len(d.buf), d.opts.MaxArgs) {
		b.step(d.buf[b.pos])
		b.pos++
		if b.depth == 0 && b.tries < maxTries {
			b.tries++
			x := d.resolver(d.buf[:b.pos], true)
			call, err := x.call()
			if err != nil && err.reason == BadJSON && strings.ContainsRune(d.buf[:b.pos], '\'') {
				continue // quotes of another kind put the scan off
			}
			if err == nil {
				if _, known := d.declared(call.Name); !known {
					err = x.fail(NoName, "")
				}
			}
			if err != nil && err.reason == NoName {
				return d.release(b.pos)
			}
			d.blockEnd = b.pos
		}
	}
	if d.blockEnd == 0 {
		if len(d.buf) > d.opts.MaxArgs {
			return d.release(1)
		}
		return ""
	}
	switch d.tail.scan(d.buf[d.blockEnd:], d.fence()) {
	case tailText:
		return d.release(d.blockEnd)
	case tailEnds:
		if d.tail.call { // the one with tags is meant
			return d.release(d.blockEnd)
		}
		return d.decideWhole(d.blockEnd, End)
	}
	return ""
}

// closeWhole decides at the end of the reply.
func (d *Decoder) closeWhole(stop Stop) (rest string) {
	end := len(d.buf)
	if d.blockEnd > 0 {
		end = d.blockEnd
	} else if d.fenced {
		if i := strings.LastIndex(d.buf, "\n```"); i >= 0 && blank(strings.Trim(d.buf[i:], "`\n\r\t ")) {
			end = i
		}
	}
	return d.decideWhole(end, stop)
}

// decideWhole makes a call of buf[:end], or text.
func (d *Decoder) decideWhole(end int, stop Stop) (rest string) {
	if d.form == escapedForm {
		d.fail(&FormatError{Reason: EscapedCall, Offset: d.off, Raw: d.buf})
		return ""
	}
	x := d.resolver(d.buf[:end], false)
	x.bare = true
	var call *ToolCall
	var err *readError
	switch d.form {
	case actionForm:
		call, err = x.action()
	case namedForm:
		name, object, _ := strings.Cut(d.buf[:end], "{")
		x.name, x.pos = strings.TrimSpace(name), end-len(object)-1
		call, err = x.call()
	default:
		call, err = x.call()
	}
	if err == nil && stop != End { // what follows would have decided
		err = x.cut()
	}
	tool, known := d.declared(tidyName(x.name))
	if err != nil && x.name == "" && (err.cut || err.reason == BadJSON) {
		x.name = d.namesTool(d.buf[:end])
		known = x.name != ""
	}
	switch {
	case err == nil && d.form == actionForm && endsThought(x.rest()+x.tail):
	case err == nil && known && d.form == actionForm && !endsStep(x.rest()+x.tail):
		err = x.fail(Ambiguous, "words follow the action")
		fallthrough
	case err != nil && known && x.name != "":
		d.fail(&FormatError{Reason: err.reason, Offset: d.off + int64(err.pos), Detail: err.detail, Tool: tidyName(x.name), Raw: d.buf[:end]})
		return ""
	case err == nil && known && (d.form == pythonForm || d.form == namedForm) && !d.endsCall(x):
	case err == nil && known:
		call.Name, call.Raw, call.Dialect = tool, d.buf[:end], d.form.String()
		for i := range call.Repairs {
			call.Repairs[i].Offset += d.off
		}
		d.off += int64(end)
		d.parts = append(d.parts, Part{Kind: Call, Call: call})
		d.mode = done
		return ""
	}
	return d.release(1)
}

// endsCall reports whether what follows a call in Python's form, or under a bare
// name, may follow it: nothing, or nothing but calls. With prose it was a mention.
func (d *Decoder) endsCall(x *resolver) bool {
	rest := strings.TrimLeft(x.rest(), " \t\r\n")
	if rest == "" {
		return true
	}
	if rest[0] == '<' {
		n, _ := endToken(rest)
		m, _ := matchTag(rest[:min(len(rest), maxTag+1)])
		return n > 0 && blank(rest[n:]) || m.tag == control || m.tag == delimiter || m.tag == observationOpen
	}
	if d.form == namedForm {
		return false
	}
	y := &resolver{d: d, src: x.src, pos: x.pos, bare: true}
	y.otherCalls(strings.HasPrefix(strings.TrimSpace(x.src), "["))
	return blank(y.rest())
}

// namesTool returns a tool that is named in quotes in what was held back: it was
// going to be a call.
func (d *Decoder) namesTool(held string) string {
	for _, tool := range d.opts.Tools.Names() {
		if strings.Contains(held, `"`+tool+`"`) || strings.Contains(held, `'`+tool+`'`) {
			return tool
		}
	}
	return ""
}

// String names the form as a dialect.
func (f form) String() string {
	return [...]string{"", "json", "python", "named", "action", "escaped", "delimiter"}[f]
}
