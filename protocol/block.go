package protocol

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// resolver reads what stands in a block, in whatever form a model gave it, and
// finds one call there. It is the only place that does: a block that came in
// pieces and one that came whole are read alike. It drops nothing that may be a
// part of the call: what it does not know, it refuses (P14).
type resolver struct {
	d       *Decoder
	dialect *dialect
	src     string
	pos     int
	closed  bool // src ends where the block ends
	bare    bool // a call without tags: what follows it is for the judge
	tagged  bool // with a closing tag, so that what is not there was left out
	stray   bool // words stand where nothing but the end of the call belongs

	name     string
	args     json.RawMessage // nil: none yet
	several  bool            // further calls may follow the first
	other    bool            // a second name was read: what follows is of its call
	children []child
	thoughts []child  // what models say of a call, unless the tool has an argument of that name
	words    []string // that were left out
	attrs    []string // of tags that may have attributes beside a name
	tail     string   // what stands behind a fence, backticks or CDATA that were taken off
	key      string   // the key that an <arg_value> belongs to
	repairs  []Repair
	props    map[string]*jsonschema.Schema // of the tool, by folded name
}

// child is one argument that has an element of its own.
type child struct{ name, value string }

// The elements that may stand in a block, folded (B24, B27).
var (
	nameElements  = map[string]bool{"name": true, "toolname": true, "tool": true, "functionname": true}
	paramElements = map[string]bool{"parameters": true, "arguments": true, "args": true, "params": true, "input": true, "toolinput": true}
	thoughtNames  = map[string]bool{"thought": true, "thoughts": true, "thinking": true, "think": true, "reason": true, "reasoning": true, "explanation": true, "description": true}
	knownAttrs    = map[string]bool{"": true, "name": true, "id": true, "type": true, "lang": true, "language": true, "string": true, "value": true}
)

func (x *resolver) repair(code string) {
	if len(x.repairs) < maxRepairs {
		x.repairs = append(x.repairs, Repair{Code: code, Offset: int64(x.pos)})
	}
}

func (x *resolver) fail(reason Reason, detail string) *readError {
	return &readError{reason: reason, pos: x.pos, detail: detail}
}

func (x *resolver) cut() *readError {
	return &readError{reason: Truncated, pos: len(x.src), detail: "the reply ended inside the call", cut: true}
}

func (x *resolver) rest() string { return x.src[x.pos:] }

// blank moves past what means nothing between the parts of a block (B2): white
// space, a byte order mark, HTML comments.
func (x *resolver) blank() {
	const bom = "\ufeff"
	for {
		x.pos = len(x.src) - len(trimSpace(x.rest()))
		after, ok := strings.CutPrefix(x.rest(), bom)
		if !ok && strings.HasPrefix(x.rest(), "<!--") {
			_, after, ok = strings.Cut(x.rest(), "-->")
		}
		if !ok {
			return
		}
		x.pos = len(x.src) - len(after)
	}
}

// call reads the block and returns its call.
func (x *resolver) call() (*ToolCall, *readError) {
	if err := x.dialect.read(x); err != nil {
		return nil, err
	}
	if x.name == "" { // B21
		x.pos = 0
		return nil, x.fail(NoName, "the call names no tool")
	}
	tool, known := x.d.declared(tidyName(x.name))
	if known && tool != x.name {
		x.repair("name")
	}
	x.name = tool
	if err := x.settle(); err != nil {
		return nil, err
	}
	if x.args == nil {
		var err *readError
		if x.args, err = x.fromChildren(); err != nil {
			return nil, err
		}
	}
	x.dropOwnName()
	return &ToolCall{Name: x.name, Args: x.args, Dialect: x.dialect.name, Repairs: x.repairs}, nil
}

