package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Example writes arguments that show the shape a schema wants: its required
// properties with placeholders, or all of them if none is required. They are
// for a model to look at, and need not be valid.
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
		key, _ := json.Marshal(name) // a string always can be
		b.Write(key)
		b.WriteByte(':')
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
		if b, err := json.Marshal(s.Enum[0]); err == nil {
			return string(b)
		}
	}
	switch s.Type {
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	case "array":
		return "[" + placeholder(s.Items) + "]"
	case "object":
		return "{}"
	}
	return `"..."`
}
