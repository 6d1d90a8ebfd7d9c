package tools

import (
	"cmp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// coerce writes v in a type that s allows, if that loses nothing. A value that
// conforms already stays what it is; only 1e2 and 5.0 become 100 and 5 where an
// integer is wanted, since Go reads them into no integer.
func (f *fitter) coerce(s *jsonschema.Schema, allowed types, v *node, at loc) *node {
	out := v
	switch {
	case allowed.any:
	case v.kind == isNumber && allowed.integer:
		out = cmp.Or(integer(v), v)
	case v.kind == isNumber && allowed.kinds == isString:
		out = stringNode(string(v.raw))
	case v.kind == isString && allowed.kinds&isString == 0:
		out = fromText(v, allowed, maxDepth-at.depth)
	}
	if s.Enum != nil {
		out = enumCase(s.Enum, out)
	}
	if out != v {
		f.repaired(at, Coerced, string(v.bytes()), string(out.bytes()))
	}
	return out
}

// integer writes an integral number without point and exponent. It returns nil
// if that has more digits than maxInteger.
func integer(v *node) *node {
	literal := string(v.raw)
	if !strings.ContainsAny(literal, ".eE") {
		return v
	}
	d := parseDecimal(literal)
	if !d.isInteger() {
		return v
	}
	if s := d.integer(); s != "" {
		return numberNode(s)
	}
	return nil
}

// pythonWords are Python's spellings of JSON's words.
var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

// fromText reads the JSON value that a string holds, if it is of an allowed type.
func fromText(v *node, allowed types, depth int) *node {
	text := strings.TrimSpace(v.text)
	if word, ok := pythonWords[text]; ok {
		text = word
	}
	if text == "" || text[0] == '"' {
		return v
	}
	w, err := parse([]byte(text), depth)
	if err != nil || !allowed.has(w) {
		return v
	}
	if allowed.integer && w.kind == isNumber {
		return cmp.Or(integer(w), v)
	}
	return w
}

// enumCase returns the only string of enum that is v in another case, else v.
func enumCase(enum []any, v *node) *node {
	if v.kind != isString || inEnum(enum, v) {
		return v
	}
	hit := ""
	for _, e := range enum {
		if s, ok := e.(string); ok && strings.EqualFold(s, v.text) {
			if hit != "" {
				return v
			}
			hit = s
		}
	}
	if hit == "" {
		return v
	}
	return stringNode(hit)
}
