package calling

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Definition is a tool as the model is shown it.
type Definition struct {
	Name        string
	Description string
	Schema      *jsonschema.Schema // of the parameters; nil: none
	JSON        json.RawMessage    // the schema as somebody else wrote it, shown in place of Schema; nil: Schema
}

// markup escapes what XML demands and no more, since every character is paid for by
// the model.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")

// EncodeSchema writes the JSON Schema of the tool's arguments; {} if it has none.
func (t Definition) EncodeSchema() ([]byte, error) {
	switch {
	case t.JSON != nil:
		return t.JSON, nil
	case t.Schema == nil:
		return []byte("{}"), nil
	}
	schema, err := encodeSchema(t.Schema)
	if err != nil {
		return nil, fmt.Errorf("tool %q: its schema cannot be written as JSON: %w", t.Name, err)
	}
	return schema, nil
}

// encodeSchema writes what MarshalJSON does, which takes half a millisecond to
// get to know the sixty fields that a schema may have. It writes those of tools.
func encodeSchema(s *jsonschema.Schema) ([]byte, error) {
	if s.Not != nil && reflect.DeepEqual(*s, jsonschema.Schema{Not: &jsonschema.Schema{}}) {
		return []byte("false"), nil // as MarshalJSON writes it: no other properties
	}
	rest := *s
	rest.Type, rest.Properties, rest.PropertyOrder, rest.Items, rest.Description = "", nil, nil, nil, ""
	rest.Enum, rest.Minimum, rest.Maximum, rest.Required, rest.AdditionalProperties = nil, nil, nil, nil, nil
	if s.Type == "" || !reflect.ValueOf(rest).IsZero() || len(s.PropertyOrder) != len(s.Properties) {
		return s.MarshalJSON()
	}
	var failed error
	out := []byte("{")
	member := func(name string, value any) {
		text, err := []byte(nil), error(nil)
		if schema, ok := value.(*jsonschema.Schema); ok {
			text, err = encodeSchema(schema)
		} else {
			text, err = json.Marshal(value)
		}
		failed = cmp.Or(failed, err)
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name) // a string can be written
		out = append(append(append(out, key...), ':'), text...)
	}
	member("type", s.Type)
	if s.Properties != nil {
		out = append(out, `,"properties":{`...)
		for i, name := range s.PropertyOrder {
			property := s.Properties[name]
			if property == nil || slices.Contains(s.PropertyOrder[:i], name) {
				return s.MarshalJSON()
			}
			member(name, property)
		}
		out = append(out, '}')
	}
	if s.Items != nil {
		member("items", s.Items)
	}
	if s.Description != "" {
		member("description", s.Description)
	}
	if len(s.Enum) > 0 {
		member("enum", s.Enum)
	}
	if s.Minimum != nil {
		member("minimum", s.Minimum)
	}
	if s.Maximum != nil {
		member("maximum", s.Maximum)
	}
	if len(s.Required) > 0 {
		member("required", s.Required)
	}
	if s.AdditionalProperties != nil {
		member("additionalProperties", s.AdditionalProperties)
	}
	return append(out, '}'), failed
}
