package calling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/protocol"
	"mylm/tools"
)

// toolset is the tools of one request, as the decoder looks them up. Schemas are
// read when they are needed, which is for the one tool that is called.
type toolset struct {
	names  []string
	byName map[string]*offer
}

// offer is a tool of somebody else.
type offer struct {
	Tool
	parse func() (closed, open *jsonschema.Schema)
	whole func() *Format // for what tools.Fit does not know; nil: there is nothing, or it cannot be read
}

// unfitted begin the keywords that tools.Fit does not know.
var unfitted = []string{`"if":`, `"contains":`, `"dependent`, `"maxProperties":`, `"minProperties":`, `"propertyNames":`, `"unevaluated`, `"uniqueItems":`}

func newToolset(all []Tool) (*toolset, error) {
	set := &toolset{byName: make(map[string]*offer, len(all))}
	for i, t := range all {
		where := fmt.Sprintf("tools[%d]", i)
		switch {
		case strings.TrimSpace(t.Name) == "":
			return nil, bad(where, "it has no name")
		case strings.ContainsAny(t.Name, "<>\r\n"):
			return nil, bad(where, "no call can hold its name, %q", t.Name)
		case protocol.NeutraliseTokens(t.Name) != t.Name:
			return nil, bad(where, "its name, %q, holds a token of chat templates", t.Name)
		case set.byName[t.Name] != nil:
			return nil, bad(where, "two tools are called %q", t.Name)
		}
		var compact bytes.Buffer
		raw := bytes.TrimSpace(t.Schema)
		if len(raw) == 0 || string(raw) == "null" {
			raw = []byte("{}")
		}
		if err := json.Compact(&compact, raw); err != nil || raw[0] != '{' {
			return nil, bad(where, "the schema of %s is not a JSON object", t.Name)
		}
		t.Schema = compact.Bytes()
		set.names = append(set.names, t.Name)
		set.byName[t.Name] = &offer{t, sync.OnceValues(func() (closed, open *jsonschema.Schema) {
			return parseLenient(t.Schema), opened(parseLenient(t.Schema))
		}), sync.OnceValue(func() (whole *Format) {
			if slices.ContainsFunc(unfitted, func(key string) bool { return bytes.Contains(t.Schema, []byte(key)) }) {
				whole, _ = ForeignFormat(t.Schema)
			}
			return whole
		})}
	}
	return set, nil
}

// only is the toolset without the tools that are not named.
func (s *toolset) only(names []string) (*toolset, error) {
	if len(names) == 0 {
		return s, nil
	}
	few := &toolset{byName: map[string]*offer{}}
	for _, name := range names {
		if s.byName[name] == nil {
			return nil, bad("tool_choice", "it names %q, which is none of the tools", name)
		}
		few.byName[name] = s.byName[name]
	}
	few.names = slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return few.byName[name] == nil })
	return few, nil
}

// Names lists the tools.
func (s *toolset) Names() []string { return s.names }

// Schema returns the schema of the tool of that name.
func (s *toolset) Schema(name string) (*jsonschema.Schema, bool) {
	o, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	closed, _ := o.parse()
	return closed, true
}

// definitions are the tools as the model is shown them.
func (s *toolset) definitions() []Definition {
	defs := make([]Definition, len(s.names))
	for i, name := range s.names {
		t := s.byName[name]
		defs[i] = Definition{Name: t.Name, Description: t.Description, JSON: t.Tool.Schema}
	}
	return defs
}

// fit makes the arguments of a call fit its tool. Arguments that the schema does not
// declare pass unless it forbids them, as JSON Schema has it.
func (s *toolset) fit(name string, args json.RawMessage) (json.RawMessage, error) {
	o := s.byName[name]
	if o == nil {
		return nil, tools.Unknown(name, s.names)
	}
	closed, open := o.parse()
	fitted, _, fault := tools.Fit(closed, args)
	if fault != nil {
		fitted, _, fault = tools.Fit(open, args)
	}
	if fault != nil {
		fault.Tool = name
		return nil, fault
	}
	if whole := o.whole(); whole != nil {
		if problem := whole.validate(fitted); problem != "" {
			return nil, fmt.Errorf("the arguments of %s do not fit its schema: %s", name, problem)
		}
	}
	var line bytes.Buffer
	err := json.Compact(&line, fitted)
	return line.Bytes(), err
}

