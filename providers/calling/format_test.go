package calling_test

import (
	"fmt"
	"strings"
	"testing"

	"mylm/providers/calling"
)

// Programs have schemas of their own making: a pattern that Go's expressions do not have is shown and
// not enforced there, and whatever draft a schema names, its values are checked.
func TestSchemasOfPrograms(t *testing.T) {
	const strange = `^(?!\\.)[a-z]+@[a-z]+$`
	const email = `{"type":"object","properties":{"to":{"type":"string","pattern":"` + strange + `"},"n":{"type":"string","pattern":"^.{1,2000}$"},"d":{"type":"string","pattern":"^[0-9]+$"}},"patternProperties":{"^(?=x)":{"type":"integer"}}}`
	if _, err := calling.NewFormat([]byte(email)); err == nil || !strings.Contains(err.Error(), "pattern") {
		t.Errorf("%v", err)
	}
	f, err := calling.ForeignFormat([]byte(email))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(f.Text()); text != email {
		t.Errorf("the model is shown %s", text)
	}
	if f.Constraint() != nil {
		t.Error("a backend is given patterns that it may not have")
	}
	for value, fits := range map[string]bool{`{"to":"a@b","n":"x","d":"1","x":1}`: true, `{"to":5}`: true, `{"to":[5]}`: false, `{"d":"x"}`: false} {
		if _, problem := f.Read(value); (problem == "") != fits {
			t.Errorf("%s: %q", value, problem)
		}
	}
	f, err = calling.ForeignFormat([]byte(`{"patternProperties":{"^(?=x)":{"type":"integer"}},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := f.Read(`{"x":1}`); problem != "" {
		t.Error(problem)
	}
	if _, err := calling.ForeignFormat([]byte(`{"type":"text"}`)); err == nil {
		t.Error("a type that does not exist")
	}
	for _, draft := range []string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#", "https://a.example",
		"http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-06/schema", "https://json-schema.org/draft-07/schema"} {
		f, err := calling.NewFormat([]byte(`{"$schema":"` + draft + `","type":"object","properties":{"a":{"type":"integer"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, problem := f.Read(`{"a":1}`); problem != "" {
			t.Errorf("%s: %s", draft, problem)
		}
		if _, problem := f.Read(`{"a":[]}`); problem == "" {
			t.Errorf("%s: nothing is checked", draft)
		}
	}
}

// Old drafts have tuples and dependencies where new ones have other words, however they are spelled.
func TestOldDrafts(t *testing.T) {
	for _, draft := range []string{"http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-06/schema#", "https://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema"} {
		f, err := calling.NewFormat([]byte(`{"$schema":"` + draft + `","properties":{"t":{"items":[{"type":"string"},{"type":"number"}]}},"dependencies":{"a":["b"]}}`))
		if err != nil {
			t.Fatal(err)
		}
		for value, fits := range map[string]bool{`{"t":["x",1]}`: true, `{"t":["x",["y"]]}`: false, `{"a":1}`: false, `{"a":1,"b":2}`: true} {
			if _, problem := f.Read(value); (problem == "") != fits {
				t.Errorf("%s: %s: %q", draft, value, problem)
			}
		}
	}
}

// A pattern that is dropped lets no value be refused that it would have taken, wherever it stands,
// and what has nothing to do with it is checked: of an answer and of arguments.
func TestDroppedPatterns(t *testing.T) {
	const odd = `"pattern":"^(?!x)"`
	for schema, values := range map[string][2]string{ // one that fits, and one that does not, "": none
		`{"properties":{"a":{"oneOf":[{"type":"string","pattern":"^(?!u-)[a-z]+$"},{"type":"string","pattern":"^u-"}]}}}`:                                                    {`{"a":"u-1"}`, `{"a":[5]}`},
		`{"properties":{"a":{"oneOf":[{"$ref":"#/$defs/A"},{"type":"string"}],"anyOf":[{"maxLength":2}]}},"$defs":{"A":{"type":"string",` + odd + `}}}`:                      {`{"a":"xy"}`, `{"a":"xyz"}`},
		`{"propertyNames":{` + odd + `,"maxLength":2},"additionalProperties":{"type":"number"}}`:                                                                             {`{"a":1}`, `{"abc":1}`},
		`{"properties":{"a":{"prefixItems":[{"type":"string",` + odd + `}]}}}`:                                                                                               {`{"a":["x"]}`, `{"a":[[5]]}`},
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"string",` + odd + `}],"additionalItems":{"type":"string",` + odd + `}}}}`: {`{"a":["b","c"]}`, `{"a":["b",[5]]}`},
		`{"properties":{"a":{"contains":{"type":"string",` + odd + `},"maxContains":1}}}`:                                                                                    {`{"a":["x","b"]}`, `{"a":[5]}`},
		`{"if":{"properties":{"a":{` + odd + `}}},"then":{"required":["b"]},"required":["a"]}`:                                                                               {`{"a":"x"}`, `{"b":1}`},
		`{"if":{"required":["a"]},"then":{"properties":{"b":{"type":"string",` + odd + `}}},"else":{"properties":{"b":{"type":"integer",` + odd + `}}}}`:                     {`{"a":1,"b":"x"}`, `{"b":"y"}`},
		`{"dependentSchemas":{"a":{"properties":{"b":{"type":"string",` + odd + `}}}}}`:                                                                                      {`{"a":1,"b":"b"}`, `{"a":1,"b":[5]}`},
		`{"patternProperties":{"^(?!x)":{"type":"number"}},"unevaluatedProperties":false}`:                                                                                   {`{"a":1}`, ``},
		`{"properties":{"a":{"type":"integer"}},"unevaluatedProperties":{"type":"string",` + odd + `}}`:                                                                      {`{"b":"b"}`, `{"a":[5]}`},
		`{"not":{"properties":{"a":{` + odd + `}},"required":["a"]},"properties":{"b":{"type":"integer"}}}`:                                                                  {`{"a":"x"}`, `{"b":[5]}`},
		`{"not":{"not":{"properties":{"a":{` + odd + `}}}}}`:                                                                                                                 {`{"a":"b"}`, ``},
	} {
		f, err := calling.ForeignFormat([]byte(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		ask := func(value string) bool {
			m := &fake{replies: []string{called("f", value)}}
			got := generate(t.Context(), &calling.Model{Model: m}, calling.Request{Messages: []calling.Message{user("x")}, Tools: []calling.Tool{{Name: "f", Schema: []byte(schema)}}})
			return got.calls != ""
		}
		if _, problem := f.Read(values[0]); problem != "" || !ask(values[0]) {
			t.Errorf("%s: %s: %s", schema, values[0], problem)
		}
		if _, problem := f.Read(values[1]); values[1] != "" && (problem == "" || ask(values[1])) {
			t.Errorf("%s: %s is taken", schema, values[1])
		}
	}
}

// What is wrong with a schema is said in the words of JSON Schema.
func TestSchemaErrors(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`: `"exclusiveMinimum" is true, as in draft 4 of JSON Schema: make it the number, in place of "minimum"`,
		`{"exclusiveMaximum":false}`:                                 `"exclusiveMaximum" is false, as in draft 4 of JSON Schema: leave it out`,
		`{"properties":{"n":{"minimum":"5"}}}`:                       `it is not a JSON Schema: its "minimum" is a JSON string, which that keyword cannot be`,
		`{"properties":{"n":5}}`:                                     `it is not a JSON Schema: `,
		`{"properties":[5]}`:                                         `it is not a JSON Schema: its "properties" is a JSON array, which that keyword cannot be`,
		`[5]`:                                                        `it is not a JSON Schema: it is a JSON array`,
		`{"required":[5]}`:                                           `it is not a JSON Schema: its "required" is a JSON number, which that keyword cannot be`,
	} {
		_, err := calling.ForeignFormat([]byte(schema))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "without") {
			t.Errorf("%s: %v", schema, err)
		}
	}
	if _, err := calling.ForeignFormat([]byte(`{"properties":{"exclusiveMinimum":{"type":"boolean","default":true}},"default":{"exclusiveMinimum":true}}`)); err != nil {
		t.Error(err)
	}
}

