package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/tools"
)

func schema(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	return s
}

// one is the schema of a single optional argument a.
func one(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }

func TestFitCoerces(t *testing.T) {
	tests := []struct {
		name, schema, args, want string
		repairs                  []string // "path code from to"
	}{
		{"string to integer", one(`{"type":"integer"}`), `{"a":"5"}`, `{"a": 5}`, []string{`a coerced "5" 5`}},
		{"string with spaces", one(`{"type":"integer"}`), `{"a":" 5 "}`, `{"a": 5}`, []string{`a coerced " 5 " 5`}},
		{"string to big integer", one(`{"type":"integer"}`), `{"a":"123456789012345678901234567890"}`, `{"a": 123456789012345678901234567890}`, []string{`a coerced "123456789012345678901234567890" 123456789012345678901234567890`}},
		{"string to number keeps its literal", one(`{"type":"number"}`), `{"a":"1.50"}`, `{"a": 1.50}`, []string{`a coerced "1.50" 1.50`}},
		{"exponent to integer", one(`{"type":"integer"}`), `{"a":1e2}`, `{"a": 100}`, []string{`a coerced 1e2 100`}},
		{"point to integer", one(`{"type":"integer"}`), `{"a":-5.0}`, `{"a": -5}`, []string{`a coerced -5.0 -5`}},
		{"zero with a point", one(`{"type":"integer"}`), `{"a":0.0}`, `{"a": 0}`, []string{`a coerced 0.0 0`}},
		{"text with a point to integer", one(`{"type":"integer"}`), `{"a":"5.0"}`, `{"a": 5}`, []string{`a coerced "5.0" 5`}},
		{"true", one(`{"type":"boolean"}`), `{"a":"true"}`, `{"a": true}`, []string{`a coerced "true" true`}},
		{"True", one(`{"type":"boolean"}`), `{"a":"True"}`, `{"a": true}`, []string{`a coerced "True" true`}},
		{"None where null may be", one(`{"type":["integer","null"]}`), `{"a":"None"}`, `{"a": null}`, []string{`a coerced "None" null`}},
		{"object in a string", one(`{"type":"object"}`), `{"a":"{\"b\":[1]}"}`, `{"a": {"b":[1]}}`, []string{`a coerced "{\"b\":[1]}" {"b":[1]}`}},
		{"array in a string", one(`{"type":"array","items":{"type":"integer"}}`), `{"a":"[1, \"2\"]"}`, `{"a": [1, 2]}`, []string{`a coerced "[1, \"2\"]" [1, "2"]`, `a[1] coerced "2" 2`}},
		{"number literal to string", one(`{"type":"string"}`), `{"a":5.10}`, `{"a": "5.10"}`, []string{`a coerced 5.10 "5.10"`}},
		{"enum in another case", one(`{"type":"string","enum":["GET","POST"]}`), `{"a":"get"}`, `{"a": "GET"}`, []string{`a coerced "get" "GET"`}},
		{"number to an enum of strings", one(`{"type":"string","enum":["1","2"]}`), `{"a":1}`, `{"a": "1"}`, []string{`a coerced 1 "1"`}},
		{"optional in anyOf", one(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), `{"a":"5"}`, `{"a": 5}`, []string{`a coerced "5" 5`}},
		{"exponent in anyOf", one(`{"anyOf":[{"type":"null"},{"type":"integer"}]}`), `{"a":1e2}`, `{"a": 100}`, []string{`a coerced 1e2 100`}},
		{"two ways to the same value", one(`{"anyOf":[{"type":"integer"},{"type":"number"}]}`), `{"a":"5"}`, `{"a": 5}`, []string{`a coerced "5" 5`}},
		{"through a reference", `{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"5"}`, `{"a": 5}`, []string{`a coerced "5" 5`}},
		{"through the place of its first use", `{"type":"object","properties":{"from":{"type":"object","properties":{"at":{"anyOf":[{"type":"integer"},{"type":"null"}]}}},"to":{"$ref":"#/properties/from"},"all":{"type":"array","items":{"$ref":"#/properties/from/properties/at/anyOf/0"}}}}`, `{"to":{"at":"5"},"all":["6"]}`, `{"to": {"at": 5}, "all": [6]}`, []string{`to.at coerced "5" 5`, `all[0] coerced "6" 6`}},
		{"through a name that is escaped in URLs", `{"$defs":{"a b/~c":{"type":"integer"}},"type":"object","properties":{"a":{"$ref":"#/$defs/a%20b~1~0c"}}}`, `{"a":"5"}`, `{"a": 5}`, []string{`a coerced "5" 5`}},
		{"through definitions", `{"definitions":{"n/m":{"type":"integer"}},"type":"object","properties":{"a":{"$ref":"#/definitions/n~1m"}}}`, `{"a":"5"}`, `{"a": 5}`, []string{`a coerced "5" 5`}},
		{"additional ones", one(`{"type":"object","additionalProperties":{"type":"integer"}}`), `{"a":{"x":"1"}}`, `{"a": {"x": 1}}`, []string{`a.x coerced "1" 1`}},
		{"name in another spelling", one(`{"type":"integer"}`), `{"A":1}`, `{"a": 1}`, []string{`a renamed A a`}},
		{"name with an escaped underscore", `{"properties":{"start_line":{"type":"integer"}}}`, `{"start\\_line":8}`, `{"start_line": 8}`, []string{`start_line renamed start\_line start_line`}},
		{"name in another style", `{"properties":{"start_line":{}},"required":["start_line"],"additionalProperties":false}`, `{"startLine":8}`, `{"start_line": 8}`, []string{`start_line renamed startLine start_line`}},
		{"Python's type names", `{"type":"dict","properties":{"n":{"type":"float"},"l":{"type":"tuple","items":{"type":"any"}}}}`, `{"n":"2.5","l":"[1,true]"}`, `{"n": 2.5, "l": [1,true]}`, []string{`n coerced "2.5" 2.5`, `l coerced "[1,true]" [1,true]`}},
		{"order stays", `{"properties":{"a":{},"b":{"type":"integer"},"c":{}}}`, `{"c":1, "b":"2", "a":3}`, `{"c": 1, "b": 2, "a": 3}`, []string{`b coerced "2" 2`}},
		{"the whole in a string", one(`{"type":"integer"}`), `"{\"a\":1}"`, `{"a":1}`, []string{` coerced "{\"a\":1}" {"a":1}`}},
		{"null for no arguments", `{"type":"object","properties":{"a":{}}}`, `null`, `{}`, []string{` coerced null {}`}},
		{"nothing for no arguments", `{"type":"object"}`, ` `, `{}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, repairs, err := tools.Fit(schema(t, tt.schema), json.RawMessage(tt.args))
			if err != nil {
				t.Fatalf("Fit(%s) = %v", tt.args, err)
			}
			if string(got) != tt.want {
				t.Errorf("Fit(%s) = %s, want %s", tt.args, got, tt.want)
			}
			var made []string
			for _, r := range repairs {
				made = append(made, fmt.Sprintf("%s %s %s %s", r.Path, r.Code, r.From, r.To))
			}
			if !slices.Equal(made, tt.repairs) {
				t.Errorf("repairs %q, want %q", made, tt.repairs)
			}
			again, repairs, err := tools.Fit(schema(t, tt.schema), got)
			if err != nil || len(repairs) > 0 || string(again) != string(got) {
				t.Errorf("Fit of its own result %s = %s, %v, %v", got, again, repairs, err)
			}
		})
	}
}

func TestFitLeavesWhatConforms(t *testing.T) {
	tests := []struct{ name, schema, args string }{
		{"spaces", one(`{}`), " { \"a\" :\t1 } "},
		{"string that looks like a number", one(`{"type":"string"}`), `{"a":"5"}`},
		{"string that looks like null", one(`{"type":["string","null"]}`), `{"a":"null"}`},
		{"string that looks like a list", one(`{"type":["string","array"]}`), `{"a":"[1]"}`},
		{"big integer", one(`{"type":"integer"}`), `{"a":123456789012345678901234567890}`},
		{"point where a number is wanted", one(`{"type":"number"}`), `{"a":5.0}`},
		{"exact enum beside another case", one(`{"enum":["a","A"]}`), `{"a":"a"}`},
		{"open object", `{"properties":{"a":{}},"additionalProperties":true}`, `{"A":1,"b":2}`},
		{"no properties declared", `{"type":"object","properties":{}}`, `{"b":2}`},
		{"matching pattern property", `{"properties":{"a":{}},"patternProperties":{"^x-":{}}}`, `{"x-b":2}`},
		{"names from allOf", `{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, `{"a":1,"b":2}`},
		{"names from anyOf", `{"properties":{"a":{}},"anyOf":[{"properties":{"b":{}}},{"properties":{"c":{}}}]}`, `{"a":1,"b":2}`},
		{"names from a reference", `{"$defs":{"d":{"properties":{"b":{}}}},"$ref":"#/$defs/d"}`, `{"b":2}`},
		{"recursive", `{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},"$ref":"#/$defs/n"}`, `{"v":1,"next":{"v":2,"next":{"v":3}}}`},
		{"reference to the root", `{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}}`, `{"v":1,"next":{"v":2}}`},
		{"reference in a circle", `{"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}},"$ref":"#/$defs/x"}`, `{"v":1}`},
		{"unknown type word", one(`{"type":"datetime"}`), `{"a":1}`},
		{"pattern that Go cannot read", one(`{"pattern":"^(?=x)"}`), `{"a":"y"}`},
		{"runes are counted", one(`{"minLength":2,"maxLength":2}`), `{"a":"日本"}`},
		{"prefix items", one(`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`), `{"a":["x",1,2]}`},
		{"enum of objects", one(`{"enum":[{"x":[1,null]}]}`), `{"a":{"x":[1.0,null]}}`},
		{"const null", one(`{"const":null}`), `{"a":null}`},
		{"bounds are inclusive", one(`{"minimum":0.1,"maximum":0.1}`), `{"a":0.1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, repairs, err := tools.Fit(schema(t, tt.schema), json.RawMessage(tt.args))
			if err != nil || len(repairs) > 0 || string(got) != tt.args {
				t.Errorf("Fit(%s) = %s, %v, %v; want the same bytes", tt.args, got, repairs, err)
			}
		})
	}
	if got, _, err := tools.Fit(nil, json.RawMessage(`[1]`)); err != nil || string(got) != `[1]` {
		t.Errorf("Fit with a nil schema = %s, %v", got, err)
	}
}

func TestFitFaults(t *testing.T) {
	tests := []struct {
		name, schema, args string
		want               []string // "path code"
	}{
		{"rounding", one(`{"type":"integer"}`), `{"a":3.7}`, []string{"a type"}},
		{"rounding in a string", one(`{"type":"integer"}`), `{"a":"3.7"}`, []string{"a type"}},
		{"words", one(`{"type":"integer"}`), `{"a":"a few"}`, []string{"a type"}},
		{"leading zero", one(`{"type":"integer"}`), `{"a":"05"}`, []string{"a type"}},
		{"yes is not true", one(`{"type":"boolean"}`), `{"a":"yes"}`, []string{"a type"}},
		{"1 is not true", one(`{"type":"boolean"}`), `{"a":1}`, []string{"a type"}},
		{"true is not text", one(`{"type":"string"}`), `{"a":true}`, []string{"a type"}},
		{"object is not text", one(`{"type":"string"}`), `{"a":{"b":1}}`, []string{"a type"}},
		{"null where none may be", one(`{"type":"integer"}`), `{"a":"null"}`, []string{"a type"}},
		{"null is no argument", one(`{"type":"string"}`), `{"a":null}`, []string{"a type"}},
		{"None is no list", one(`{"type":"array","items":{"type":"string"}}`), `{"a":"None"}`, []string{"a type"}},
		{"several values are not one", one(`{"type":"array","items":{"type":"string"}}`), `{"a":"x, y"}`, []string{"a type"}},
		{"lone value for a list", one(`{"type":"array","items":{"type":"string"}}`), `{"a":"urgent"}`, []string{"a type"}},
		{"lone value of the wrong type", one(`{"type":"array","items":{"type":"integer"}}`), `{"a":"x"}`, []string{"a type"}},
		{"lone value for a list of lists", one(`{"type":"array","items":{"type":"array"}}`), `{"a":1}`, []string{"a type"}},
		{"lone values in a list of lists", one(`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`), `{"a":["x > 1","y"]}`, []string{"a[0] type", "a[1] type"}},
		{"broken object in a string", one(`{"type":"object"}`), `{"a":"{\"b\":"}`, []string{"a type"}},
		{"enum", one(`{"enum":["GET","POST"]}`), `{"a":"FETCH"}`, []string{"a enum"}},
		{"enum in two other cases", one(`{"enum":["Get","GET"]}`), `{"a":"get"}`, []string{"a enum"}},
		{"const", one(`{"const":3}`), `{"a":4}`, []string{"a const"}},
		{"missing", `{"properties":{"a":{},"b":{}},"required":["a","b"]}`, `{}`, []string{"a required", "b required"}},
		{"nothing given", `{"properties":{"a":{}},"required":["a"]}`, ``, []string{"a required"}},
		{"null given", `{"type":"object","properties":{"a":{}},"required":["a"]}`, `null`, []string{"a required"}},
		{"unknown", one(`{}`), `{"b":1}`, []string{"b unknown"}},
		{"unknown, forbidden", `{"additionalProperties":false}`, `{"b":1}`, []string{"b unknown"}},
		{"unknown, nested", one(`{"properties":{"x":{}}}`), `{"a":{"y":1}}`, []string{"a.y unknown"}},
		{"unknown, in the chosen alternative", one(`{"anyOf":[{"type":"null"},{"properties":{"x":{}}}]}`), `{"a":{"y":1}}`, []string{"a.y unknown"}},
		{"two spellings of one name", one(`{}`), `{"A":1,"a_":2}`, []string{"A unknown", "a_ unknown"}},
		{"another spelling of a given name", one(`{}`), `{"a":1,"A":2}`, []string{"A unknown"}},
		{"items", one(`{"items":{"type":"object","properties":{"n":{"type":"integer"}}}}`), `{"a":[{"n":1},{"n":"x"},{"n":[]}]}`, []string{"a[1].n type", "a[2].n type"}},
		{"prefix items", one(`{"prefixItems":[{"type":"string"}],"items":false}`), `{"a":[[],2]}`, []string{"a[0] type", "a[1] false"}},
		{"bounds", `{"properties":{"a":{"minimum":1},"b":{"maximum":1},"c":{"exclusiveMinimum":1},"d":{"exclusiveMaximum":1}}}`, `{"a":0.999,"b":1.001,"c":1.0,"d":1e0}`, []string{"a minimum", "b maximum", "c exclusiveMinimum", "d exclusiveMaximum"}},
		{"bounds below zero", `{"properties":{"a":{"minimum":-2},"b":{"maximum":-2},"c":{"minimum":-20},"d":{"maximum":-0.1}}}`, `{"a":-3,"b":-1.5,"c":-3,"d":-0.2}`, []string{"a minimum", "b maximum"}},
		{"bounds beyond float64", one(`{"type":"integer","maximum":9007199254740992}`), `{"a":9007199254740993}`, []string{"a maximum"}},
		{"huge exponent", one(`{"maximum":1}`), `{"a":1e999999999}`, []string{"a maximum"}},
		{"exponent beyond int64", one(`{"minimum":1}`), `{"a":1e-99999999999999999999}`, []string{"a minimum"}},
		{"integer too long to write out", one(`{"type":"integer"}`), `{"a":1e999999999}`, []string{"a range"}},
		{"lengths", `{"properties":{"a":{"minLength":2},"b":{"maxLength":1},"c":{"minItems":1},"d":{"maxItems":1}}}`, `{"a":"x","b":"xy","c":[],"d":[1,2]}`, []string{"a minLength", "b maxLength", "c minItems", "d maxItems"}},
		{"pattern", one(`{"pattern":"^[a-z]+$"}`), `{"a":"A1"}`, []string{"a pattern"}},
		{"anyOf", one(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), `{"a":"x"}`, []string{"a anyOf"}},
		{"anyOf, one of the right type", one(`{"anyOf":[{"type":"integer","minimum":5},{"type":"null"}]}`), `{"a":1}`, []string{"a minimum"}},
		{"anyOf, two ways", one(`{"anyOf":[{"type":"boolean"},{"type":"string","enum":["TRUE"]}]}`), `{"a":"true"}`, []string{"a anyOf"}},
		{"oneOf, both", one(`{"oneOf":[{"type":"integer"},{"type":"number"}]}`), `{"a":1}`, []string{"a oneOf"}},
		{"allOf", one(`{"allOf":[{"minimum":1},{"maximum":3}]}`), `{"a":4}`, []string{"a maximum"}},
		{"not", one(`{"not":{"type":"string"}}`), `{"a":"x"}`, []string{"a not"}},
		{"false", one(`false`), `{"a":1}`, []string{"a false"}},
		{"not an object", `{"type":"object"}`, `[1]`, []string{" type"}},
		{"not JSON", `{"type":"object"}`, `{"a":}`, []string{" json"}},
		{"cut", `{"type":"object"}`, `{"a":"x`, []string{" json"}},
		{"white space that is not JSON's", `{}`, "0\v", []string{" json"}},
		{"two values", `{"type":"object"}`, `{} {}`, []string{" json"}},
		{"too deep", one(`{}`), `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, []string{" depth"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, repairs, err := tools.Fit(schema(t, tt.schema), json.RawMessage(tt.args))
			if err == nil {
				t.Fatalf("Fit(%s) = %s, %v; want faults %q", tt.args, got, repairs, tt.want)
			}
			var faults []string
			for _, f := range err.Faults {
				faults = append(faults, f.Path+" "+f.Code)
				if f.Wanted == "" {
					t.Errorf("fault %+v does not say what is wanted", f)
				}
			}
			slices.Sort(faults)
			if !slices.Equal(faults, tt.want) {
				t.Errorf("Fit(%s): faults %q, want %q", tt.args, faults, tt.want)
			}
			if got != nil {
				t.Errorf("Fit(%s) returned %s together with faults", tt.args, got)
			}
		})
	}
}

func TestFitDoesNotChangeTheSchema(t *testing.T) {
	s := schema(t, `{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"array","items":{"enum":["X"]}}]},"b":{"type":"string"}},"required":["a"]}`)
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"a":"5"}`, `{"a":"x","B":1}`, `{"c":1}`} {
		tools.Fit(s, json.RawMessage(args))
	}
	after, err := json.Marshal(s)
	if err != nil || string(after) != string(before) {
		t.Errorf("schema is %s (%v), was %s", after, err, before)
	}
}

