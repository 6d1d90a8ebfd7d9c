package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// resolver reads the inside of a block, in whatever form a model gave it, and
// finds one call there. It is the only place that does: a block that came in
// pieces and one that came whole are read alike.
type resolver struct {
	d      *Decoder
	src    string
	pos    int
	closed bool // src ends where the block ends
	bare   bool // a call without tags: what follows it is for others to judge
	tagged bool // with a closing tag, so that what is not there was left out
	stray  bool // words stand where nothing but the end of the call belongs

	utf8    bool // src is UTF-8 throughout
	checked bool // that was looked at

	words []string // that were skipped
	attrs []string // of tags that may have attributes beside a name
	tail  string   // what stands behind a fence, backticks or CDATA that were taken off

	name     string
	args     json.RawMessage // nil: none yet
	children []child
	noise    []child // what is thought, unless the tool has an argument of that name
	key      string  // the key that an <arg_value> belongs to
	repairs  []Repair
}

// child is one argument that has an element of its own.
type child struct{ name, value string }

// maxRepairs bounds how many repairs are noted.
const maxRepairs = 1000

// mend notes a repair at pos.
func (x *resolver) mend(code string) {
	if len(x.repairs) >= maxRepairs {
		return
	}
	x.repairs = append(x.repairs, Repair{Code: code, Offset: int64(x.pos)})
}

func (x *resolver) fail(reason Reason, detail string) *readError {
	return &readError{reason: reason, pos: x.pos, detail: detail}
}

func (x *resolver) space() {
	for x.pos < len(x.src) && (isSpace(x.src[x.pos]) || strings.HasPrefix(x.src[x.pos:], "\ufeff")) {
		x.pos++
		for x.pos < len(x.src) && x.src[x.pos]&0xc0 == 0x80 {
			x.pos++
		}
	}
}

// blank moves past white space and HTML comments.
func (x *resolver) blank() {
	for x.space(); strings.HasPrefix(x.rest(), "<!--"); x.space() {
		_, after, ok := strings.Cut(x.rest(), "-->")
		if !ok {
			return
		}
		x.pos = len(x.src) - len(after)
	}
}

func (x *resolver) rest() string { return x.src[x.pos:] }

