package calling

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/tools"

	"github.com/google/jsonschema-go/jsonschema"
)

// Form is how calls are shown to a model: in the definitions of the tools, in the
// example, in corrections, and in its own replies of earlier turns. What a model
// writes is read in every form, whatever it is shown. The zero value is ToolCode.
type Form string

// The forms.
const (
	ToolCode  Form = "tool_code"  // mylm's own, and the default: protocol/SPEC.md
	ToolCall  Form = "tool_call"  // <tool_call>{"name": …, "arguments": …}</tool_call>, as Hermes and Qwen were trained
	Function  Form = "function"   // <function=name><parameter=key>value, as Qwen3-Coder was
	Invoke    Form = "invoke"     // <invoke name="…"><parameter name="…">value, as Claude was
	PythonTag Form = "python_tag" // the bare {"name": …, "parameters": …} of Llama 3
)

// Forms lists the forms, the default one first.
func Forms() []Form { return []Form{ToolCode, ToolCall, Function, Invoke, PythonTag} }

// ParseForm returns the form of a name; "" is ToolCode.
func ParseForm(name string) (Form, error) {
	if name == "" {
		return ToolCode, nil
	}
	if f := Form(name); slices.Contains(Forms(), f) {
		return f, nil
	}
	return "", fmt.Errorf("there is no form %q of calls; there are %v", name, Forms())
}

// Call writes a call. args must be a JSON object. A call whose arguments the form
// cannot hold, since a text in them ends it, is written in mylm's own form.
func (f Form) Call(name string, args json.RawMessage) string {
	switch f {
	case ToolCall:
		return "<tool_call>\n{\"name\": " + quoted(name) + ", \"arguments\": " + string(args) + "}\n</tool_call>"
	case PythonTag:
		return "{\"name\": " + quoted(name) + ", \"parameters\": " + string(args) + "}"
	case Function:
		if text, ok := elements(args, "<parameter=%s>\n%s\n</parameter>\n"); ok {
			return "<tool_call>\n<function=" + name + ">\n" + text + "</function>\n</tool_call>"
		}
	case Invoke:
		if text, ok := elements(args, "<parameter name=\"%s\">%s</parameter>\n"); ok {
			return "<function_calls>\n<invoke name=\"" + name + "\">\n" + text + "</invoke>\n</function_calls>"
		}
	}
	return protocol.EncodeCall(name, args)
}

// End is the tag that ends a call, "" for a form without one.
func (f Form) End() string {
	switch f {
	case ToolCall, Function:
		return "</tool_call>"
	case Invoke:
		return "</function_calls>"
	case PythonTag:
		return ""
	}
	return "</tool_code>"
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string can be written
	return string(b)
}

// elements writes arguments as one element each: texts as they are, other values as
// JSON. It reports false if they cannot be read back: a name or a text that the
// element would not hold.
func elements(args json.RawMessage, form string) (string, bool) {
	var values map[string]json.RawMessage
	if json.Unmarshal(args, &values) != nil {
		return "", false
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := string(values[name])
		if strings.HasPrefix(text, `"`) {
			if json.Unmarshal(values[name], &text) != nil || !plainText(text) {
				return "", false
			}
		}
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return "", false
		}
		fmt.Fprintf(&b, form, name, text)
	}
	return b.String(), true
}

// plainText reports whether a text can be the content of an element: it has none of
// the tags by which a call is read and no token of a turn, and neither begins nor ends
// with space, which readers of these forms may drop. A text that looks like a number, and
// code, can: a reader goes by the schema, and does not unescape; so do the models that
// learned these forms.
func plainText(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && strings.ToValidUTF8(s, "") == s && !callTags().MatchString(s) && protocol.NeutraliseTokens(s) == s
}