// content reads whatever stands in a block (B1, D1): elements, JSON, a name and what it
// is given, a call as Python writes it.
func (x *resolver) content() *readError {
	x.blank()
	x.unwrap()
	x.blank()
	rest := x.rest()
	switch {
	case rest == "" && !x.tagged:
		return x.cut()
	case rest == "" && x.name == "":
		return x.fail(NoName, "the call is empty")
	case rest == "", rest[0] == '<', x.name != "" && rest[0] == '{':
		return x.elements()
	case rest[0] == '{', rest[0] == '[' && !pythonList(rest):
		return x.envelope()
	case x.name != "" && !strings.Contains(rest, "("):
		return x.elements()
	}
	if at := strings.IndexAny(rest, "<{"); at > 0 && rest[at] == '<' {
		if e, ok := elemAt(rest[at:]); ok && !e.closing && nameElements[e.fold] { // words before the name
			return x.elements()
		}
	}
	if x.bareName() {
		return x.elements()
	}
	return x.python()
}

// bareName takes off the name of a tool that is followed by its arguments, or
// stands on a line of its own (D16).
func (x *resolver) bareName() bool {
	rest := x.rest()
	end := strings.IndexAny(rest, "\n<")
	if end < 0 {
		end = len(rest)
	}
	name := strings.TrimSpace(rest[:end])
	if x.name != "" || !isPath(name) {
		return false
	}
	after := trimSpace(rest[end:])
	if after == "" || after[0] != '{' && after[0] != '<' {
		_, known := x.d.declared(tidyName(name))
		if x.d.opts.Tools == nil || !known || after == "" && !x.tagged {
			return false
		}
	}
	x.repair("bare_name")
	x.name = name
	x.pos += end
	return true
}

// unwrap takes off what models put around a value (B28): CDATA, a fence,
// backticks. What stands behind it is kept to be looked at.
func (x *resolver) unwrap() {
	ends := func(skip int, closer, code string) {
		x.repair(code)
		x.pos += skip
		if end := strings.LastIndex(x.rest(), closer); end >= 0 {
			end += x.pos
			x.tail = x.src[end+len(closer):] + x.tail
			x.src, x.closed = x.src[:end], true
		}
		x.blank()
	}
	const cdata = "<![CDATA["
	if strings.HasPrefix(x.rest(), cdata) {
		ends(len(cdata), "]]>", "cdata")
	}
	switch rest := x.rest(); {
	case strings.HasPrefix(rest, "```"):
		head, _, _ := strings.Cut(rest, "\n")
		if strings.ContainsAny(head, "{[<(") || strings.HasPrefix(head, "``` ") {
			head = "```"
		}
		ends(len(head), "```", "fence")
	case strings.HasPrefix(rest, "`"):
		ends(1, "`", "backticks")
	}
}

// read reads one value at pos and moves behind it: its end, not the closing tag,
// ends the arguments (P1).
func (x *resolver) read() (value json.RawMessage, missing int, err *readError) {
	r, err := read(reader{src: x.src, pos: x.pos, maxDepth: x.d.opts.MaxDepth, closed: x.closed})
	if err != nil {
		return nil, 0, err
	}
	x.repairs = append(x.repairs, r.repairs...)
	x.pos = r.pos
	return r.out, r.missing, nil
}

// object reads the arguments as one object.
func (x *resolver) object() *readError {
	start := x.pos
	if x.args != nil || x.several {
		return x.fail(Ambiguous, "a second value stands beside the arguments")
	}
	args, missing, err := x.read()
	if err != nil {
		return err
	}
	if missing > 0 { // V19
		x.pos = start
		return x.fail(BadJSON, "a closing brace is missing")
	}
	x.args = args
	return x.behind()
}

