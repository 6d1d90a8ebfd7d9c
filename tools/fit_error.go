package tools

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// ArgError reports that arguments do not conform to a tool's schema, in words
// that a small model can act on.
type ArgError struct {
	Tool      string  // the tool's name; "" if only a schema was given
	Faults    []Fault // every fault, up to a hundred
	Signature string  // the tool's parameters: "(path: string, start_line?: integer)"
}

// maxListed is how many errors Error lists. Most calls have one; a model that
// gets a long list corrects the last of it and forgets the first.
const maxListed = 5

// Error lists the first errors, each with the argument, the given and the
// wanted value, and below them how to call the tool.
func (e *ArgError) Error() string {
	faults := make([]string, 0, maxListed+1)
	for _, f := range e.Faults[:min(len(e.Faults), maxListed)] {
		faults = append(faults, f.String())
	}
	if more := len(e.Faults) - maxListed; more > 0 {
		faults = append(faults, fmt.Sprintf("and %d more", more))
	}
	return "invalid arguments: " + strings.Join(faults, "; ") + "\nUsage: " + e.Tool + e.Signature
}

// String describes the error in one line.
func (f Fault) String() string {
	path := f.Path
	if path == "" {
		path = "the arguments"
	}
	switch {
	case f.Code == "unknown":
		return fmt.Sprintf("%s: no such argument, %s", path, f.Wanted)
	case f.Given == "":
		return fmt.Sprintf("%s: missing, want %s", path, f.Wanted)
	}
	return fmt.Sprintf("%s: got %s, want %s", path, f.Given, f.Wanted)
}

// wanted describes what the keyword called code requires.
func (f *fitter) wanted(code string, s *jsonschema.Schema) string {
	switch code {
	case "enum":
		return "one of " + list(s.Enum, ", ")
	case "const":
		return show(*s.Const)
	case "minimum":
		return "at least " + formatFloat(*s.Minimum)
	case "maximum":
		return "at most " + formatFloat(*s.Maximum)
	case "exclusiveMinimum":
		return "more than " + formatFloat(*s.ExclusiveMinimum)
	case "exclusiveMaximum":
		return "less than " + formatFloat(*s.ExclusiveMaximum)
	case "minLength":
		return fmt.Sprintf("at least %d characters", *s.MinLength)
	case "maxLength":
		return fmt.Sprintf("at most %d characters", *s.MaxLength)
	case "minItems":
		return fmt.Sprintf("at least %d items", *s.MinItems)
	case "maxItems":
		return fmt.Sprintf("at most %d items", *s.MaxItems)
	case "pattern":
		return "text that matches " + s.Pattern
	case "range":
		return fmt.Sprintf("an integer of at most %d digits", maxInteger)
	case "false":
		return "nothing here"
	case "not":
		return "another value"
	case "oneOf":
		return "exactly one of " + describe(f.root, s, 0)
	}
	return describe(f.root, s, 0)
}

// maxKnown is how many argument names a fault lists; the signature below has
// them all.
const maxKnown = 12

// otherwise suggests the argument to use instead of an unknown one.
func otherwise(near, known []string) string {
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(known) == 0 || len(known) > maxKnown {
		return "leave it out"
	}
	return "there are " + strings.Join(known, ", ")
}

// Signature writes a tool as a function: read_file(path: string, limit?:
// integer). A question mark marks optional parameters. The parameters are in
// the schema's own order if it has one, otherwise the required ones come first.
func Signature(name string, s *jsonschema.Schema) string {
	if s == nil {
		return name + "()"
	}
	top := s
	if target := (&fitter{root: s}).resolve(s); target != nil && len(s.Properties) == 0 {
		top = target
	}
	var params []string
	for _, p := range order(top) {
		mark := "?"
		if slices.Contains(top.Required, p) {
			mark = ""
		}
		params = append(params, p+mark+": "+describe(s, top.Properties[p], 0))
	}
	return name + "(" + strings.Join(params, ", ") + ")"
}

// order lists the properties of s: its own order, the required, the rest.
func order(s *jsonschema.Schema) []string {
	var names []string
	for _, group := range [][]string{s.PropertyOrder, s.Required, slices.Sorted(maps.Keys(s.Properties))} {
		for _, name := range group {
			if _, ok := s.Properties[name]; ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxEnum is how many values of an enum a signature shows.
const maxEnum = 8

// describe names the type of s: string, integer[], "a"|"b", string|null.
func describe(root, s *jsonschema.Schema, depth int) string {
	if s == nil || depth > 4 {
		return "any"
	}
	switch {
	case s.Const != nil:
		return show(*s.Const)
	case len(s.Enum) > 0 && len(s.Enum) <= maxEnum:
		return list(s.Enum, "|")
	case s.Type != "":
		return typeText(root, s, s.Type, depth)
	case len(s.Types) > 0:
		names := make([]string, len(s.Types))
		for i, t := range s.Types {
			names[i] = typeText(root, s, t, depth)
		}
		return strings.Join(names, "|")
	case s.Ref != "":
		return describe(root, (&fitter{root: root}).resolve(s), depth+1)
	}
	for _, subs := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		if len(subs) > 0 {
			return alternatives(root, subs, depth)
		}
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return "any"
}

func alternatives(root *jsonschema.Schema, subs []*jsonschema.Schema, depth int) string {
	var names []string
	for _, sub := range subs {
		if name := describe(root, sub, depth+1); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

func typeText(root, s *jsonschema.Schema, word string, depth int) string {
	switch name := typeName(word); name {
	case "":
		return "any"
	case "array":
		if item := describe(root, s.Items, depth+1); item != "any" && !strings.Contains(item, "|") {
			return item + "[]"
		}
		return name
	default:
		return name
	}
}

func list(values []any, separator string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = show(v)
	}
	return strings.Join(texts, separator)
}

// Example writes arguments that show the shape a schema wants: its required
// properties with placeholders, or all of them if none is required. They are
// for a model to look at: they fit the schema as far as types, bounds and words go.
func Example(s *jsonschema.Schema) string {
	names := s.Required
	if len(names) == 0 {
		names = s.PropertyOrder
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(show(name) + ":")
		b.WriteString(placeholder(s.Properties[name]))
	}
	b.WriteByte('}')
	return b.String()
}

func placeholder(s *jsonschema.Schema) string {
	if s == nil {
		return `"..."`
	}
	if len(s.Enum) > 0 {
		return show(s.Enum[0])
	}
	kind := s.Type
	if i := slices.IndexFunc(s.Types, func(t string) bool { return t != "null" }); i >= 0 {
		kind = s.Types[i]
	}
	switch kind {
	case "integer", "number":
		n := 1.0
		if s.Minimum != nil && n < *s.Minimum {
			n = math.Ceil(*s.Minimum)
		}
		if s.Maximum != nil && n > *s.Maximum {
			n = math.Floor(*s.Maximum)
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	case "boolean":
		return "true"
	case "array":
		return "[" + placeholder(s.Items) + "]"
	case "object":
		return Example(&jsonschema.Schema{Required: s.Required, Properties: s.Properties, PropertyOrder: s.PropertyOrder})
	}
	return `"..."`
}