// callTags finds what may be a tag of a call in any form, or a delimiter of a chat.
var callTags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<\s*/?\s*(parameter|arg|function|invoke|tool|think|observation|action|final|answer|!|\|)`)
})

// Prompt fills in what the system template of a set needs to show tools in a form, with
// the use of one of them as an example; nil: there is none. It fails if a schema
// cannot be written as JSON. compact is the notation for a small window.
func (f Form) Prompt(d *prompts.SystemData, set *prompts.Set, defs []Definition, sample *tools.Tool, compact bool) error {
	own := set.Path(prompts.SystemPrompt) != "" // a template that may show anything
	d.Form, d.Compact = string(f), compact
	if f == "" {
		d.Form = string(ToolCode)
	}
	d.Call, d.End = f.Call("TOOL_NAME", []byte(`{"ARGUMENT": "VALUE"}`)), f.End()
	for _, def := range defs {
		t, err := describe(def, f != "" && f != ToolCode || own, compact || own)
		if err != nil {
			return err
		}
		d.Tools = append(d.Tools, t)
	}
	if sample != nil && sample.Sample != nil && !compact {
		x := sample.Sample
		d.Example = &prompts.Example{
			Question: x.Question, Call: f.Call(sample.Name, x.Args), Observation: protocol.EncodeObservation(sample.Name, true, x.Result), Answer: x.Answer,
		}
	}
	return nil
}

// describe is a tool as a template shows it: what is not shown costs time.
func describe(def Definition, asJSON, asSignature bool) (t prompts.Tool, err error) {
	if def.Schema = slimmed(def.Schema); def.Schema != nil && def.Schema.Type == "object" && len(def.Schema.Properties) > 0 {
		def.JSON, err = untyped(def)
		if err != nil {
			return t, err
		}
	}
	schema, err := def.EncodeSchema()
	if err != nil {
		return t, err
	}
	if asJSON {
		text := `{"type": "function", "function": {"name": ` + quoted(def.Name) + `, "description": ` + quotedPlain(def.Description) + `, "parameters": ` + string(schema) + `}}`
		t.JSON = string(protocol.EscapeTokens([]byte(text)))
	}
	schema, def.Description = protocol.EscapeTokens(schema), protocol.NeutraliseTokens(def.Description)
	t.Name, t.Description, t.Parameters = markup.Replace(def.Name), markup.Replace(def.Description), markup.Replace(string(schema))
	if !asSignature {
		return t, nil
	}
	if def.Schema == nil && def.JSON != nil {
		def.Schema = parseLenient(def.JSON)
	}
	t.Signature = protocol.Neutralise(signature(def))
	return t, nil
}

// untyped is the schema of a tool without its type, which is object for every tool.
func untyped(def Definition) (json.RawMessage, error) {
	text, err := def.EncodeSchema()
	return []byte(strings.Replace(string(text), `"type":"object",`, "", 1)), err
}

// quotedPlain quotes a text without escapes for HTML.
func quotedPlain(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be written
	return strings.TrimSuffix(b.String(), "\n")
}

// slimmed is a schema without what a model need not read: that no other properties
// are allowed, which holds for every tool and which the engine checks, and that null
// stands for an absent value.
func slimmed(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := *s
	if a := c.AdditionalProperties; a != nil && a.Not != nil {
		c.AdditionalProperties = nil
	}
	if len(c.Types) == 2 && slices.Contains(c.Types, "null") {
		c.Type = c.Types[0]
		if c.Type == "null" {
			c.Type = c.Types[1]
		}
		c.Types = nil
	}
	c.Schema = ""
	c.Items = slimmed(c.Items)
	if c.Properties != nil {
		c.Properties = maps.Clone(c.Properties)
		for name, p := range c.Properties {
			c.Properties[name] = slimmed(p)
		}
	}
	return &c
}

// signature is the compact notation of a tool: its name, its arguments with their
// types, ? behind the name of one that may be left out, and the descriptions.
func signature(def Definition) string {
	var b strings.Builder
	b.WriteString(def.Name + "(" + fields(def.Schema) + ")")
	if def.Description != "" {
		b.WriteString(": " + def.Description)
	}
	return b.String()
}

// fields are the properties of a schema in the compact notation.
func fields(s *jsonschema.Schema) string {
	if s == nil {
		return ""
	}
	names := s.PropertyOrder
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	var all []string
	for _, name := range names {
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		text := name + mark
		if of := typeName(s.Properties[name]); of != "string" {
			text += " " + of
		}
		if p := s.Properties[name]; p != nil && p.Description != "" {
			text += " (" + strings.Join(strings.Fields(p.Description), " ") + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// typeName is the type of a value in the compact notation.
func typeName(s *jsonschema.Schema) string {
	switch {
	case s == nil:
		return "any"
	case len(s.Enum) > 0:
		var all []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				all = append(all, text)
			} else {
				all = append(all, fmt.Sprint(v))
			}
		}
		return strings.Join(all, "|")
	case s.Type == "array":
		return typeName(s.Items) + "[]"
	case s.Type == "object" && len(s.Properties) > 0:
		return "{" + fields(s) + "}"
	case s.Type == "integer":
		text := "int"
		if s.Minimum != nil && s.Maximum != nil {
			text = strconv.FormatFloat(*s.Minimum, 'f', -1, 64) + "-" + strconv.FormatFloat(*s.Maximum, 'f', -1, 64)
		}
		return text
	case s.Type == "boolean":
		return "bool"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

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
