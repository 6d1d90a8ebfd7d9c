package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The elements that may stand in a block, folded.
var (
	nameElements  = map[string]bool{"name": true, "toolname": true, "tool": true, "functionname": true}
	paramElements = map[string]bool{"parameters": true, "arguments": true, "args": true, "params": true, "input": true, "toolinput": true}

	// noise is what models say of a call, in elements or in members.
	noise = map[string]bool{"thought": true, "thoughts": true, "thinking": true, "think": true, "reason": true, "reasoning": true, "explanation": true, "comment": true}
)

// elements reads a block of elements: a name, and parameters as JSON or as
// elements of their own. The first name and parameters count.
func (x *resolver) elements() *readError {
	lastTag := strings.LastIndexByte(x.src, '>')
	for {
		x.blank()
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
			return x.cut()
		case strings.HasPrefix(rest, "```") && x.name != "" && x.args == nil:
			if x.unwrap(); !strings.HasPrefix(strings.TrimLeft(x.rest(), " \t\r\n"), "{") {
				return x.fail(BadJSON, "the fence does not hold a JSON object")
			}
		case !ok && rest[0] == '<' && !x.closed && lastTag < x.pos:
			return x.unfinished()
		case !ok && len(x.children) > 0:
			x.stray = true
			return x.fail(BadJSON, fmt.Sprintf("%q stands between the parameters", clip(rest)))
		case !ok:
			if err := x.between(); err != nil {
				return err
			}
		case e.closing:
			x.pos += e.n
		case nameElements[e.fold] && e.attrs != "" && nameAttr(e.attrs) != "":
			if err := x.setName(nameAttr(e.attrs)); err != nil {
				return err
			}
			x.attrs = append(x.attrs, e.attrs)
			x.pos += e.n
		case nameElements[e.fold] && (e.fold != "tool" || x.name == ""):
			if err := x.nameElement(e); err != nil {
				return err
			}
		case paramElements[e.fold] && !x.ownArgument(e), e.fold == "parameter" && nameAttr(e.attrs) == "":
			if x.args != nil {
				return x.fail(Ambiguous, "the parameters are given twice")
			}
			if err := x.params(e); err != nil {
				return err
			}
			if x.name != "" {
				return x.around(x.rest(), false)
			}
		case noise[e.fold]:
			text, err := x.elementText(e)
			if err != nil {
				return err
			}
			x.noise = append(x.noise, child{e.name, text})
		default:
			nested, err := x.otherElement(e)
			if nested || err != nil {
				return err
			}
		}
	}
	return x.unfinished()
}

// between skips words between the elements. Words may announce the object.
func (x *resolver) between() *readError {
	rest := x.rest()
	next := strings.IndexAny(rest[1:], "<{") + 1
	switch {
	case rest[0] == '{': // before a name
		return x.fail(BadJSON, "a value stands before the name of the tool")
	case next == 0:
		next = len(rest)
	case rest[next] == '{' && !announces(rest[:next]):
		return x.fail(BadJSON, fmt.Sprintf("%q stands before the value", clip(rest)))
	case rest[next] == '{':
		x.mend("prose")
	}
	x.words = append(x.words, rest[:next])
	x.pos += next
	return nil
}

// ownArgument reports whether an element that is named like the parameters is an
// argument of the tool.
func (x *resolver) ownArgument(e elem) bool {
	if x.property(e.name) == nil || e.empty {
		return false
	}
	inside := strings.TrimLeft(x.rest()[e.n:], " \t\r\n")
	return inside != "" && inside[0] != '{'
}

// unfinished decides a block that ended without parameters.
func (x *resolver) unfinished() *readError {
	if !x.tagged && len(x.children) == 0 {
		return x.cut()
	}
	if x.name == "" {
		return x.fail(NoName, "the call names no tool")
	}
	if x.key != "" {
		return x.fail(BadJSON, "<arg_key> and <arg_value> do not come in pairs")
	}
	if len(x.words) > 0 && x.args == nil && len(x.children) == 0 {
		return x.fail(BadJSON, fmt.Sprintf("%q stands where the parameters belong", clip(strings.TrimSpace(x.words[0]))))
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
		x.attrs = append(x.attrs, m.attrs)
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
	name := e.argument()
	if name == "" {
		return false, x.fail(BadJSON, "a parameter without a name")
	}
	value, err := x.elementText(e)
	if err != nil {
		return false, err
	}
	if value != "" {
		x.attrs = append(x.attrs, e.attrs)
	} else {
		for key, v := range attributes(e.attrs) {
			switch key {
			case "value":
				value = unescape(v)
			case "", "name", "type", "string":
			default:
				return false, x.fail(BadJSON, fmt.Sprintf("<%s> has its value in an attribute", clip(e.name)))
			}
		}
	}
	switch {
	case e.fold == "argkey" && x.key != "", e.fold == "argvalue" && x.key == "":
		return false, x.fail(BadJSON, "<arg_key> and <arg_value> do not come in pairs")
	case e.fold == "argkey":
		x.key = strings.TrimSpace(value)
		return false, nil
	case e.fold == "argvalue":
		name, x.key = x.key, ""
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

// params reads the parameters: JSON, elements, attributes, or nothing.
func (x *resolver) params(e elem) *readError {
	start := x.pos
	x.pos += e.n
	if e.empty {
		return x.fromAttributes(e.attrs)
	}
	wasClosed := x.closed
	x.blank()
	x.unwrap()
	x.blank()
	rest := x.rest()
	c, ok := elemAt(rest)
	if ok && c.closing && strings.Contains(e.attrs, "=") {
		return x.fromAttributes(e.attrs)
	}
	x.attrs = append(x.attrs, e.attrs)
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
		return x.after(false)
	case rest[0] == '[':
		x.pos = start
		return x.fail(NotObject, "the parameters must be one JSON object")
	}
	if ok && c.closing {
		x.args = json.RawMessage("{}")
		return nil
	}
	if ok {
		return x.paramElements()
	}
	text, _, found := strings.Cut(rest, "<")
	switch word := strings.TrimSpace(text); {
	case word == "null" || word == "None":
		if !found && !x.closed {
			return x.cut()
		}
		x.args = json.RawMessage("{}")
		return nil
	case json.Valid([]byte(word)):
		return x.fail(NotObject, "the parameters must be one JSON object")
	case strings.Contains(text, "{"):
		brace := strings.IndexByte(rest, '{')
		if announces(rest[:brace]) {
			x.mend("prose")
			x.words = append(x.words, rest[:brace])
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
		x.blank()
		rest := x.rest()
		e, ok := elemAt(rest)
		switch {
		case ok && e.closing && (paramElements[e.fold] || e.fold == "parameter"), rest == "" && (x.tagged || !x.closed):
			return nil
		case rest == "", !ok && !x.closed && !strings.Contains(rest, ">"):
			return x.cut()
		case !ok || e.closing:
			x.stray = true
			return x.fail(BadJSON, fmt.Sprintf("%q stands between the parameters", clip(rest)))
		}
		if _, err := x.otherElement(e); err != nil {
			return err
		}
	}
}

// fromAttributes reads arguments that are attributes of the tag.
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

func (x *resolver) wantsList(name string) bool {
	p := x.property(name)
	return p != nil && (p.Type == "array" || p.Type == "tuple")
}
