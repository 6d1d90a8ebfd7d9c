package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// resolver reads the content of a block, in whatever form a model wrote it, and
// finds one call there. It is the only place that does: a block that came in
// pieces and one that came whole are read alike. It drops nothing that may be a
// part of the call: what it does not know, it refuses.
type resolver struct {
	cursor
	d       *Decoder
	dialect *dialect
	form    string // the name of the dialect, as far as it was read
	bare    bool   // a call without tags: what follows it is for the judge
	closed  bool   // src ends where the block ends: nothing more can come
	tagged  bool   // with a closing tag, so that what is not there was left out
	stray   bool   // there are words where only the end of the call belongs

	name     string
	args     json.RawMessage // nil: none yet
	several  bool            // further calls may follow the first
	other    bool            // a second name was read: what follows is of its call
	inParams bool            // elements are arguments, up to the end of the parameters
	children []member        // arguments that have an element of their own; their values are text
	thoughts []member        // what models say of a call, unless the tool has an argument of that name
	words    string          // that were left out
	attrs    []string        // of tags that may have attributes beside a name
	key      string          // the key that an <arg_value> belongs to
}

// The elements that a block may hold, folded: names and parameters as B24 lists them, the
// thoughts of B27; and B26's attributes of its tags.
var (
	nameElements  = map[string]bool{"name": true, "toolname": true, "tool": true, "functionname": true}
	paramElements = map[string]bool{"parameters": true, "arguments": true, "args": true, "params": true, "input": true, "toolinput": true}
	thoughtNames  = map[string]bool{"thought": true, "thoughts": true, "thinking": true, "think": true, "reason": true, "reasoning": true, "explanation": true, "description": true}
	knownAttrs    = map[string]bool{"": true, "name": true, "id": true, "type": true, "lang": true, "language": true, "string": true}
)

// blank moves past what means nothing between the parts of a block. It decides B2 and B28:
// white space, a byte order mark, and the marks of a fence, of code or of CDATA around a
// value. It is called between the parts of a block and around the object
// of its arguments, never within a JSON string; elementText reads CDATA around one
// argument.
func (x *resolver) blank() {
	for {
		x.skip("")
		i := slices.IndexFunc(wrappers, func(w wrapper) bool { return strings.HasPrefix(x.rest(), w.mark) })
		if i < 0 {
			return
		}
		w := wrappers[i]
		if w.code != "" {
			x.repair(w.code, x.pos)
		}
		x.pos += len(w.mark)
		if w.code == "fence" { // its language
			word := x.rest()[:pathLen(x.rest())]
			if after := strings.TrimLeft(x.rest()[len(word):], " \r"); strings.HasPrefix(after, "\n") {
				x.pos += len(word)
			}
		}
	}
}

// wrapper is a mark around a value, with the code of the repair.
type wrapper struct{ mark, code string }

var wrappers = []wrapper{{"\ufeff", ""}, {"*", ""}, {"<![CDATA[", "cdata"}, {"]]>", ""}, {"```", "fence"}, {"`", "backticks"}}

// call reads the block and returns its call. It decides B21.
func (x *resolver) call() (call *ToolCall, err *ValueError) {
	x.form = x.dialect.name
	err = try(func() {
		x.dialect.read(x)
		if x.name == "" { // B21
			x.pos = 0
			x.fail(NoName, "the call names no tool")
		}
		tool, known := x.d.declared(tidyName(x.name))
		if known && tool != x.name {
			x.repair("name", x.pos) // N2: the repair; declared has found the tool
		}
		x.name = tool
		x.settle()
		if x.args == nil {
			x.args = x.fromChildren()
		}
		call = &ToolCall{Name: x.name, Args: x.args, Dialect: x.form, Repairs: x.repairs} // D1: the dialect's name
	})
	return call, err
}

// content reads any content of a block. It decides B1 and D1: a block of any tag may hold
// elements, JSON, a name and what it is given, or a call as Python writes it.
func (x *resolver) content() {
	x.blank()
	rest := x.rest()
	switch {
	case rest == "", rest[0] == '<', x.name != "": // B1; B26: the name was an attribute
		x.elements()
	case rest[0] == '{', rest[0] == '[' && !pythonList(rest): // D1
		x.envelope()
	case x.bareName(rest): // D16
		x.elements()
	default: // D15
		x.python()
	}
}

// bareName decides D16: it takes off the name of a tool that is followed by its arguments, or
// is alone on its line.
func (x *resolver) bareName(rest string) bool {
	end := strings.IndexAny(rest+"\n", "\n<")
	name := strings.TrimSpace(rest[:end])
	after := trimSpace(rest[end:])
	if !isPath(name) {
		return false
	}
	if after == "" || after[0] != '{' && after[0] != '<' {
		if _, known := x.d.declared(tidyName(name)); !known {
			return false
		}
	}
	if x.form != "named" {
		x.repair("bare_name", x.pos)
	}
	x.name = name
	x.pos += end
	return true
}

