package agent_test

import (
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/agent"
)

// An answer that must be a value is corrected until it is one, at most twice. The
// model is constrained where its reply can only be the answer.
func TestAnswerSchema(t *testing.T) {
	person := &jsonschema.Schema{Type: "object", Required: []string{"age"}, Properties: map[string]*jsonschema.Schema{"age": {Type: "integer"}, "big": {Type: "integer"}}}
	look := call("echo", `{"text": "x"}`)
	for name, c := range map[string]struct {
		schema      *jsonschema.Schema
		replies     []string
		want        string
		stop        agent.StopReason
		constrained string // + for each request that is
	}{
		"right":           {person, []string{`{"age": 3}`}, `{"age":3}`, agent.StopComplete, "-"},
		"a big number":    {person, []string{`{"age": 3, "big": 123456789012345678901}`}, `{"age":3,"big":123456789012345678901}`, agent.StopComplete, "-"},
		"in prose":        {person, []string{"It is {this}: {\"age\": \"3\"}."}, `{"age":3}`, agent.StopComplete, "-"},
		"after a call":    {person, []string{look, `{"age": 3}`}, `{"age":3}`, agent.StopComplete, "--"},
		"corrected":       {person, []string{"three", `{"age": 3}`}, `{"age":3}`, agent.StopComplete, "-+"},
		"call in between": {person, []string{"three", look, `{"age": 3}`}, `{"age":3}`, agent.StopComplete, "-++"},
		"wrong":           {person, []string{"three", `{"age": 3.5}`, `[3]`}, "[3]", agent.StopNotVerified, "-++"},
		"a list":          {&jsonschema.Schema{Type: "array"}, []string{`[1, 2]`}, `[1,2]`, agent.StopComplete, "-"},
		"a word":          {&jsonschema.Schema{Enum: []any{"good", "bad"}}, []string{`"good"`}, `"good"`, agent.StopComplete, "-"},
		"a number":        {&jsonschema.Schema{Type: "number"}, []string{"42"}, "42", agent.StopComplete, "-"},
		"nothing":         {&jsonschema.Schema{Type: "null"}, []string{"null"}, "null", agent.StopComplete, "-"},
		"cut":             {person, []string{`{"age": 3`, `{"age": 3}`}, `{"age":3}`, agent.StopComplete, "-+"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			var replies []any
			for _, text := range c.replies {
				replies = append(replies, text)
			}
			m := newModel(replies...)
			_, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t), AnswerSchema: c.schema}).Run(t.Context(), nil, "how old?"))
			if r.Response != c.want || r.StopReason != c.stop {
				t.Errorf("%q, %s", r.Response, r.StopReason)
			}
			got := ""
			for _, sent := range m.requests {
				if sent.Format == nil {
					got += "-"
				} else {
					got += "+"
				}
			}
			if got != c.constrained {
				t.Errorf("constrained %s, want %s", got, c.constrained)
			}
			if system := m.requests[0].Messages[0].Text; !strings.Contains(system, "# ANSWER\n") {
				t.Errorf("the model is not told:\n%s", system)
			}
		})
	}
	m := newModel(`{"age": 3}`)
	if _, r := collect(t, newAgent(t, agent.Options{Model: m, AnswerSchema: person}).Run(t.Context(), nil, "how old?")); r.Response != `{"age":3}` || m.requests[0].Format == nil {
		t.Errorf("without tools: %q, format %s", r.Response, m.requests[0].Format)
	}
	if _, err := agent.New(agent.Options{Model: m, AnswerSchema: &jsonschema.Schema{Ref: "#/nowhere"}}); err == nil || !strings.Contains(err.Error(), "AnswerSchema") {
		t.Errorf("a broken schema: %v", err)
	}
}