// behind looks at what directly follows a value: nothing, a tag, a remark on a
// line of its own (P9). Closing braces too many are dropped (V20).
func (x *resolver) behind() *readError {
	end := x.pos
	for x.blank(); strings.HasPrefix(x.rest(), "}"); x.blank() {
		x.repair("extra_brace")
		x.pos++
		end = x.pos
	}
	rest := x.rest()
	if x.bare || rest == "" || rest[0] == '<' || strings.HasPrefix(rest, "]]>") || strings.HasPrefix(rest, "[TOOL_CALLS]") {
		return nil
	}
	remark, _, _ := strings.Cut(rest, "<")
	n, _ := commentLen(rest)
	switch {
	case !x.several && (rest[0] == '[' || strings.Contains(remark, "{")): // P11
		return x.fail(Ambiguous, "a second value follows the first")
	case rest[0] == ',' || rest[0] == '"' || rest[0] == '\'':
	case n > 0, blank(strings.Trim(remark, "`*")), strings.Contains(x.src[end:x.pos], "\n"), !x.tagged && strings.Contains(remark, "\n"):
		return nil
	}
	return x.fail(BadJSON, fmt.Sprintf("%q follows the value", clip(rest)))
}

// elements reads a block of elements: a name, and parameters as JSON or as
// elements of their own, in either order (B23).
func (x *resolver) elements() *readError {
	lastTag := strings.LastIndexByte(x.src, '>')
	for {
		x.blank()
		rest := x.rest()
		if rest == "" && x.tail != "" {
			x.src, x.pos, x.tail = x.tail, 0, ""
			lastTag = strings.LastIndexByte(x.src, '>')
			continue
		}
		if rest == "" {
			return x.unfinished()
		}
		if x.args != nil && x.name != "" && (x.bare || !x.tagged) {
			return nil // what follows is not of the block, as far as can be told (B12)
		}
		e, ok := elemAt(rest)
		var err *readError
		switch {
		case rest[0] == '{' && x.several:
			return nil
		case rest[0] == '{' && x.name == "":
			err = x.fail(BadJSON, "a value stands before the name of the tool")
		case rest[0] == '{':
			err = x.object()
		case strings.HasPrefix(rest, "<!--"):
			err = x.cut()
		case strings.HasPrefix(rest, "```") && x.name != "" && x.args == nil:
			if x.unwrap(); !strings.HasPrefix(x.rest(), "{") {
				err = x.fail(BadJSON, "the fence does not hold a JSON object")
			}
		case !ok && rest[0] == '<' && !x.closed && lastTag < x.pos:
			return x.unfinished()
		case !ok:
			err = x.remark(rest)
		case e.closing:
			x.pos += e.n
		default:
			var done bool
			if done, err = x.element(e); done && err == nil {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// element reads one element of a block. done says that another call begins.
func (x *resolver) element(e elem) (done bool, err *readError) {
	m, _ := matchTag(x.rest())
	given := x.args != nil && x.name != ""
	switch named := nameAttr(e.attrs); {
	case m.tag == toolOpen && given, x.other && paramElements[e.fold]:
		return true, nil // B4: the first call counts
	case m.tag == toolOpen:
		return x.nested(m)
	case nameElements[e.fold] && given:
		x.other = true
		x.pos += e.n
		rest := x.rest()
		x.pos += max(0, strings.IndexByte(rest, '<'))
		return x.pos == len(x.src)-len(rest), nil
	case nameElements[e.fold] && e.attrs != "" && named != "":
		x.attrs = append(x.attrs, e.attrs)
		x.pos += e.n
		return false, x.setName(named)
	case nameElements[e.fold] && (e.fold != "tool" || x.name == ""):
		return false, x.nameElement(e)
	case paramElements[e.fold] && !x.ownArgument(e), e.fold == "parameter" && named == "":
		if x.args != nil {
			return false, x.fail(Ambiguous, "the parameters are given twice")
		}
		return false, x.params(e)
	case thoughtNames[e.fold]:
		start := x.pos
		value, err := x.elementText(e)
		if err != nil && x.args != nil { // a quote or a tag in it put the reading off
			x.pos, err = start+e.n, nil
		}
		x.thoughts = append(x.thoughts, child{e.name, value})
		return false, err
	case given:
		return false, x.fail(Ambiguous, fmt.Sprintf("<%s> stands beside the parameters", clip(e.name)))
	}
	return false, x.argument(e)
}

// nested goes into a block in the block (B18).
func (x *resolver) nested(m mark) (done bool, err *readError) {
	x.pos += m.n
	x.attrs = append(x.attrs, m.attrs)
	if d := dialectOf[m.kind]; d != nil && m.kind != "invoke" {
		x.dialect = &dialect{name: x.dialect.name, read: x.dialect.read, edges: d.edges}
	}
	if m.name != "" {
		if err := x.setName(m.name); err != nil {
			return false, err
		}
	}
	x.blank()
	if rest := x.rest(); rest != "" && rest[0] != '<' {
		return true, x.content()
	}
	return false, nil
}

// remark skips words between the elements (P15). Words may announce the object
// (P9), but not stand for the parameters or between arguments.
func (x *resolver) remark(rest string) *readError {
	next := strings.IndexAny(rest[1:], "<{") + 1
	switch {
	case len(x.children) > 0 && x.args == nil:
		x.stray = true
		return x.fail(BadJSON, fmt.Sprintf("%q stands between the parameters", clip(rest)))
	case next == 0:
		next = len(rest)
	case rest[next] == '{' && x.args != nil:
	case rest[next] == '{' && !announces(rest[:next]):
		return x.fail(BadJSON, fmt.Sprintf("%q stands before the value", clip(rest)))
	case rest[next] == '{':
		x.repair("prose")
	}
	x.words = append(x.words, rest[:next])
	x.pos += next
	return nil
}

// announces reports whether words that stand before an object lead in to it.
func announces(words string) bool {
	return strings.HasSuffix(strings.TrimSpace(words), ":") && !strings.ContainsAny(words, `"'=`)
}

// unfinished decides a block that ended.
func (x *resolver) unfinished() *readError {
	switch {
	case x.args != nil && x.name != "":
	case !x.tagged && len(x.children) == 0:
		return x.cut()
	case x.name == "":
		return x.fail(NoName, "the call names no tool")
	case x.key != "":
		return x.fail(BadJSON, "<arg_key> and <arg_value> do not come in pairs")
	case len(x.words) > 0 && x.args == nil && len(x.children) == 0:
		return x.fail(BadJSON, fmt.Sprintf("%q stands where the parameters belong", clip(strings.TrimSpace(x.words[0]))))
	}
	return nil
}

// setName sets the tool's name, which must not contradict another (B22).
func (x *resolver) setName(name string) *readError {
	if x.name != "" && name != x.name {
		return x.fail(Ambiguous, "two tools are named in one call")
	}
	x.name = name
	return nil
}

// nameElement reads the tool's name. A name that was not closed ends with its
// line (B25).
func (x *resolver) nameElement(e elem) *readError {
	start := x.pos
	x.pos += e.n
	rest := x.rest()
	lead := len(rest) - len(trimSpace(rest))
	end := strings.IndexAny(rest[lead:], "<\n")
	if end < 0 && !x.closed {
		return x.cut()
	}
	if end < 0 {
		end = len(rest) - lead
	}
	x.pos += lead + end
	if err := x.setName(strings.TrimSpace(rest[lead : lead+end])); err != nil {
		err.pos = start
		return err
	}
	return nil
}

// params reads the parameters: JSON, elements, attributes, or nothing (P2).
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
	case rest[0] == '"': // P10
		value, _, err := x.read()
		if err == nil {
			err = x.take(value)
		}
		if err == nil {
			err = x.behind()
		}
		return err
	case rest[0] == '[':
		x.pos = start
		return x.fail(NotObject, "the parameters must be one JSON object")
	case ok && c.closing:
		x.args = json.RawMessage("{}")
		return nil
	case ok:
		return x.paramElements()
	}
	words, _, found := strings.Cut(rest, "<")
	switch word := strings.TrimSpace(words); {
	case word == "null" || word == "None":
		if !found && !x.closed {
			return x.cut()
		}
		x.pos += len(words)
		x.args = json.RawMessage("{}")
		return nil
	case json.Valid([]byte(word)): // P12
		return x.fail(NotObject, "the parameters must be one JSON object")
	}
	if brace := strings.IndexByte(words, '{'); brace >= 0 && announces(words[:brace]) {
		return x.remark(rest)
	}
	return x.fail(BadJSON, "the parameters are not a JSON object")
}

// paramElements reads arguments that have elements of their own, up to the end
// of the parameters (P4).
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
		if err := x.argument(e); err != nil {
			return err
		}
	}
}