// read reads one value at pos and moves behind it. It decides P1: the value's end, not the
// closing tag, ends the arguments.
func (x *resolver) read() (value json.RawMessage, missing int) {
	r := reader{cursor: &x.cursor, maxDepth: x.d.opts.MaxDepth, closed: x.closed}
	r.out = make([]byte, 0, len(x.rest()))
	r.value(atTop)
	return r.json(), r.missing
}

// object reads the arguments: one object, or what replaces it. It decides V19, and P11 if a tag
// or a line is between two values.
func (x *resolver) object() {
	if x.args != nil {
		x.fail(Ambiguous, "a second value is beside the arguments") // P11
	}
	args, missing := x.read()
	if missing > 0 { // V19
		x.fail(BadJSON, "a closing brace is missing")
	}
	x.take(args)
	x.behind()
}

// behind looks at what directly follows a value: nothing, a tag, a remark on a line of its own.
// It decides V20, what of P9 may come behind the object, and P11 on one line.
func (x *resolver) behind() {
	end := x.pos
	for x.blank(); strings.HasPrefix(x.rest(), "}"); x.blank() {
		x.repair("extra_brace", x.pos) // V20
		x.pos++
		end = x.pos
	}
	rest := x.rest()
	token, _ := matchToken(rest + " ")
	if x.bare || rest == "" || rest[0] == '<' || token.tag != noTag ||
		strings.Contains(x.src[end:x.pos], "\n") && strings.IndexByte(`,"'`, rest[0]) < 0 { // P9
		return
	}
	x.stray = true
	x.fail(BadJSON, "%q follows the value", rest) // P11, V18: on the line of the value
}

// elements reads a block of elements: a name, and parameters as JSON or as elements of their
// own. It decides B23: in either order.
func (x *resolver) elements() {
	for {
		x.blank()
		rest := x.rest()
		given := x.args != nil && x.name != ""
		e, ok := elemAt(rest)
		switch {
		case rest == "", !ok && rest[0] == '<' && !x.closed && !x.inParams:
			x.unfinished()
			return
		case given && !x.tagged, rest[0] == '{' && x.several:
			return // what follows does not seem to belong to the call
		case rest[0] == '{' && !x.inParams: // P4, D6: an object in their place
			x.object()
		case !ok:
			x.remark(rest)
		case e.closing:
			x.pos += e.n
			x.inParams = false
		default:
			if x.element(e, given) {
				return
			}
		}
	}
}

// element reads one element of a block. It decides B24 and B27: what an element is by its
// name; and P14 for elements: one that is not known is refused. done says that another call
// begins (B4, B23).
func (x *resolver) element(e elem, given bool) (done bool) {
	m, _ := matchTag(x.rest())
	switch {
	case x.dialect == element || x.inParams: // D19, P4
		x.argument(e)
	case x.other && paramElements[e.fold]:
		return true // B23: the first call counts
	case m.tag == toolOpen: // B18
		return x.nested(m)
	case e.fold == "toolsep": // D8: Hunyuan Hy3 writes it behind the name
		x.pos += e.n
	case nameElements[e.fold] && given: // B23; B22: only names before the arguments are compared
		x.other = true
		x.pos += e.n
	case nameElements[e.fold]: // B24
		x.nameElement(e)
	case paramElements[e.fold] && !x.ownArgument(e), e.fold == "parameter" && nameAttr(e.attrs) == "": // B24
		x.params(e)
	case thoughtNames[e.fold]: // B27; settle takes back what the tool declares
		x.thoughts = append(x.thoughts, member{e.name, json.RawMessage(x.elementText(e))})
	case given:
		x.fail(Ambiguous, "<%s> is beside the parameters", e.name) // P14
	default: // P4: an argument in the place of the parameters
		x.argument(e)
	}
	return false
}

// nested goes into a block in the block. It decides B18 there: a tag that names the tool may be
// inside one that does not (D6).
func (x *resolver) nested(m mark) (done bool) {
	x.pos += m.n
	x.attrs = append(x.attrs, m.attrs)
	if m.name != "" {
		x.setName(m.name)
	}
	x.blank()
	if done = x.rest() != "" && x.rest()[0] != '<'; done {
		x.content()
	}
	return done
}

// remark decides P15: words behind the arguments are skipped, others are refused.
func (x *resolver) remark(rest string) {
	if x.args == nil {
		if x.prose() {
			return
		}
		x.stray = true
		x.fail(BadJSON, "%q is where the arguments belong", rest) // P15, P4
	}
	next := strings.IndexAny(rest[1:]+"<", "<{") + 1
	x.words += rest[:next] + "\n"
	x.pos += next
}

