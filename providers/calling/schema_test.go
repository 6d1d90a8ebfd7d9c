package calling_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/calling"
)

// Arguments have to fit all of a schema that can be read.
func TestWholeSchema(t *testing.T) {
	for _, tt := range []struct{ schema, bad, good string }{
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"a":1,"b":2}`, `{"a":1}`},
		{`{"minProperties":1}`, `{}`, `{"a":1}`},
		{`{"propertyNames":{"pattern":"^a"}}`, `{"b":1}`, `{"ab":1}`},
		{`{"properties":{"a":{"type":"array","uniqueItems":true}}}`, `{"a":["x","x"]}`, `{"a":["x","y"]}`},
		{`{"properties":{"a":{"type":"array","contains":{"const":1}}}}`, `{"a":[2]}`, `{"a":[2,1]}`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `{"a":1,"b":2}`},
		{`{"properties":{"a":{},"b":{}},"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"a":1}`, `{"a":2}`},
	} {
		tools := []calling.Tool{{Name: "f", Schema: json.RawMessage(tt.schema)}}
		m := &fake{replies: []string{called("f", tt.bad), called("f", tt.good)}}
		got := generate(t.Context(), &calling.Model{Model: m}, calling.Request{Messages: []calling.Message{user("x")}, Tools: tools})
		if want := "f" + tt.good; got.calls != want || got.end == nil || got.end.Corrections != 1 {
			t.Errorf("%s: %v, want %s after 1", tt.schema, got, want)
		}
	}
}

// A value may be null where its schema says so in the way of OpenAPI.
func TestNullable(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"string","enum":["x"],"nullable":true},"c":{"type":"array","items":{"type":"integer","nullable":true}},"d":{"type":"string","nullable":false}},"required":["a"],"additionalProperties":false}`
	const good, bad = `{"a":null,"b":null,"c":[1,null]}`, `{"a":null,"d":null}`
	format, err := calling.NewFormat([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q calling.Request, reply string) told {
		q.Messages = []calling.Message{user("x")}
		return generate(t.Context(), &calling.Model{Model: &fake{replies: []string{reply}}}, q)
	}
	tools := calling.Request{Tools: []calling.Tool{{Name: "f", Schema: json.RawMessage(schema)}}}
	if got := ask(tools, called("f", good)); got.calls != "f"+good {
		t.Errorf("%v: %v", got, got.err)
	}
	if got := ask(calling.Request{Format: format}, good); got.text != good {
		t.Errorf("%v: %v", got, got.err)
	}
	if got := ask(tools, called("f", bad)); got.err == nil {
		t.Errorf("%v", got)
	}
	if got := ask(calling.Request{Format: format}, bad); got.err == nil {
		t.Errorf("%v", got)
	}
}

// So it may beside whatever else a schema says.
func TestNullableBeside(t *testing.T) {
	for schema, other := range map[string]string{
		`{"$ref":"#/$defs/A","nullable":true}`:                                     `[5]`,
		`{"allOf":[{"$ref":"#/$defs/A"}],"nullable":true}`:                         `[5]`,
		`{"anyOf":[{"type":"boolean"},{"type":"integer"}],"nullable":true}`:        `[5]`,
		`{"oneOf":[{"type":"null"},{"type":"integer"}],"nullable":true}`:           `[5]`,
		`{"enum":["x"],"nullable":true}`:                                           `[5]`,
		`{"const":"x","nullable":true}`:                                            `[5]`,
		`{"type":"string","const":"x","nullable":true}`:                            `[5]`,
		`{"type":["string","integer"],"nullable":true}`:                            `[5]`,
		`{"type":"string","anyOf":[{"minLength":2},{"const":""}],"nullable":true}`: `"y"`,
		`{"not":{"type":["null","array"]},"nullable":true}`:                        `[5]`,
		`{"enum":["x","y"],"const":"x","nullable":true}`:                           `"y"`,
	} {
		whole := `{"type":"object","properties":{"a":` + schema + `},"$defs":{"A":{"type":"string"}}}`
		format, err := calling.NewFormat([]byte(whole))
		if err != nil {
			t.Fatal(schema, err)
		}
		for value, fits := range map[string]bool{"null": true, other: false} {
			args := `{"a":` + value + `}`
			q := calling.Request{Messages: []calling.Message{user("x")}, Tools: []calling.Tool{{Name: "f", Schema: json.RawMessage(whole)}}}
			if got := generate(t.Context(), &calling.Model{Model: &fake{replies: []string{called("f", args)}}}, q); (got.calls == "f"+args) != fits {
				t.Errorf("%s: %s: %v %v", schema, value, got, got.err)
			}
			if _, problem := format.Read(args); (problem == "") != fits {
				t.Errorf("%s: %s: %q", schema, value, problem)
			}
		}
	}
}

// adapted is a model at a server that refuses things one by one, and writes what cannot be
// used.
type adapted struct {
	refusals int
	requests *int
}

func (a adapted) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if *a.requests == 0 {
			for range a.refusals {
				*a.requests++
				r.Notice("something is left out")
			}
		}
		*a.requests++
		_ = yield(providers.Chunk{Text: called("get_time", "{}")}, nil) && yield(providers.Chunk{Stop: providers.StopEnd}, nil)
	}
}

// A request of a caller makes five of a backend at the most.
func TestRequestsAreBounded(t *testing.T) {
	for refusals, want := range map[int]int{0: 3, 2: 5, 3: 5, 4: 5} {
		n := 0
		got := generate(t.Context(), &calling.Model{Model: adapted{refusals, &n}}, calling.Request{Messages: []calling.Message{user("x")}, Tools: []calling.Tool{clock}})
		var output *calling.OutputError
		if n != want || !errors.As(got.err, &output) || !strings.Contains(got.err.Error(), "zone") {
			t.Errorf("%d refusals: %d requests, want %d; %v", refusals, n, want, got.err)
		}
	}
}
