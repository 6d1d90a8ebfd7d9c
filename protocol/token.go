package protocol

import "strings"

// afterToken reads a call that a token opens (D9, D20): JSON or Python, or a
// name, other tokens between the parts, and an object.
func (x *resolver) afterToken() *readError {
	for {
		x.blank()
		rest := x.rest()
		if rest == "" {
			return x.cut()
		}
		if m, _ := matchTag(rest + " "); m.tag == delimiter || m.tag == tokenOpen || m.tag == separator {
			x.pos += m.n
			continue
		}
		if rest[0] == '{' || rest[0] == '[' || rest[0] == '<' {
			return x.content()
		}
		head := rest[:pathLen(rest)]
		after := trimSpace(rest[len(head):])
		m := mark{}
		if n := len(x.kimiCount(after)); n > 0 { // functions.name:0
			after = after[n:]
		}
		if after != "" && (after[0] == '<' || after[0] == '[') {
			m, _ = matchTag(after + " ")
		}
		switch {
		case head == "function" && m.tag == separator: // DeepSeek's type of a call
			x.pos = len(x.src) - len(after) + m.n
			continue
		case x.name != "" && m.tag == separator: // Mistral's id of a call
			x.pos = len(x.src) - len(after) + m.n
			continue
		case head == "" || x.name != "":
			return x.fail(BadJSON, "the call is not one that is known behind this token")
		case after != "" && after[0] == '(':
			if name, ok := strings.CutSuffix(head, ".call"); ok { // Llama's built-in tools
				x.src = rest[:len(name)] + rest[len(head):]
				x.pos = 0
			}
			return x.python()
		case after == "" && !x.tagged:
			return x.cut()
		}
		x.name = head
		x.pos = len(x.src) - len(after) + m.n
		if m.tag != separator {
			return x.content()
		}
	}
}

// kimiCount is the number that Kimi puts behind a name.
func (x *resolver) kimiCount(s string) string {
	n := 0
	for strings.HasPrefix(s, ":") && n+1 < len(s) && isDigit(s[n+1]) {
		n++
	}
	if n == 0 {
		return ""
	}
	return s[:n+1]
}

// harmony is the format of gpt-oss: messages with a channel, and a recipient
// where they are calls (D21).
var harmony = &dialect{name: "harmony"}

// header takes a header of the harmony format, which begins with one of its
// tokens and ends with <|message|>. more means that it may still come.
func (d *Decoder) header(s string) (ch, recipient string, n int, more bool) {
	const message = "<|message|>"
	head, _, ok := strings.Cut(s[:min(len(s), maxTag)], message)
	if !ok {
		return "", "", 0, len(s) < maxTag
	}
	n = len(head) + len(message)
	if _, after, ok := strings.Cut(head, " to="); ok {
		recipient = after[:pathLen(after)]
	}
	role, ok := strings.CutPrefix(head, "<|start|>")
	before, after, _ := strings.Cut(head, "<|channel|>")
	if ok && !strings.HasPrefix(role, "assistant") {
		return "other", "", n, false
	}
	if _, to, ok := strings.Cut(before, " to="); ok {
		recipient = to[:pathLen(to)]
	}
	ch = after[:pathLen(after)]
	return ch, recipient, n, false
}
