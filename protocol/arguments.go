package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Arguments that have an element, or an attribute, of their own. Their values
// are text (P4); the caller makes of it what the schema wants.

// ownArgument reports whether an element that is named like the parameters is an
// argument of the tool (B24).
func (x *resolver) ownArgument(e elem) bool {
	if x.property(e.name) == nil || e.empty {
		return false
	}
	inside := trimSpace(x.rest()[e.n:])
	return inside != "" && inside[0] != '{'
}

// argument reads an argument that has an element of its own.
func (x *resolver) argument(e elem) *readError {
	name := e.argument()
	if name == "" { // D7
		return x.fail(BadJSON, "a parameter without a name")
	}
	value, err := x.elementText(e)
	if err != nil {
		return err
	}
	if value != "" {
		x.attrs = append(x.attrs, e.attrs)
	}
	for key, v := range attributes(e.attrs) {
		switch {
		case value != "":
		case key == "value":
			value = unescape(v)
		case !knownAttrs[key]:
			return x.fail(BadJSON, fmt.Sprintf("<%s> has its value in an attribute", clip(e.name)))
		}
	}
	switch {
	case e.fold == "argkey" && x.key != "", e.fold == "argvalue" && x.key == "": // D8
		return x.fail(BadJSON, "<arg_key> and <arg_value> do not come in pairs")
	case e.fold == "argkey":
		x.key = strings.TrimSpace(value)
		return nil
	case e.fold == "argvalue":
		name, x.key = x.key, ""
	}
	x.children = append(x.children, child{name, value})
	return nil
}

// elementText reads the text of an element up to its closing tag. Elements of
// the same name may stand in it, closed like it.
func (x *resolver) elementText(e elem) (value string, err *readError) {
	x.pos += e.n
	if e.empty {
		return "", nil
	}
	rest := x.rest()
	if after, ok := strings.CutPrefix(trimSpace(rest), "<![CDATA["); ok { // B28
		value, tail, ok := strings.Cut(after, "]]>")
		if !ok {
			return "", x.cut()
		}
		x.repair("cdata")
		x.pos = len(x.src) - len(trimSpace(tail))
		if c, ok := elemAt(x.rest()); ok && c.closing {
			x.pos += c.n
		}
		return value, nil
	}
	inner, nested := 0, false
	for at := 0; ; at++ {
		k := strings.IndexByte(rest[at:], '<')
		if k < 0 && nested && x.closed {
			return "", x.fail(Ambiguous, fmt.Sprintf("<%s> stands in itself and is not closed", clip(e.name)))
		}
		if k < 0 {
			return "", x.cut()
		}
		at += k
		if !sameName(rest[at+1:], e.fold) {
			continue
		}
		c, ok := elemAt(rest[at:min(len(rest), at+maxTag)])
		switch {
		case !ok || c.fold != e.fold || c.empty:
		case !c.closing:
			inner, nested = inner+1, true
		case inner > 0:
			inner--
		default:
			x.pos += at + c.n
			return x.dialect.edges(rest[:at]), nil
		}
	}
}

// sameName reports whether what follows a < may be the folded name. It spares a
// closer look at most.
func sameName(s, folded string) bool {
	for i := 0; i < min(len(s), maxTag); i++ {
		switch c := s[i]; {
		case isSpace(c) || c == '/' || c == '_' || c == '-':
		case strings.HasPrefix(s[i:], "｜"), c >= 0x80:
			return true
		default:
			return lower(c) == folded[0] || c == 'a' || c == 'm' || c == 's' // or a family's prefix
		}
	}
	return false
}

// asFile is the text of an element where line ends set it off from its tags: a
// text of several lines keeps its last, as a file does (P5). It decodes
// character references if the text is escaped as XML is: without a bare <.
func asFile(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	if line := strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r"); strings.IndexByte(line, '\n') < 0 {
		s = line
	}
	if strings.IndexByte(s, '<') < 0 && strings.Contains(s, "&") {
		return unescape(s)
	}
	return s
}

// oneLineEnd is the text as OpenHands reads it: without one line end next to
// each tag, and otherwise as it is (D6).
func oneLineEnd(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// fromAttributes reads arguments that are attributes of the tag (P3).
func (x *resolver) fromAttributes(attrs string) *readError {
	for attrs != "" {
		name, rest, ok := strings.Cut(attrs, "=")
		rest = strings.TrimSpace(rest)
		if !ok || rest == "" || (rest[0] != '"' && rest[0] != '\'') {
			return x.fail(BadJSON, "the parameters are not a JSON object")
		}
		value, after, ok := strings.Cut(rest[1:], rest[:1])
		if !ok {
			return x.fail(BadJSON, "an attribute is not closed")
		}
		x.children = append(x.children, child{strings.TrimSpace(name), unescape(value)})
		attrs = strings.TrimSpace(after)
	}
	return nil
}

// fromChildren makes an object of arguments that had elements of their own.
// What comes more than once is a list, if the tool wants one there (P6).
func (x *resolver) fromChildren() (json.RawMessage, *readError) {
	if len(x.children) == 0 {
		return json.RawMessage("{}"), nil
	}
	x.repair("elements")
	var ms []member
	index := map[string]int{}
	for _, c := range x.children {
		at, ok := index[c.name]
		if !ok {
			at, index[c.name] = -1, len(ms)
		}
		value := quoteJSON(c.value)
		p := x.property(c.name)
		list := p != nil && p.Type == "array"
		switch {
		case at < 0 && list && strings.TrimSpace(c.value) == "":
			ms = append(ms, member{c.name, json.RawMessage("[]")})
		case at < 0 && list && isItem(c.value):
			ms = append(ms, member{c.name, json.RawMessage("[" + string(value) + "]")})
		case at < 0:
			ms = append(ms, member{c.name, value})
		case list && (ms[at].value[0] != '[' || strings.HasPrefix(strings.TrimSpace(c.value), "[")):
			return nil, x.fail(DuplicateKey, fmt.Sprintf("%q is given twice, once as a list", c.name))
		case list:
			old := ms[at].value
			ms[at].value = append(append(append(old[:len(old)-1], ','), value...), ']')
		case string(ms[at].value) != string(value):
			return nil, x.fail(DuplicateKey, fmt.Sprintf("%q is given twice with different values", c.name))
		}
	}
	return join(ms), nil
}

// isItem reports whether a text where a list is wanted is one item of it, and not
// a list in another form.
func isItem(text string) bool {
	text = strings.TrimSpace(text)
	return strings.IndexAny(text, `["'<-`) != 0 && !strings.Contains(text, "\n") && text != "null" && text != "None"
}