// settle looks at all that was read beside the arguments, once the tool is
// known: none of it may be an argument that would be lost, nor be unknown (P14).
func (x *resolver) settle() *readError {
	for _, words := range x.words {
		if err := x.noArgument(words); err != nil {
			return err
		}
	}
	for _, attrs := range x.attrs {
		for key := range attributes(attrs) {
			if !knownAttrs[strings.ToLower(key)] || key != "" && !strings.EqualFold(key, "name") && x.property(key) != nil {
				return x.fail(Ambiguous, fmt.Sprintf("%q stands in a tag, beside the arguments", clip(key)))
			}
		}
	}
	for _, c := range x.thoughts {
		if x.property(c.name) != nil && !hasMember(x.args, c.name) {
			x.children = append(x.children, c)
		}
	}
	if x.args != nil && len(x.children) > 0 {
		return x.fail(Ambiguous, fmt.Sprintf("<%s> stands beside the parameters", clip(x.children[0].name)))
	}
	return nil
}

// noArgument looks for an argument among words that are left out: its name, and
// a colon or an equals sign.
func (x *resolver) noArgument(words string) *readError {
	const around = " \t\"'`*"
	for rest := words; ; {
		i := strings.IndexAny(rest, ":=")
		if i < 0 {
			return nil
		}
		before := strings.TrimRight(rest[:i], around)
		if strings.HasSuffix(before, ")") {
			before = strings.TrimRight(before[:max(0, strings.LastIndexByte(before, '('))], around)
		}
		at := len(before)
		for at > 0 && (isWord(before[at-1]) || before[at-1] == '-') {
			at--
		}
		if name := before[at:]; x.property(name) != nil {
			return x.fail(Ambiguous, fmt.Sprintf("%q stands beside the arguments", clip(name)))
		}
		rest = rest[i+1:]
	}
}

