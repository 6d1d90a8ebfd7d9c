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
	for _, draft := range []string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#", "https://a.example"} {
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