// call reads the block and returns its call.
func (x *resolver) call() (*ToolCall, *readError) {
	if err := x.content(); err != nil {
		return nil, err
	}
	if x.name == "" {
		x.pos = 0
		return nil, x.fail(NoName, "the call names no tool")
	}
	raw := x.name
	tool, known := x.d.declared(tidyName(raw))
	if known && tool != raw {
		x.mend("name")
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
	return &ToolCall{Name: x.name, Args: x.args, Repairs: x.repairs}, nil
}

// content reads whatever stands in a block.
func (x *resolver) content() *readError {
	x.blank()
	x.unwrap()
	x.blank()
	rest := x.rest()
	switch {
	case rest == "":
		if x.name != "" && x.tagged {
			return nil
		}
		if !x.tagged {
			return x.cut()
		}
		return x.fail(NoName, "the call is empty")
	case rest[0] == '<':
		return x.elements()
	case x.name != "" && rest[0] == '{':
		return x.object()
	case rest[0] == '{', rest[0] == '[' && !pythonList(rest):
		return x.envelope()
	case x.name != "" && !strings.Contains(rest, "("):
		return x.elements()
	}
	if at := strings.IndexAny(rest, "<{"); at > 0 && rest[at] == '<' {
		if e, ok := elemAt(rest[at:]); ok && !e.closing && nameElements[e.fold] { // words before the name
			x.words = append(x.words, rest[:at])
			x.pos += at
			return x.elements()
		}
	}
	if end := strings.IndexAny(rest, "\n<"); end > 0 && x.name == "" && isPath(strings.TrimSpace(rest[:end])) {
		if args := strings.TrimLeft(rest[end:], " \t\r\n"); args != "" && (args[0] == '{' || args[0] == '<') {
			x.mend("bare_name")
			x.name = strings.TrimSpace(rest[:end])
			x.pos = len(x.src) - len(args)
			return x.content()
		}
	}
	if x.bareName(rest) {
		return x.elements()
	}
	return x.python()
}

// bareName takes the name of a tool off that stands on a line of its own, before
// words, a fence or nothing.
func (x *resolver) bareName(rest string) bool {
	line, _, _ := strings.Cut(rest, "\n")
	name := strings.TrimSpace(line)
	if x.d.opts.Tools == nil || x.name != "" || !isPath(name) {
		return false
	}
	if _, known := x.d.declared(tidyName(name)); !known || !x.tagged && name == strings.TrimSpace(rest) {
		return false
	}
	x.mend("bare_name")
	x.name = name
	x.pos += len(line)
	return true
}

func (x *resolver) cut() *readError {
	return &readError{reason: Truncated, pos: len(x.src), detail: "the reply ended inside the call", cut: true}
}

// unwrap takes off what models put around a value: CDATA, code fences and
// backticks.
func (x *resolver) unwrap() {
	x.space()
	if after, ok := strings.CutPrefix(x.rest(), "<![CDATA["); ok {
		x.mend("cdata")
		x.pos = len(x.src) - len(after)
		if end := strings.LastIndex(after, "]]>"); end >= 0 {
			x.unwrapped(x.pos+end, len("]]>"))
		}
		x.space()
	}
	if after, ok := strings.CutPrefix(x.rest(), "```"); ok {
		x.mend("fence")
		line, _, _ := strings.Cut(after, "\n")
		if strings.TrimLeft(line, " \t") == line && !strings.ContainsAny(line, "{[<(") {
			x.pos += 3 + len(line)
		} else {
			x.pos += 3
		}
		if end := strings.LastIndex(x.rest(), "```"); end >= 0 {
			x.unwrapped(x.pos+end, len("```"))
		}
	} else if strings.HasPrefix(x.rest(), "`") {
		x.mend("backticks")
		x.pos++
		if end := strings.LastIndexByte(x.rest(), '`'); end >= 0 {
			x.unwrapped(x.pos+end, len("`"))
		}
	}
}

// unwrapped ends the source where what was put around it closes.
func (x *resolver) unwrapped(end, closer int) {
	x.tail = x.src[end+closer:] + x.tail
	x.src, x.closed = x.src[:end], true
}

// reader returns a reader of the value at pos.
func (x *resolver) reader() *reader {
	if !x.checked {
		x.checked, x.utf8 = true, utf8.ValidString(x.src)
	}
	return &reader{src: x.src, pos: x.pos, maxDepth: x.d.opts.MaxDepth, utf8: x.utf8}
}

// read reads one value at pos and moves behind it: strict JSON first, and what
// models make of it only if that fails.
func (x *resolver) read() (json.RawMessage, int, *readError) {
	r := x.reader()
	r.strict, r.out = true, make([]byte, 0, len(x.rest()))
	err := r.value(atTop)
	if err != nil && (!err.cut || x.closed || r.mendedAtAll()) || err == nil && r.mendedAtAll() {
		r = x.reader()
		r.closed = x.closed
		err = r.value(atTop)
	}
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
	args, missing, err := x.read()
	if err != nil {
		return err
	}
	if missing > 0 {
		x.pos = start
		return x.fail(BadJSON, "a closing brace is missing")
	}
	if x.args != nil {
		return x.fail(Ambiguous, "the parameters are given twice")
	}
	x.args = args
	if err := x.after(false); err != nil {
		return err
	}
	return x.around(x.rest(), false)
}

// after looks at what stands behind a value: nothing, a tag, or a remark on
// lines of its own. Closing braces too many are mended. Another value there
// makes arguments ambiguous, while several calls are no harm.
func (x *resolver) after(several bool) *readError {
	end := x.pos
	x.space()
	for strings.HasPrefix(x.rest(), "}") {
		x.mend("extra_brace")
		x.pos++
		end = x.pos
		x.space()
	}
	rest := x.rest()
	if x.bare || rest == "" || rest[0] == '<' || strings.HasPrefix(rest, "]]>") {
		return nil
	}
	remark, _, _ := strings.Cut(rest, "<")
	comment := rest[0] == '#' || strings.HasPrefix(rest, "//")
	switch {
	case !several && (rest[0] == '[' || strings.Contains(remark, "{")):
		return x.fail(Ambiguous, "a second value follows the first")
	case rest[0] == ',' || rest[0] == '"' || rest[0] == '\'':
	case blank(strings.TrimLeft(remark, "`")), comment, strings.Contains(x.src[end:x.pos], "\n"):
		return nil
	}
	return x.fail(BadJSON, fmt.Sprintf("%q follows the value", clip(rest)))
}

// dropOwnName takes the tool's own name out of the arguments, where some models
// repeat it, unless the tool has an argument of that name.
func (x *resolver) dropOwnName() {
	if x.d.opts.Tools == nil || !strings.Contains(string(x.args), `"name"`) {
		return
	}
	schema, ok := x.d.opts.Tools.Schema(x.name)
	if !ok || schema == nil || schema.Properties["name"] != nil || len(schema.Properties) == 0 {
		return
	}
	ms := members(x.args)
	for i, m := range ms {
		if m.key == "name" {
			if tool, _ := x.d.declared(tidyName(text(m.value))); tool == x.name {
				x.mend("name_in_arguments")
				x.args = join(append(ms[:i:i], ms[i+1:]...))
			}
			return
		}
	}
}