// TestFitIsBounded has inputs that take a careless validator exponential or
// quadratic time: too long for the time limit of go test, which is the only clock
// here.
func TestFitIsBounded(t *testing.T) {
	defs := []string{`"d0":{"type":"string"}`}
	for i := 1; i < 60; i++ {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1))
	}
	list := `{"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`
	names := make([]string, 50_000)
	for i := range names {
		names[i] = fmt.Sprintf(`"x%d":1`, i)
	}
	tests := []struct {
		name, schema, args string
		ok                 bool
	}{
		{"alternatives that double", `{"$defs":{` + strings.Join(defs, ",") + `},"properties":{"a":{"$ref":"#/$defs/d59"}}}`, `{"a":[]}`, false},
		{"a deep list", list, strings.Repeat(`{"v":"1","next":`, 90) + "null" + strings.Repeat("}", 90), true},
		{"a deep list that is wrong at its end", list, strings.Repeat(`{"v":1,"next":`, 90) + "5" + strings.Repeat("}", 90), false},
		{"very many strange names", one(`{}`), "{" + strings.Join(names, ",") + "}", false},
		{"a long list", one(`{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"}]}}`), `{"a":[` + strings.Repeat("1,", 200_000) + `1]}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := tools.Fit(schema(t, tt.schema), json.RawMessage(tt.args))
			if (err == nil) != tt.ok {
				t.Errorf("err = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func schemaOrNil(text string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if json.Unmarshal([]byte(text), s) != nil {
		return nil
	}
	return s
}
