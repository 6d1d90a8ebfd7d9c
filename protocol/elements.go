package protocol

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// The elements that may stand in a block, folded.
var (
	nameElements  = map[string]bool{"name": true, "toolname": true, "tool": true, "functionname": true}
	paramElements = map[string]bool{"parameters": true, "arguments": true, "args": true, "params": true, "input": true, "toolinput": true}
	noiseElements = map[string]bool{"thought": true, "thinking": true, "think": true, "reason": true, "reasoning": true, "explanation": true, "comment": true}
)

// elem is one opening or closing tag inside a block.
type elem struct {
	name    string // as written
	fold    string
	attrs   string
	closing bool
	empty   bool // <x/>
	n       int  // length
}

// maxElem bounds a tag inside a block, attributes included.
const maxElem = 4096

// elemAt reads the tag at the beginning of s; ok is false if there is none.
func elemAt(s string) (e elem, ok bool) {
	end := strings.IndexByte(s[:min(len(s), maxElem)], '>')
	if len(s) < 3 || s[0] != '<' || end < 0 {
		return e, false
	}
	inner := strings.TrimSpace(s[1:end])
	e.n = end + 1
	inner, e.closing = strings.CutPrefix(inner, "/")
	inner, e.empty = strings.CutSuffix(inner, "/")
	inner = strings.TrimSpace(inner)
	k := strings.IndexFunc(inner, func(r rune) bool { return r == '=' || r <= ' ' })
	if k < 0 {
		k = len(inner)
	}
	e.name, e.attrs = inner[:k], strings.TrimSpace(inner[k:])
	e.fold = fold(e.name)
	return e, e.name != "" && e.fold != "" && !strings.ContainsAny(e.name, "<\"'{}")
}

// elements reads a block of elements: a name, and parameters as JSON or as
// elements of their own. The first name and parameters count.
func (x *resolver) elements() *readError {
	for {
		x.space()
		rest := x.rest()
		if rest == "" {
			break
		}
		if rest[0] == '{' && x.name != "" {
			return x.object()
		}
		e, ok := elemAt(rest)
		switch {
		case strings.HasPrefix(rest, "<!--"):
			_, after, ok := strings.Cut(rest, "-->")
			if !ok {
				return x.cut()
			}
			x.pos = len(x.src) - len(after)
		case !ok && rest[0] == '<' && !x.closed && !strings.Contains(rest, ">"):
			return x.unfinished()
		case !ok && len(x.children) > 0:
			return x.fail(BadJSON, fmt.Sprintf("%q stands between the parameters", clip(rest)))
		case !ok:
			next := strings.IndexByte(rest[1:], '<')
			if rest[0] == '{' || next < 0 {
				next = max(next, strings.IndexByte(rest[1:], '{'))
			}
			if next < 0 {
				x.pos = len(x.src)
				continue
			}
			x.pos += next + 1
		case e.closing:
			x.pos += e.n
		case nameElements[e.fold] && e.attrs != "" && nameAttr(e.attrs) != "":
			if err := x.setName(nameAttr(e.attrs)); err != nil {
				return err
			}
			x.pos += e.n
		case nameElements[e.fold] && (e.fold != "tool" || x.name == ""):
			if err := x.nameElement(e); err != nil {
				return err
			}
		case paramElements[e.fold], e.fold == "parameter" && nameAttr(e.attrs) == "":
			if err := x.params(e); err != nil || x.name != "" {
				return err
			}
		case noiseElements[e.fold]:
			if _, ok := x.elementText(e); !ok {
				return x.cut()
			}
		default:
			nested, err := x.otherElement(e)
			if nested || err != nil {
				return err
			}
		}
	}
	return x.unfinished()
}

// unfinished decides a block that ended without parameters.
func (x *resolver) unfinished() *readError {
	if !x.tagged {
		return x.cut()
	}
	if x.name == "" {
		return x.fail(NoName, "the call names no tool")
	}
	return nil
}

// setName sets the tool's name, which must not contradict another.
func (x *resolver) setName(name string) *readError {
	if x.name != "" && name != x.name {
		return x.fail(Ambiguous, "two tools are named in one call")
	}
	x.name = name
	return nil
}

// otherElement reads an argument with an element of its own, or a block in the
// block.
func (x *resolver) otherElement(e elem) (nested bool, err *readError) {
	if m, _ := matchTag(x.rest()); m.tag == toolOpen {
		x.pos += m.n
		if m.name != "" {
			if err := x.setName(m.name); err != nil {
				return false, err
			}
		}
		x.space()
		if rest := x.rest(); rest != "" && rest[0] != '<' {
			return true, x.content()
		}
		return false, nil
	}
	name := e.name
	if e.fold == "parameter" || e.fold == "arg" || e.fold == "param" {
		if name = nameAttr(e.attrs); name == "" {
			return false, x.fail(BadJSON, "a parameter without a name")
		}
	}
	value, ok := x.elementText(e)
	if !ok {
		return false, x.cut()
	}
	switch e.fold {
	case "argkey":
		x.key = strings.TrimSpace(value)
		return false, nil
	case "argvalue":
		name = x.key
	}
	x.children = append(x.children, child{name, value})
	return false, nil
}

