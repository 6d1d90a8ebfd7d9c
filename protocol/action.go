package protocol

import "strings"

// actionLabel begins a call in the format of ReAct, on a line of its own.
const actionLabel = "Action:"

// action is that format (D17): Action: and a name with Action Input: and an
// object on the next line, or Action: and a call in another form, as smolagents
// and LangChain write it.
var action = &dialect{name: "action"}

func opensAction(_ *Decoder, s string, _ bool) (ok, more bool) {
	return strings.HasPrefix(s, actionLabel), strings.HasPrefix(actionLabel, s)
}

func (x *resolver) action() {
	x.pos = len(actionLabel)
	head, tail, _ := strings.Cut(x.rest(), "\n")
	switch head = strings.TrimSpace(head); {
	case head == "", head[0] == '{', strings.HasPrefix(head, "```"), strings.HasSuffix(head, ")"):
		x.content()
		return
	}
	x.name = head
	const input = "Action Input:"
	after := trimSpace(tail)
	switch {
	case after == "":
		x.cut()
	case len(after) < len(input) || !strings.EqualFold(after[:len(input)], input):
		x.fail(BadJSON, "there is no Action Input")
	}
	x.pos = len(x.src) - len(after) + len(input)
	x.blank()
	x.object()
}