// parseLenient reads a schema. What cannot be read of it is left out, since clients
// pass on whatever their own tools declare; nil accepts everything.
func parseLenient(raw json.RawMessage) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if json.Unmarshal(raw, s) == nil {
		return loosened(nullable(s))
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	plain := &jsonschema.Schema{}
	for _, key := range []string{"type", "description", "enum", "required"} {
		if one, err := json.Marshal(map[string]json.RawMessage{key: fields[key]}); err == nil && fields[key] != nil {
			part := *plain
			if json.Unmarshal(one, &part) == nil {
				plain = &part
			}
		}
	}
	var properties map[string]json.RawMessage
	if json.Unmarshal(fields["properties"], &properties) == nil && len(properties) > 0 {
		plain.Properties = map[string]*jsonschema.Schema{}
		for name, property := range properties {
			if plain.Properties[name] = parseLenient(property); plain.Properties[name] == nil {
				plain.Properties[name] = &jsonschema.Schema{}
			}
		}
	}
	if fields["items"] != nil {
		plain.Items = parseLenient(fields["items"])
	}
	return plain
}

// opened lets objects have what their schema does not declare, unless it forbids that.
func opened(s *jsonschema.Schema) *jsonschema.Schema {
	each(s, func(s *jsonschema.Schema) {
		if len(s.Properties) > 0 && s.AdditionalProperties == nil && s.UnevaluatedProperties == nil {
			s.AdditionalProperties = &jsonschema.Schema{}
		}
	})
	return s
}

// nullable reads nullable, as OpenAPI 3.0 and programs that have their schemas from there
// write that a value may be null, whatever else its schema says.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	each(s, func(s *jsonschema.Schema) {
		if s.Extra["nullable"] != true {
			return
		}
		if s.Type != "" {
			s.Type, s.Types = "", []string{s.Type}
		}
		if len(s.Types) > 0 && !slices.Contains(s.Types, "null") {
			s.Types = append(s.Types, "null")
		}
		if s.Const != nil && len(s.Enum) == 0 {
			s.Enum, s.Const = []any{*s.Const}, nil
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
			s.Enum = append(s.Enum, nil)
		}
		rest := jsonschema.Schema{Ref: s.Ref, DynamicRef: s.DynamicRef, AllOf: s.AllOf, OneOf: s.OneOf, Not: s.Not, If: s.If, Then: s.Then, Else: s.Else, Const: s.Const}
		if !reflect.ValueOf(rest).IsZero() {
			rest.AnyOf, s.AnyOf = s.AnyOf, []*jsonschema.Schema{&rest}
			s.Ref, s.DynamicRef, s.AllOf, s.OneOf, s.Not, s.If, s.Then, s.Else, s.Const = "", "", nil, nil, nil, nil, nil, nil, nil
		}
		if len(s.AnyOf) > 0 {
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: "null"})
		}
	})
	return s
}

// compiles reports whether Go's regular expressions have all that a pattern has.
func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// loosened drops the patterns that Go's expressions do not have, and whatever would refuse values
// without them: where one is dropped, or may be behind a reference, the alternatives of a oneOf are
// those of an anyOf, and a not, a condition, the most that an array may contain, and what is said
// of values that nothing else describes say nothing.
func loosened(s *jsonschema.Schema) *jsonschema.Schema {
	dropped := map[*jsonschema.Schema]bool{}
	each(s, func(s *jsonschema.Schema) {
		if !compiles(s.Pattern) {
			s.Pattern, dropped[s] = "", true
		}
		n := len(s.PatternProperties)
		maps.DeleteFunc(s.PatternProperties, func(name string, _ *jsonschema.Schema) bool { return !compiles(name) })
		if len(s.PatternProperties) < n {
			s.AdditionalProperties, dropped[s] = nil, true // any may be one of those
		}
	})
	if len(dropped) == 0 {
		return s
	}
	loose := func(all ...*jsonschema.Schema) (found bool) {
		for _, s := range all {
			each(s, func(s *jsonschema.Schema) { found = found || dropped[s] || s.Ref != "" || s.DynamicRef != "" })
		}
		return found
	}
	each(s, func(s *jsonschema.Schema) {
		s.UnevaluatedProperties, s.UnevaluatedItems = nil, nil
		if loose(s.OneOf...) {
			s.AllOf, s.OneOf = append(s.AllOf, &jsonschema.Schema{AnyOf: s.OneOf}), nil
		}
		if loose(s.Not) {
			s.Not = nil
		}
		if loose(s.If) {
			s.If, s.Then, s.Else = nil, nil, nil
		}
		if loose(s.Contains) {
			s.MaxContains = nil
		}
	})
	return s
}

// each visits a schema and those in it.
func each(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	for _, below := range []map[string]*jsonschema.Schema{s.Properties, s.Defs, s.Definitions, s.PatternProperties, s.DependentSchemas, s.DependencySchemas} {
		for _, sub := range below {
			each(sub, visit)
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems, s.ItemsArray, {s.Items, s.AdditionalItems, s.UnevaluatedItems, s.Contains},
		{s.AdditionalProperties, s.UnevaluatedProperties, s.PropertyNames, s.Not, s.If, s.Then, s.Else}} {
		for _, sub := range list {
			each(sub, visit)
		}
	}
}
