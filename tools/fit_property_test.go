package tools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	reference "github.com/santhosh-tekuri/jsonschema/v6"

	"mylm/tools"
)

// TestFitAgreesWithReference compares Fit with a full validator on random small
// schemas and values: what that accepts Fit accepts, as the same value; what
// Fit passes on, coerced or not, that accepts.
//
// Every object schema states additionalProperties, where Fit is stricter by
// design, and a compiled schema knows neither Python's type names nor coercion.
func TestFitAgreesWithReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted, coerced := 0, 0
	for i := range 1_500 {
		text := randomSchema(r, 3, true)
		full := `{"$defs":{"r":` + randomSchema(r, 1, false) + `},"allOf":[` + text + `]}`
		value := randomValue(r, 3)
		valid := compile(t, full)
		s := schema(t, full)

		got, repairs, argErr := tools.Fit(s, json.RawMessage(value))
		conforms := valid(value)
		fail := func(why string) {
			t.Fatalf("case %d: %s\nschema %s\nvalue %s\ngot %s\nrepairs %v\nerror %v", i, why, full, value, got, repairs, argErr)
		}
		switch {
		case conforms && argErr != nil:
			fail("refused what conforms")
		case conforms && !sameJSON(t, value, string(got)):
			fail("changed what conforms")
		case argErr == nil && !valid(string(got)):
			fail("passed on what does not conform")
		case argErr == nil && len(repairs) == 0 && string(got) != value:
			fail("changed without saying so")
		}
		if conforms {
			accepted++
		} else if argErr == nil {
			coerced++
		}
	}
	t.Logf("%d conformed, %d were coerced", accepted, coerced)
	if accepted < 100 || coerced < 10 {
		t.Errorf("the cases prove little: %d conformed, %d were coerced", accepted, coerced)
	}
}

func compile(t *testing.T, text string) func(string) bool {
	t.Helper()
	read := func(s string) any {
		v, err := reference.UnmarshalJSON(strings.NewReader(s))
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return v
	}
	c := reference.NewCompiler()
	if err := c.AddResource("s.json", read(text)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return func(value string) bool { return s.Validate(read(value)) == nil }
}

// sameJSON compares by value. The numbers of the generator are small.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	xs, _ := json.Marshal(x)
	ys, _ := json.Marshal(y)
	return bytes.Equal(xs, ys)
}

var (
	scalars = []string{`null`, `true`, `false`, `0`, `1`, `2`, `-1`, `1.0`, `1e1`, `0.5`, `2.50`, `""`, `"a"`, `"A"`, `"b"`, `"1"`, `"0.5"`, `"true"`, `"null"`, `"ab,c"`, `"日本語"`, `"[1]"`, `"{\"a\":1}"`}
	kinds   = []string{`"null"`, `"boolean"`, `"integer"`, `"number"`, `"string"`, `"array"`, `"object"`}
	names   = []string{"a", "b", "c"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func randomValue(r *rand.Rand, depth int) string {
	n := 10
	if depth == 0 {
		n = 6
	}
	switch k := r.IntN(n); {
	case k < 6:
		return pick(r, scalars)
	case k < 8:
		items := make([]string, r.IntN(4))
		for i := range items {
			items[i] = randomValue(r, depth-1)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members []string
	for _, name := range append(names, "A") {
		if r.IntN(2) == 0 {
			members = append(members, fmt.Sprintf("%q:%s", name, randomValue(r, depth-1)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func randomSchema(r *rand.Rand, depth int, refs bool) string {
	var words []string
	add := func(chance int, word string, value func() string) {
		if r.IntN(chance) == 0 {
			words = append(words, fmt.Sprintf("%q:%s", word, value()))
		}
	}
	number := func() string { return pick(r, []string{`0`, `1`, `0.5`, `-1`, `10`}) }
	count := func() string { return pick(r, []string{`0`, `1`, `2`, `3`}) }
	scalar := func() string { return pick(r, scalars) }
	add(2, "type", func() string {
		if r.IntN(4) == 0 {
			i := r.IntN(len(kinds))
			return "[" + kinds[i] + "," + kinds[(i+1+r.IntN(len(kinds)-1))%len(kinds)] + "]"
		}
		return pick(r, kinds)
	})
	add(8, "enum", func() string {
		first := r.IntN(len(scalars) - 3)
		return "[" + strings.Join(scalars[first:first+3], ",") + "]"
	})
	add(15, "const", scalar)
	add(8, "minimum", number)
	add(8, "maximum", number)
	add(12, "exclusiveMinimum", number)
	add(12, "exclusiveMaximum", number)
	add(8, "minLength", count)
	add(8, "maxLength", count)
	add(8, "minItems", count)
	add(8, "maxItems", count)
	add(12, "pattern", func() string { return pick(r, []string{`"^[a-z]*$"`, `"1"`}) })
	add(12, "required", func() string { return pick(r, []string{`["a"]`, `["b","c"]`}) })
	if refs {
		add(25, "$ref", func() string { return `"#/$defs/r"` })
	}
	if depth > 0 {
		sub := func() string { return randomSchema(r, depth-1, refs) }
		several := func() string { return "[" + sub() + "," + sub() + "]" }
		add(4, "items", sub)
		add(12, "prefixItems", several)
		add(6, "anyOf", several)
		add(12, "oneOf", several)
		add(12, "allOf", several)
		add(20, "not", sub)
		if r.IntN(3) == 0 {
			words = append(words, fmt.Sprintf(`"properties":{"a":%s,"b":%s}`, sub(), sub()), `"additionalProperties":`+pick(r, []string{"true", "false", sub()}))
		}
	}
	return "{" + strings.Join(words, ",") + "}"
}

func FuzzFit(f *testing.F) {
	f.Add(one(`{"type":"integer","minimum":1}`), `{"a":"5"}`)
	f.Add(`{"$defs":{"n":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/n"}},{"type":"string","enum":["X"]}]}},"$ref":"#/$defs/n"}`, `[["x"],"X"]`)
	f.Add(`{"properties":{"a_b":{"pattern":"^x"}},"required":["a_b"]}`, `{"aB":"x\ud83d"}`)
	f.Add(one(`{"type":"integer"}`), `{"a":1e999999999999999999999}`)
	f.Fuzz(func(t *testing.T, schemaText, args string) {
		s := schemaOrNil(schemaText)
		if s == nil {
			t.Skip()
		}
		got, _, argErr := tools.Fit(s, json.RawMessage(args))
		if argErr != nil {
			if len(argErr.Faults) == 0 || argErr.Error() == "" {
				t.Fatalf("an error without a fault: %+v", argErr)
			}
			return
		}
		if !json.Valid(got) {
			t.Fatalf("not JSON: %s", got)
		}
		if again, repairs, err := tools.Fit(s, got); err != nil || len(repairs) > 0 || !bytes.Equal(again, got) {
			t.Fatalf("Fit of its own result %s = %s, %v, %v", got, again, repairs, err)
		}
	})
}
