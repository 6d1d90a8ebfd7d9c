package protocol

import "strings"

// afterToken reads a call that a token opens (D9, D20): JSON or Python, or a
// name, other tokens between the parts, and an object.
func (x *resolver) afterToken() {
	for {
		x.blank()
		rest := x.rest()
		m, _ := matchTag(rest + " ")
		switch {
		case rest == "":
			x.cut()
		case m.tag == delimiter || m.tag == tokenOpen || m.tag == separator:
			x.pos += m.n
			continue
		case strings.IndexByte("{[<", rest[0]) >= 0:
			x.content()
			return
		}
		head := rest[:pathLen(rest)]
		after := trimSpace(strings.TrimLeft(rest[len(head):], ":0123456789")) // Kimi numbers its calls: functions.name:0
		m, _ = matchTag(after + " ")
		switch {
		case head == "":
			x.fail(BadJSON, "the call is not one that is known behind this token")
		case strings.HasPrefix(after, "("):
			if name, ok := strings.CutSuffix(head, ".call"); ok { // Llama's built-in tools
				x.src, x.pos = name+rest[len(head):], 0
			}
			x.python()
			return
		case m.tag == separator && (x.name != "" || head == "function"): // Mistral's id of a call, DeepSeek's type
		case x.name != "":
			x.fail(Ambiguous, "%q is beside the call", rest)
		case after == "" && !x.tagged:
			x.cut()
		default:
			x.name = head
		}
		x.pos = len(x.src) - len(after)
		if m.tag == noTag || m.tag == toolOpen {
			x.content()
			return
		}
		x.pos += m.n
	}
}

// harmony is the format of gpt-oss: messages with a channel, and a recipient
// where they are calls (D21).
var harmony = &dialect{name: "harmony"}

const startToken, channelToken, endToken = "<|start|>", "<|channel|>", "<|end|>"

// prefilled reports whether a reply goes on in a header whose <|channel|> the
// prompt ended with. more means that the next bytes decide.
func (d *Decoder) prefilled(s string) (begun, more bool) {
	for _, ch := range []string{"analysis<|", "commentary<|", "commentary to=", "final<|"} {
		if strings.HasPrefix(s, ch) {
			_, _, n, more := d.header(channelToken + s)
			return n > 0, more
		}
		more = more || strings.HasPrefix(ch, s)
	}
	return false, more
}

// header takes a header of the harmony format, which begins with one of its
// tokens and ends with <|message|>. more means that it may still come.
func (d *Decoder) header(s string) (ch, recipient string, n int, more bool) {
	const message = "<|message|>"
	head, _, ok := strings.Cut(s[:min(len(s), maxTag)], message)
	switch {
	case strings.Contains(head, endToken), strings.Contains(head, "\n"):
		return "", "", 0, false
	case !ok:
		return "", "", 0, len(s) < maxTag
	}
	n = len(head) + len(message)
	if role, ok := strings.CutPrefix(head, startToken); ok && !strings.HasPrefix(role, "assistant") {
		return "other", "", n, false
	}
	_, ch, _ = strings.Cut(head, channelToken)
	_, recipient, _ = strings.Cut(head, " to=")
	return ch[:pathLen(ch)], recipient[:pathLen(recipient)], n, false
}
