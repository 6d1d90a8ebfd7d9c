package protocol

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// What stands around the arguments of a call is a remark, or noise, or a call
// of its own. None of it may be an argument that would be lost, or a word that
// speaks against the call.

// around looks at what stands behind the arguments, or behind what was taken off
// around them. several says that a value there is another call.
func (x *resolver) around(s string, several bool) *readError {
	if x.bare || x.name == "" {
		return nil
	}
	other := false // another name came: what follows is of its call
	for s != "" {
		words, tag := s, ""
		if i := strings.IndexByte(s, '<'); i >= 0 {
			words, tag = s[:i], s[i:]
		}
		words, _, value := strings.Cut(words, "{")
		if x.tagged && !other {
			if err := x.remark(words); err != nil {
				return err
			}
			if value && !several {
				return x.fail(Ambiguous, "a second value stands beside the arguments")
			}
		}
		if value && several || tag == "" {
			return nil
		}
		var err *readError
		if s, err = x.behind(tag, &other); err != nil {
			return err
		}
	}
	return nil
}

// behind looks at the tag that begins s, behind the arguments, and returns what
// follows it: nothing if that is another call.
func (x *resolver) behind(s string, other *bool) (rest string, err *readError) {
	if head := s[:min(len(s), maxElem)]; strings.HasPrefix(s, "<!--") {
		if end := strings.Index(head, "-->"); end >= 0 {
			return s[end+len("-->"):], nil
		}
	}
	e, ok := elemAt(s[:min(len(s), maxTag)])
	if !ok {
		return s[1:], nil
	}
	m, _ := matchTag(s[:e.n])
	rest = s[e.n:]
	declared := x.property(e.argument()) != nil
	switch {
	case e.closing, e.empty && !declared:
		return rest, nil
	case m.tag == toolOpen, *other && paramElements[e.fold]:
		return "", nil
	case nameElements[e.fold]:
		*other = true
		return rest, nil
	case declared, paramElements[e.fold], e.fold == "argkey", e.fold == "argvalue":
		return "", x.fail(Ambiguous, fmt.Sprintf("<%s> stands behind the parameters", clip(e.name)))
	}
	inside, n := insideOf(e, rest)
	return rest[n:], x.aside(child{e.name, inside})
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
	words = strings.ReplaceAll(strings.ToLower(words), "’", "'")
	inWord := func(r rune) bool { return 'a' <= r && r <= 'z' || r == '\'' || r == '.' }
	for w := range strings.FieldsFuncSeq(words, func(r rune) bool { return !inWord(r) }) {
		switch w = strings.Trim(w, ".'"); w {
		case "not", "no", "never", "avoid", "wrong", "incorrect", "instead", "rather", "example", "instance", "outdated", "e.g":
			return true
		}
		if strings.HasSuffix(w, "n't") {
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
	for _, n := range x.noise {
		if x.property(n.name) != nil && !hasMember(x.args, n.name) {
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
	return x.around(x.tail, false)
}

// clip shortens what is shown of a reply.
func clip(s string) string {
	if len(s) > 20 {
		s = strings.ToValidUTF8(s[:20], "") + "…"
	}
	return s
}