// nameElement reads the tool's name. A name that was not closed ends with its
// line.
func (x *resolver) nameElement(e elem) *readError {
	start := x.pos
	x.pos += e.n
	rest := x.rest()
	end := strings.IndexAny(rest, "<\n")
	if end < 0 {
		if !x.closed {
			return x.cut()
		}
		end = len(rest)
	}
	name := strings.TrimSpace(rest[:end])
	if name == "" && end < len(rest) { // on a line of its own
		lead := len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
		end = lead + max(0, strings.IndexAny(rest[lead:], "<\n"))
		name = strings.TrimSpace(rest[:end])
	}
	x.pos += end
	if err := x.setName(name); err != nil {
		err.pos = start
		return err
	}
	return nil
}

// elementText reads the text of an element up to its closing tag. ok is false
// if that is not there.
func (x *resolver) elementText(e elem) (value string, ok bool) {
	x.pos += e.n
	if e.empty {
		return "", true
	}
	rest := x.rest()
	if after, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "<![CDATA["); ok {
		if value, tail, ok := strings.Cut(after, "]]>"); ok {
			x.mend("cdata")
			x.pos = len(x.src) - len(tail)
			if c, ok := elemAt(strings.TrimLeft(tail, " \t\r\n")); ok && c.closing {
				x.pos = len(x.src) - len(strings.TrimLeft(tail, " \t\r\n")) + c.n
			}
			return value, true
		}
		return "", false
	}
	for at := 0; ; {
		k := strings.Index(rest[at:], "</")
		if k < 0 {
			return "", false
		}
		at += k
		if c, ok := elemAt(rest[at:]); ok && c.closing && c.fold == e.fold {
			x.pos += at + c.n
			return plain(rest[:at]), true
		}
		at += 2
	}
}

// plain takes the line ends away that set a text off from its tags; a text of
// several lines keeps its last, as a file does. It decodes character references
// if the text is escaped as XML is: without a bare <.
func plain(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	if line := strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r"); strings.IndexByte(line, '\n') < 0 {
		s = line
	}
	if strings.IndexByte(s, '<') < 0 && strings.Contains(s, "&") {
		return html.UnescapeString(s)
	}
	return s
}

// params reads the parameters: JSON, elements, attributes, or nothing.
func (x *resolver) params(e elem) *readError {
	start := x.pos
	x.pos += e.n
	if e.empty {
		return x.attributes(e.attrs)
	}
	wasClosed := x.closed
	x.unwrap()
	x.space()
	rest := x.rest()
	switch {
	case rest == "":
		x.closed = x.closed && wasClosed
		return x.unfinished()
	case rest[0] == '{':
		return x.object()
	case rest[0] == '"':
		value, _, err := x.read()
		if err != nil {
			return err
		}
		if err := x.take(value); err != nil {
			return err
		}
		return x.after()
	case rest[0] == '[':
		x.pos = start
		return x.fail(NotObject, "the parameters must be one JSON object")
	}
	if c, ok := elemAt(rest); ok {
		if c.closing {
			x.args = json.RawMessage("{}")
			return nil
		}
		return x.paramElements()
	}
	text, _, found := strings.Cut(rest, "<")
	switch word := strings.TrimSpace(text); {
	case word == "null" || word == "None" || word == "":
		if !found && !x.closed {
			return x.cut()
		}
		x.args = json.RawMessage("{}")
		return nil
	case strings.Contains(text, "{"):
		brace := strings.IndexByte(rest, '{')
		if before := strings.TrimSpace(rest[:brace]); strings.HasSuffix(before, ":") && !strings.ContainsAny(before, `"'=`) {
			x.mend("prose")
			x.pos += brace
			return x.object()
		}
	}
	return x.fail(BadJSON, "the parameters are not a JSON object")
}

// paramElements reads arguments that have elements of their own, up to the end
// of the parameters.
func (x *resolver) paramElements() *readError {
	for {
		x.space()
		e, ok := elemAt(x.rest())
		switch {
		case !ok && x.closed, ok && e.closing:
			return nil
		case !ok:
			return x.cut()
		}
		if _, err := x.otherElement(e); err != nil {
			return err
		}
	}
}

// attributes reads arguments that are attributes of the tag.
func (x *resolver) attributes(attrs string) *readError {
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
		x.children = append(x.children, child{strings.TrimSpace(name), html.UnescapeString(value)})
		attrs = strings.TrimSpace(after)
	}
	return nil
}

// fromChildren makes an object of arguments that had elements of their own.
// What stands more than once is a list, if the tool wants one there.
func (x *resolver) fromChildren() (json.RawMessage, *readError) {
	if len(x.children) == 0 {
		return json.RawMessage("{}"), nil
	}
	x.mend("elements")
	var ms []member
	index := map[string]int{}
	for _, c := range x.children {
		at, ok := index[c.name]
		if !ok {
			at, index[c.name] = -1, len(ms)
		}
		value := quoteJSON(c.value)
		list := x.wantsList(c.name)
		switch {
		case at < 0 && list && !strings.HasPrefix(strings.TrimSpace(c.value), "["):
			ms = append(ms, member{c.name, json.RawMessage("[" + string(value) + "]")})
		case at < 0:
			ms = append(ms, member{c.name, value})
		case list:
			old := ms[at].value
			ms[at].value = json.RawMessage(string(old[:len(old)-1]) + "," + string(value) + "]")
		case string(ms[at].value) != string(value):
			return nil, x.fail(DuplicateKey, fmt.Sprintf("%q is given twice with different values", c.name))
		}
	}
	return join(ms), nil
}

func (x *resolver) wantsList(name string) bool {
	if x.d.opts.Tools == nil {
		return false
	}
	schema, _ := x.d.opts.Tools.Schema(x.name)
	if schema == nil {
		return false
	}
	p := schema.Properties[name]
	return p != nil && (p.Type == "array" || p.Type == "tuple")
}
