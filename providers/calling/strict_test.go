package calling_test

import (
	"strings"
	"testing"

	"mylm/providers/calling"
)

// A type that does not exist is refused where it is one, and not where it is data.
func TestSchemaTypes(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"strin"}`:                                              `"strin" is not a type`,
		`{"type":["string","nul"]}`:                                     `"nul" is not a type`,
		`{"properties":{"a":{"items":{"type":"int"}}}}`:                 `"int" is not a type`,
		`{"anyOf":[{"type":"any"}]}`:                                    `"any" is not a type`,
		`{"$defs":{"type":{"type":"float"}}}`:                           `"float" is not a type`,
		`{"type":["string","null"]}`:                                    "",
		`{"properties":{"type":{"type":"string"}},"required":["type"]}`: "",
		`{"const":{"type":"car"},"enum":[{"type":"car"}]}`:              "",
	} {
		_, err := calling.ParseSchema([]byte(schema))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

// A key that is given twice has no certain value.
func TestRepeatedKeys(t *testing.T) {
	f, err := calling.NewFormat([]byte(`{"type":["object","array"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for answer, key := range map[string]string{
		`{"a":1,"a":2}`:                               "a",
		`[{"x":{"b":1,"c":[1,2],"b":3}}]`:             "b",
		`{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":"a"}`: "",
	} {
		_, problem := f.Read(answer)
		if key == "" && problem != "" || key != "" && !strings.Contains(problem, `the key "`+key+`" is given twice`) {
			t.Errorf("%s: %q", answer, problem)
		}
	}
}