// prose decides P9: words that announce an object are skipped.
func (x *resolver) prose() bool {
	words, _, ok := strings.Cut(x.rest(), "{")
	if ok = ok && strings.HasSuffix(strings.TrimSpace(words), ":") && !strings.ContainsAny(words, `"'=<`); ok {
		x.repair("prose", x.pos)
		x.words += words + "\n"
		x.pos += len(words)
	}
	return ok
}

// unfinished decides B12, B13 and B14: whether a block is whole that the reply's end leaves open, or
// that something other than its closing tag ends.
func (x *resolver) unfinished() {
	switch {
	case x.args != nil && x.name != "": // B12
	case !x.tagged && (len(x.children) == 0 || x.inParams && x.closed): // B13, B14
		x.cut()
	case x.key != "": // D8
		x.fail(BadJSON, "<arg_key> and <arg_value> do not come in pairs")
	}
}

// setName sets the tool's name. It decides B22: it must not contradict another.
func (x *resolver) setName(name string) {
	if x.name != "" && name != x.name {
		x.fail(Ambiguous, "two tools are named in one call")
	}
	x.name = name
}

// nameElement reads the tool's name. It decides B25: a name that was not closed ends with its
// line.
func (x *resolver) nameElement(e elem) {
	x.attrs = append(x.attrs, e.attrs)
	x.pos += e.n
	rest := trimSpace(x.rest())
	end := strings.IndexAny(rest, "<\n")
	if end < 0 {
		end = len(rest)
	}
	x.pos = len(x.src) - len(rest) + end
	x.setName(strings.TrimSpace(rest[:end]))
}

// params reads the parameters: JSON, elements, attributes, or nothing. It decides P3, P2 for an
// empty element, and P4 for elements inside.
func (x *resolver) params(e elem) {
	x.pos += e.n
	if x.args != nil {
		x.fail(Ambiguous, "the parameters are given twice") // P14
	}
	x.blank()
	c, ok := elemAt(x.rest())
	none := e.empty || ok && c.closing
	if none && e.attrs != "" { // P3
		for key, value := range attributes(e.attrs) {
			x.children = append(x.children, member{key, json.RawMessage(references.Replace(value))})
		}
		return
	}
	x.attrs = append(x.attrs, e.attrs)
	switch {
	case none: // P2
		x.args = json.RawMessage("{}")
	case x.rest() == "" || ok: // P4
		x.inParams = ok
	default: // P9: words may precede the object
		x.prose()
		x.object()
	}
}

// settle decides B26 and B27, and P14 for attributes, once the tool is known: of what was read
// beside the arguments, attributes, thoughts and words, nothing may be an argument that would
// be lost, nor unknown.
func (x *resolver) settle() {
	x.noArgument(x.words) // P15
	for _, attrs := range x.attrs {
		for key := range attributes(attrs) {
			if key = strings.ToLower(key); !knownAttrs[key] || key != "name" && x.property(key) != nil { // B26, P14
				x.fail(Ambiguous, "%q is in a tag, beside the arguments", key)
			}
		}
	}
	for _, c := range x.thoughts {
		if x.property(c.key) != nil && !hasMember(x.args, c.key) { // B27, P14
			x.children = append(x.children, c)
		}
	}
	if x.args != nil && len(x.children) > 0 {
		x.fail(Ambiguous, "<%s> is beside the parameters", x.children[0].key)
	}
}

// noArgument decides P15 for words that are left out: none may be the name of an argument,
// with a colon or an equals sign behind it.
func (x *resolver) noArgument(words string) {
	for {
		i := strings.IndexAny(words, ":=")
		if i < 0 {
			return
		}
		before := strings.TrimRight(words[:i], " \t\"'`*")
		at := 1 + strings.LastIndexFunc(before, func(r rune) bool { return !isWord(byte(r)) && r != '-' })
		if name := before[at:]; x.property(name) != nil {
			x.fail(Ambiguous, "%q is beside the arguments", name)
		}
		words = words[i+1:]
	}
}

// tool is the tool that is called, as it was declared.
func (x *resolver) tool() string {
	tool, _ := x.d.declared(tidyName(x.name))
	return tool
}

// property is the schema of an argument of the tool, nil if the tool is not known
// or declares none of that name.
func (x *resolver) property(name string) *jsonschema.Schema { return x.d.property(x.tool(), name) }

// property is the schema of an argument of a tool, nil if the tool is not known
// or declares none of that name.
func (d *Decoder) property(tool, name string) *jsonschema.Schema {
	schema, _ := d.opts.Tools.Schema(tool)
	if schema == nil {
		return nil
	}
	if p := schema.Properties[name]; p != nil {
		return p
	}
	for key, p := range schema.Properties {
		if fold(key) == fold(name) {
			return p
		}
	}
	return nil
}
