package calling_test

import (
	"fmt"
	"strings"
	"testing"

	"mylm/providers/calling"
)

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
