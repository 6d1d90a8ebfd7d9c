package protocol

import "strings"

// pushAction follows Action: up to an observation, if it names a tool.
func (d *Decoder) pushAction() (rest string) {
	const after = "\nObservation:"
	if !d.begun {
		line := strings.IndexByte(d.buf, '\n')
		if line < 0 && len(d.buf) <= maxTag {
			return ""
		}
		if line < 0 {
			return d.release(len(d.buf))
		}
		head := strings.TrimLeft(d.buf[len(action):line], " \t")
		name, _, _ := strings.Cut(head, "(")
		if _, known := d.declared(tidyName(name)); !known && !strings.HasPrefix(head, "{") {
			return d.release(line)
		}
		if !d.tryAgain(d.off) {
			return d.release(line)
		}
		d.begun, d.block.pos = true, line
	}
	if i := strings.Index(d.buf[d.block.pos:], after); i >= 0 {
		return d.decideWhole(d.block.pos+i, End)
	}
	d.block.pos = max(d.block.pos, len(d.buf)-len(after))
	if len(d.buf) > d.opts.MaxArgs {
		return d.release(len(d.buf))
	}
	return ""
}

// endsStep reports whether what follows an action may follow it: nothing, a
// tag, or the next word of the ReAct format.
func endsStep(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n`")
	for _, word := range []string{"<", "Observation:", "Thought:", action, "Final Answer:"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	return rest == ""
}

// action reads Action: name and Action Input: object.
func (x *resolver) action() (*ToolCall, *readError) {
	head, tail, _ := strings.Cut(x.src[len(action):], "\n")
	if lead := strings.TrimLeft(head, " \t"); strings.HasPrefix(lead, "{") || strings.HasSuffix(strings.TrimSpace(lead), ")") {
		x.pos = len(action)
		return x.call()
	}
	x.name = strings.TrimSpace(head)
	at := strings.Index(tail, "Action Input:")
	if at < 0 || !blank(tail[:at]) {
		if blank(tail) {
			return nil, x.cut()
		}
		return nil, x.fail(BadJSON, "there is no Action Input")
	}
	x.pos = len(x.src) - len(tail) + at + len("Action Input:")
	x.space()
	if strings.HasPrefix(x.rest(), "{") || x.rest() == "" {
		return x.call()
	}
	x.closed = true
	return nil, x.fail(BadJSON, "the Action Input is not a JSON object")
}
