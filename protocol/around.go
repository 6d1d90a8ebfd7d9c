package protocol

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// What stands around the arguments of a call is a remark, or noise, or a call
// of its own. None of it may be an argument that would be lost, or a word that
// speaks against the call.

// around looks at what stands behind the arguments, or what was taken off
// around them. several says that a value there is another call.
func (x *resolver) around(s string, several bool) *readError {
	if x.bare || x.name == "" {
		return nil
	}
	other := false // another name came
	for s != "" {
		i := strings.IndexByte(s, '<')
		words := s
		if i >= 0 {
			words = s[:i]
		}
		words, _, value := strings.Cut(words, "{")
		if !other && x.tagged {
			if err := x.remark(words); err != nil {
				return err
			}
		}
		switch {
		case value && several, i < 0 && !value:
			return nil
		case value && !other && x.tagged:
			return x.fail(Ambiguous, "a second value stands beside the arguments")
		case i < 0:
			return nil
		}
		s = s[i:]
		if _, after, ok := strings.Cut(s[:min(len(s), maxElem)], "-->"); ok && strings.HasPrefix(s, "<!--") {
			s = s[min(len(s), maxElem)-len(after):]
			continue
		}
		e, ok := elemAt(s[:min(len(s), maxTag)])
		if !ok {
			s = s[1:]
			continue
		}
		m, _ := matchTag(s[:e.n])
		s = s[e.n:]
		switch {
		case e.closing, e.empty && x.property(e.argument()) == nil:
		case m.tag == toolOpen, other && paramElements[e.fold]:
			return nil
		case nameElements[e.fold]:
			other = true
		case paramElements[e.fold], e.fold == "argkey", e.fold == "argvalue", x.property(e.argument()) != nil:
			return x.fail(Ambiguous, fmt.Sprintf("<%s> stands behind the parameters", clip(e.name)))
		default:
			inside, n := insideOf(e, s)
			if err := x.aside(child{e.name, inside}); err != nil {
				return err
			}
			s = s[n:]
		}
	}
	return nil
}

// insideOf is the text of an element that begins s, up to its closing tag, and
// the length of both; nothing if that is not near.
func insideOf(e elem, s string) (inside string, n int) {
	for at := 0; at < min(len(s), maxElem); at++ {
		if s[at] != '<' {
			continue
		}
		if c, ok := elemAt(s[at:min(len(s), at+maxTag)]); ok && c.closing && c.fold == e.fold {
			return s[:at], at + c.n
		}
	}
	return "", 0
}

// aside looks at an element that is no argument: a thought is left out, a remark
// looked at. One word is a value, such as that of <approved>.
func (x *resolver) aside(c child) *readError {
	if noise[fold(c.name)] || !strings.ContainsAny(strings.TrimSpace(c.value), " \n") {
		return nil
	}
	return x.remark(c.value)
}

// remark looks at words beside the arguments.
func (x *resolver) remark(words string) *readError {
	if blank(words) {
		return nil
	}
	if denies(words) {
		return x.fail(Ambiguous, fmt.Sprintf("%q beside the call speaks against it", clip(strings.TrimSpace(words))))
	}
	for rest := words; ; {
		i := strings.IndexAny(rest, ":=")
		if i < 0 {
			return nil
		}
		if name := lastWord(rest[:i]); x.property(name) != nil {
			return x.fail(Ambiguous, fmt.Sprintf("%q stands beside the arguments", clip(name)))
		}
		rest = rest[i+1:]
	}
}

// lastWord is the word that words end with, without what may be put around it
// or, in parentheses, behind it.
func lastWord(words string) string {
	const around = " \t\"'`*"
	words = strings.TrimRight(words, around)
	if strings.HasSuffix(words, ")") {
		words = strings.TrimRight(words[:max(0, strings.LastIndexByte(words, '('))], around)
	}
	i := len(words)
	for i > 0 && (isWord(words[i-1]) || words[i-1] == '-') {
		i--
	}
	return words[i:]
}

// denies reports whether words may say that a call is not meant.
func denies(words string) bool {
	words = strings.ToLower(words)
	if strings.Contains(words, "n't") || strings.Contains(words, "n’t") || strings.Contains(words, "e.g") {
		return true
	}
	for w := range strings.FieldsFuncSeq(words, func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch w {
		case "not", "no", "never", "avoid", "wrong", "incorrect", "instead", "rather", "example", "instance", "outdated":
			return true
		}
	}
	return false
}

// announces reports whether words that stand before an object lead in to it.
func announces(words string) bool {
	words = strings.TrimSpace(words)
	return strings.HasSuffix(words, ":") && !strings.ContainsAny(words, `"'=`) && !denies(words)
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
	for key, p := range schema.Properties {
		if fold(key) == fold(name) && fold(name) != "" {
			return p
		}
	}
	return nil
}

// settle looks at all that was read beside the arguments, once the tool is known.
func (x *resolver) settle() *readError {
	for _, words := range x.words {
		if err := x.remark(words); err != nil {
			return err
		}
	}
	for _, attrs := range x.attrs {
		for key := range attributes(attrs) {
			if key != "" && !strings.EqualFold(key, "name") && x.property(key) != nil {
				return x.fail(Ambiguous, fmt.Sprintf("%q stands in a tag, beside the arguments", clip(key)))
			}
		}
	}
	given := map[string]bool{}
	if x.args != nil && len(x.noise)+len(x.children) > 0 {
		for _, m := range members(x.args) {
			given[fold(m.key)] = true
		}
	}
	for _, n := range x.noise {
		if x.property(n.name) != nil && !given[fold(n.name)] {
			x.children = append(x.children, n)
		}
	}
	if x.args != nil {
		for _, c := range x.children {
			if x.d.opts.Tools == nil || x.property(c.name) != nil {
				return x.fail(Ambiguous, fmt.Sprintf("<%s> stands beside the parameters", clip(c.name)))
			}
			if err := x.aside(c); err != nil {
				return err
			}
		}
		x.children = nil
	}
	if x.tail != "" {
		return x.around(x.tail, false)
	}
	return nil
}

// clip shortens what is shown of a reply.
func clip(s string) string {
	if len(s) > 20 {
		s = strings.ToValidUTF8(s[:20], "") + "…"
	}
	return s
}
