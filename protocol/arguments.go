package protocol

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Arguments that have an element of their own. Their values are text; the caller makes of it
// what the schema wants.

// element is an element named like a tool, with elements for its arguments, as Cline, Roo Code
// and Kilo Code have models write calls.
var element = &dialect{name: "element"}

// matchElement reads the opening tag of a tool's element that s begins with (D19).
func (d *Decoder) matchElement(s string) (m mark, more bool) {
	name := s[1 : 1+pathLen(s[1:])]
	_, known := d.opts.Tools.Schema(name)
	switch after := s[1+len(name):]; {
	case after == "":
		return mark{}, slices.ContainsFunc(d.opts.Tools.Names(), func(tool string) bool { return strings.HasPrefix(tool, name) })
	case known && after[0] == '>':
		return mark{tag: toolOpen, kind: element.name, name: name, n: len(name) + len("<>")}, false
	}
	return mark{}, false
}

// scanElement looks for the tool's closing tag. It decides D19: the element of an argument that
// the tool declares begins at once, or it is no call. A closing tag that is part of an
// argument is passed.
func scanElement(d *Decoder) (end int, state scanState) {
	h := &d.held
	if !h.begun {
		head := trimSpace(h.buf[min(h.open.n, len(h.buf)):])
		if head == "" && len(h.buf) < maxBlank || head != "" && head[0] == '<' && len(head) < maxTag && !strings.Contains(head, ">") {
			return 0, scanMore
		}
		e, ok := elemAt(head[:min(len(head), maxTag)])
		if !ok || e.closing || d.property(h.open.name, e.name) == nil {
			return h.open.n, scanData
		}
		h.begun = true
	}
	closer := "</" + h.open.name + ">"
	i := strings.Index(h.buf[h.span.pos:], closer)
	if i < 0 {
		h.span.pos = max(h.span.pos, len(h.buf)-len(closer)+1)
		return 0, scanMore
	}
	h.inside = h.span.pos + i
	h.span.pos = h.inside + len(closer)
	h.closed = true
	return h.span.pos, scanMaybe
}

// text decides P4, P5, D6, D7, D8 and D19 for the text of an element: what becomes of the line ends
// next to its tags and of references. One line end next to each tag goes; elsewhere several
// lines keep their last, as a file does. Only the house form's arguments are unescaped, if they
// have no bare <: no family's template escapes what it writes.
func (x *resolver) text(e elem, s string) string {
	switch {
	case x.dialect == element && (e.name == "content" || e.name == "diff"): // D19
		return s
	case x.dialect == element:
		return strings.TrimSpace(s)
	}
	exact := x.dialect.name == "function" || strings.HasPrefix(e.attrs, "=")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	line := strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
	if exact || strings.IndexByte(line, '\n') < 0 { // D6, P5
		s = line
	}
	if exact || e.fold == "parameter" || e.fold == "argvalue" || strings.IndexByte(s, '<') >= 0 { // D6, D7, D8, P4
		return s
	}
	return references.Replace(s)
}

// references are those that XML has of itself.
var references = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#10;", "\n", "&amp;", "&")

// ownArgument decides B24: whether an element that is named like the parameters is an argument
// of the tool.
func (x *resolver) ownArgument(e elem) bool {
	return x.property(e.name) != nil && !e.empty && !strings.HasPrefix(trimSpace(x.rest()[e.n:]), "{")
}

// argument reads an argument that has an element of its own. It decides D7 and D8: which name it
// has, and that <arg_key> and <arg_value> come in pairs.
func (x *resolver) argument(e elem) {
	name := e.name
	if e.fold == "parameter" || e.fold == "arg" || e.fold == "param" {
		name = nameAttr(e.attrs)
	}
	if name == "" { // D7: without a name
		x.fail(BadJSON, "a parameter without a name")
	}
	x.attrs = append(x.attrs, e.attrs)
	value := x.elementText(e)
	switch {
	case e.fold == "argkey" && x.key != "", e.fold == "argvalue" && x.key == "": // D8: one without the other
		x.fail(BadJSON, "<arg_key> and <arg_value> do not come in pairs")
	case e.fold == "argkey":
		x.key = value
		return
	case e.fold == "argvalue":
		name, x.key = x.key, ""
	}
	x.children = append(x.children, member{name, json.RawMessage(value)})
}

// elementText reads the text of an element. It decides P4: it ends at the first of its closing
// tags that another tag, or the end of the block, follows; what is quoted in the text is
// followed by words, or by the closing tag itself. CDATA around it is taken off (B28).
func (x *resolver) elementText(e elem) string {
	x.pos += e.n
	if e.empty {
		return ""
	}
	rest, end, value := x.rest(), -1, ""
	if inner, ok := strings.CutPrefix(trimSpace(rest), "<![CDATA["); ok {
		value, tail, _ := strings.Cut(inner, "]]>")
		c, _ := elemAt(trimSpace(tail))
		if !c.closing || c.fold != e.fold {
			x.cut()
		}
		x.repair("cdata", x.pos)
		x.pos = len(x.src) - len(trimSpace(tail)) + c.n
		return value
	}
	for at := 0; ; {
		k := strings.Index(rest[at:], "</")
		if k < 0 {
			break
		}
		at += k
		c, _ := elemAt(rest[at:min(len(rest), at+maxTag)])
		if c.fold != e.fold {
			at += 2
			continue
		}
		value, end = rest[:at], at+c.n
		if next, ok := elemAt(trimSpace(rest[end:])); ok && !(next.closing && next.fold == e.fold) {
			break
		}
		at = end
	}
	if end < 0 { // B13: an element is cut
		x.cut()
	}
	x.pos += end
	return x.text(e, value)
}

// fromChildren makes an object of arguments that had elements of their own (P4), or of none (P2).
// It decides P6: what comes more than once is a list, if the tool wants one there.
func (x *resolver) fromChildren() json.RawMessage {
	if len(x.children) == 0 {
		return json.RawMessage("{}")
	}
	x.repair("elements", x.pos)
	var ms []member
	index := map[string]int{}
	for _, c := range x.children {
		if !utf8.ValidString(c.key) || !utf8.Valid(c.value) { // V10, for elements
			x.fail(BadJSON, "it is not valid UTF-8")
		}
		at, again := index[c.key]
		value, text := quoteJSON(string(c.value)), strings.TrimSpace(string(c.value))
		p := x.property(c.key)
		list := p != nil && p.Type == "array"
		// What is a list in another form is no item of one.
		item := text != "" && strings.IndexAny(text, `["'<-`) != 0 && !strings.Contains(text, "\n") && text != "null" && text != "None"
		switch {
		case !again:
			if index[c.key] = len(ms); list && item {
				value = []byte("[" + string(value) + "]")
			}
			ms = append(ms, member{c.key, value})
		case item && ms[at].value[0] == '[':
			old := ms[at].value
			ms[at].value = append(append(append(old[:len(old)-1], ','), value...), ']')
		case string(ms[at].value) != string(value): // V3, V4: for elements
			x.fail(DuplicateKey, "%q is given twice with different values", c.key)
		}
	}
	return join(ms)
}
