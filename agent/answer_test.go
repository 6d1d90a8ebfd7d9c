package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
)

// An answer that must be a value is corrected until it is one, at most twice. The
// model is constrained where its reply can only be the answer.
func TestAnswerSchema(t *testing.T) {
	person := `{"type":"object","properties":{"age":{"type":"integer"},"big":{"type":"integer"}},"required":["age"]}`
	look := call("echo", `{"text": "x"}`)
	for name, c := range map[string]struct {
		schema      string
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
		"a list":          {`{"type":"array"}`, []string{`[1, 2]`}, `[1,2]`, agent.StopComplete, "-"},
		"a word":          {`{"enum":["good","bad"]}`, []string{`"good"`}, `"good"`, agent.StopComplete, "-"},
		"a number":        {`{"type":"number"}`, []string{"42"}, "42", agent.StopComplete, "-"},
		"nothing":         {`{"type":"null"}`, []string{"null"}, "null", agent.StopComplete, "-"},
		"cut":             {person, []string{`{"age": 3`, `{"age": 3}`}, `{"age":3}`, agent.StopComplete, "-+"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			var replies []any
			for _, text := range c.replies {
				replies = append(replies, text)
			}
			m := newModel(replies...)
			_, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t), AnswerSchema: json.RawMessage(c.schema)}).Run(t.Context(), nil, "how old?"))
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
	if _, r := collect(t, newAgent(t, agent.Options{Model: m, AnswerSchema: json.RawMessage(person)}).Run(t.Context(), nil, "how old?")); r.Response != `{"age":3}` || m.requests[0].Format == nil {
		t.Errorf("without tools: %q, format %s", r.Response, m.requests[0].Format)
	}
	if _, err := agent.New(agent.Options{Model: m, AnswerSchema: json.RawMessage(`{"$ref":"#/nowhere"}`)}); err == nil || !strings.Contains(err.Error(), "AnswerSchema") {
		t.Errorf("a broken schema: %v", err)
	}
}

// A server that refuses the schema is asked without it from then on, and that is
// reported; another error is not taken for that.
func TestAnswerSchemaRefused(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"z":{},"a":{"type":"integer"}},"required":["a"]}`)
	refusal := &providers.Error{Kind: providers.BadRequest, Message: "no such schema"}
	m := newModel(say{err: refusal}, "three", `{"a": 3}`)
	events, r := collect(t, newAgent(t, agent.Options{Model: m, AnswerSchema: schema}).Run(t.Context(), nil, "how old?"))
	if r.Response != `{"a":3}` || len(m.requests) != 3 || m.requests[1].Format != nil || m.requests[2].Format != nil {
		t.Errorf("%q (%v) after %d requests", r.Response, r.Err, len(m.requests))
	}
	if got := string(m.requests[0].Format); got != string(schema) {
		t.Errorf("the server got %s", got)
	}
	notices := 0
	for _, e := range events {
		if n, ok := e.Payload.(agent.Notice); ok && strings.Contains(n.Text, "no such schema") {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("%d notices", notices)
	}
	for name, fault := range map[string]*providers.Error{
		"key":  {Kind: providers.Auth, Message: "wrong key"},
		"busy": {Kind: providers.ServerFault, Message: "loading model", Busy: true},
	} {
		m = newModel(say{err: fault}, `{"a": 3}`)
		_, _ = newAgent(t, agent.Options{Model: m, AnswerSchema: schema}).Ask(t.Context(), "how old?")
		for _, sent := range m.requests {
			if sent.Format == nil {
				t.Errorf("%s: asked without the schema", name)
			}
		}
	}
}