// schema is that of the tool, nil if it is not known.
func (x *resolver) schema() *jsonschema.Schema {
	if x.d.opts.Tools == nil {
		return nil
	}
	tool, _ := x.d.declared(tidyName(x.name))
	schema, _ := x.d.opts.Tools.Schema(tool)
	return schema
}

// property is the schema of an argument of the tool, nil if it declares none of
// that name.
func (x *resolver) property(name string) *jsonschema.Schema {
	schema := x.schema()
	if schema == nil {
		return nil
	}
	if p := schema.Properties[name]; p != nil {
		return p
	}
	if x.props == nil || x.props["/"] != schema {
		x.props = map[string]*jsonschema.Schema{"/": schema}
		for key, p := range schema.Properties {
			x.props[fold(key)] = p
		}
	}
	if name = fold(name); name == "" {
		return nil
	}
	return x.props[name]
}

// dropOwnName takes the tool's own name out of the arguments, where some models
// repeat it, unless the tool has an argument of that name (P13).
func (x *resolver) dropOwnName() {
	schema := x.schema()
	if schema == nil || schema.Properties["name"] != nil || len(schema.Properties) == 0 || !strings.Contains(string(x.args), `"name"`) {
		return
	}
	ms := split(x.args)
	for i, m := range ms {
		if m.key == "name" {
			if tool, _ := x.d.declared(tidyName(text(m.value))); tool == x.name {
				x.repair("name_in_arguments")
				x.args = join(append(ms[:i:i], ms[i+1:]...))
			}
			return
		}
	}
}