// A schema that would overflow the stack of the check, or make it last for ever, is
// refused; one that leads back to itself by way of a value is not.
func TestParseSchema(t *testing.T) {
	defs := `"d0":{"type":"string"}`
	for i := 1; i < 40; i++ {
		defs += fmt.Sprintf(`,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1)
	}
	for text, want := range map[string]string{
		`{"$ref":"#"}`: "leads back to itself",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`:                       "leads back to itself",
		`{"properties":{"x":{"$ref":"#/properties/x"}}}`:                                                                     "leads back to itself",
		`{"$ref":"#/$defs/d39","$defs":{` + defs + `}}`:                                                                      "too many alternatives",
		`{"$ref":"#/$defs/none"}`:                                                                                            "leads nowhere",
		`{"$ref":"https://example.com/s"}`:                                                                                   "not one to a place in the schema",
		strings.Repeat(`{"not":`, 8000) + "{}" + strings.Repeat("}", 8000):                                                   "more than 100 deep",
		`{"description":"` + strings.Repeat("x", 65<<10) + `"}`:                                                              "more than 65536",
		`{"type":"object","properties":{"next":{"$ref":"#"},"value":{"$ref":"#/$defs/v"}},"$defs":{"v":{"type":"integer"}}}`: "",
	} {
		if _, err := calling.ParseSchema([]byte(text)); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}
