package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/beevik/etree"
	"github.com/google/jsonschema-go/jsonschema"
)

// Definition is a tool as the model is shown it.
type Definition struct {
	Name        string
	Description string
	Schema      *jsonschema.Schema // of the parameters; nil: none
}

// EncodeTools writes the <tool_definitions> block (E2): one <tool> element a tool,
// with its name, description and JSON Schema. Only what XML demands is escaped,
// since every character is paid for by the model. It fails if a schema cannot
// be written as JSON.
func EncodeTools(tools []Definition) (string, error) {
	doc := etree.NewDocument()
	doc.WriteSettings.CanonicalText = true
	root := doc.CreateElement("tool_definitions")
	for _, t := range tools {
		root.CreateText("\n")
		e := root.CreateElement("tool")
		e.CreateElement("name").SetText(t.Name)
		e.CreateElement("description").SetText(t.Description)
		schema := []byte("{}")
		if t.Schema != nil {
			var err error
			if schema, err = encodeSchema(t.Schema); err != nil {
				return "", fmt.Errorf("tool %q: its schema cannot be written as JSON: %w", t.Name, err)
			}
		}
		e.CreateElement("parameters").SetText(string(schema))
	}
	root.CreateText("\n")
	return doc.WriteToString()
}

// toolSchema is what schemas of tools are made of, in the order in which a
// jsonschema.Schema writes it.
type toolSchema struct {
	Type                 string          `json:"type"`
	Properties           json.RawMessage `json:"properties,omitempty"`
	Items                json.RawMessage `json:"items,omitempty"`
	Description          string          `json:"description,omitempty"`
	Enum                 []any           `json:"enum,omitempty"`
	Required             []string        `json:"required,omitempty"`
	AdditionalProperties json.RawMessage `json:"additionalProperties,omitempty"`
}

// encodeSchema writes what MarshalJSON does, which takes half a millisecond to
// get to know the sixty fields that a schema may have. It writes those of tools.
func encodeSchema(s *jsonschema.Schema) (_ []byte, err error) {
	if s == nil {
		return nil, nil
	}
	if s.Not != nil && reflect.DeepEqual(*s, jsonschema.Schema{Not: &jsonschema.Schema{}}) {
		return []byte("false"), nil // as MarshalJSON writes it: no other properties
	}
	rest := *s
	rest.Type, rest.Properties, rest.PropertyOrder, rest.Items, rest.Description = "", nil, nil, nil, ""
	rest.Enum, rest.Required, rest.AdditionalProperties = nil, nil, nil
	if s.Type == "" || !reflect.ValueOf(rest).IsZero() || len(s.PropertyOrder) != len(s.Properties) {
		return s.MarshalJSON()
	}
	out := toolSchema{Type: s.Type, Description: s.Description, Enum: s.Enum, Required: s.Required}
	for i, name := range s.PropertyOrder {
		property, ok := s.Properties[name]
		if !ok || property == nil || slices.Contains(s.PropertyOrder[:i], name) {
			return s.MarshalJSON()
		}
		key, err1 := json.Marshal(name)
		value, err2 := encodeSchema(property)
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
		out.Properties = slices.Concat(out.Properties, []byte(","), key, []byte(":"), value)
	}
	if s.Properties != nil {
		out.Properties = slices.Concat([]byte("{"), bytes.TrimPrefix(out.Properties, []byte(",")), []byte("}"))
	}
	if out.Items, err = encodeSchema(s.Items); err != nil {
		return nil, err
	}
	if out.AdditionalProperties, err = encodeSchema(s.AdditionalProperties); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// EncodeCall writes a call in mylm's own form (E1), as the model is asked to write
// it. args must be a JSON object.
func EncodeCall(name string, args json.RawMessage) string {
	return fmt.Sprintf("<tool_code>\n<name>%s</name>\n<parameters>%s</parameters>\n</tool_code>", name, args)
}

// EncodeObservation writes what a call gave back as the model is told it (E3):
// "[name] Success:" and the output on the lines below it, or "[name] Error:"
// and the message. Tags in the body are neutralised, so that no output can
// close the observation, open a call or forge an answer.
func EncodeObservation(name string, success bool, body string) string {
	head := "Error: "
	if success {
		head = "Success:\n"
	}
	name = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '[' || r == ']' {
			return '_'
		}
		return r
	}, name)
	return "<observation>\n[" + Neutralise(name) + "] " + head + Neutralise(body) + "\n</observation>"
}
