package protocol

import (
	"encoding/json"
	"strings"
)

// pushAction follows Action: up to an observation, if it names a tool.
func (d *Decoder) pushAction() (rest string) {
	const after = "\nObservation:"
	if !d.begun {
		called, more := d.actionBegins()
		if more {
			return ""
		}
		if !called || !d.tryAgain(d.off) {
			return d.release(1)
		}
		d.begun = true
	}
	i := strings.Index(d.buf[d.block.pos:], after)
	switch {
	case i >= 0 && d.block.pos+i <= d.opts.MaxArgs:
		return d.decideWhole(d.block.pos+i, End)
	case len(d.buf) > d.opts.MaxArgs+len(after):
		return d.release(1)
	}
	d.block.pos = max(d.block.pos, len(d.buf)-len(after))
	return ""
}

// actionBegins reports whether an object or the name of a tool follows Action:.
func (d *Decoder) actionBegins() (called, more bool) {
	head := d.buf[:min(len(d.buf), maxTag)][len(action):]
	head = strings.TrimLeft(head, " \t")
	if strings.HasPrefix(head, "{") {
		return true, false
	}
	end := strings.IndexAny(head, "(\n")
	if end < 0 {
		return false, len(d.buf) < maxTag
	}
	_, known := d.declared(tidyName(head[:end]))
	return known, false
}

// endsStep reports whether what follows an action may follow it: nothing, a
// tag, or the next word of the ReAct format.
func endsStep(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n`")
	for _, word := range []string{"Observation:", "Thought:", action, "Final Answer:", "PAUSE"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	if strings.HasPrefix(rest, "<") {
		n, _ := endToken(rest)
		m, _ := matchTag(rest[:min(len(rest), maxTag+1)])
		return n > 0 || m.tag != noTag && m.tag != comment
	}
	return rest == ""
}

// endsThought reports whether the end of a thought follows.
func endsThought(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	if rest == "" || rest[0] != '<' {
		return false
	}
	m, _ := matchTag(rest[:min(len(rest), maxTag+1)])
	return m.tag == thinkClose
}

// action reads Action: name and Action Input: object.
func (x *resolver) action() (*ToolCall, *readError) {
	head, tail, _ := strings.Cut(x.src[len(action):], "\n")
	if lead := strings.TrimLeft(head, " \t"); strings.HasPrefix(lead, "{") || strings.HasSuffix(strings.TrimSpace(lead), ")") {
		x.pos = len(action)
		return x.call()
	}
	x.name = strings.TrimSpace(head)
	const input = "Action Input:"
	after := strings.TrimLeft(tail, " \t\r\n")
	switch {
	case after == "":
		return nil, x.cut()
	case len(after) < len(input) || !strings.EqualFold(after[:len(input)], input):
		return nil, x.fail(BadJSON, "there is no Action Input")
	}
	x.pos = len(x.src) - len(after) + len(input)
	x.unwrap()
	x.space()
	if strings.HasPrefix(x.rest(), "{") || x.rest() == "" {
		return x.call()
	}
	for _, none := range []string{"None", "null"} {
		if after, ok := strings.CutPrefix(x.rest(), none); ok && (after == "" || isSpace(after[0])) {
			x.pos += len(none)
			x.args, x.bare = json.RawMessage("{}"), true
			return &ToolCall{Name: x.name, Args: x.args, Repairs: x.repairs}, nil
		}
	}
	x.closed = true
	return nil, x.fail(BadJSON, "the Action Input is not a JSON object")
}
