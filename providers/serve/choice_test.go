package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers/serve"
)

// none says in each API that no tool may be called.
var none = []any{"none", "none", object{"type": "none"}, "none"}

// Where no tool may be called, what a model insists on is an answer: its text, without a call if it
// says something besides. Nothing, and a result that it made up, is an error.
func TestNoneIsAnswered(t *testing.T) {
	call := protocol.EncodeCall("get_weather", json.RawMessage(`{"city":"Bern"}`))
	const asJSON, data, fenced = `{"name": "get_weather", "arguments": {"city": "Bern"}}`, `{"tool": "get_weather", "status": "ok"}`, "```json\n{\"tool\": \"get_weather\"}\n```"
	for text, want := range map[string]reply{
		asJSON: {text: asJSON}, data: {text: data}, fenced: {text: `{"tool": "get_weather"}`}, "<function>broken": {text: "<function>broken"}, "<tool_code>\n<name>get_weather</name>\n<parameters>{so}</parameters>\n</tool_code>": {text: "<tool_code>\n<name>get_weather</name>\n<parameters>{so}</parameters>\n</tool_code>"}, call: {text: call}, `{"city": "Bern"}`: {text: `{"city": "Bern"}`},
		"It is sunny.": {text: "It is sunny."}, "I look.\nget_weather()": {text: "I look."}, "I look.\n" + call: {text: "I look."},
		"": {}, "<think>hm</think>": {}, "Observation: 21 degrees": {}, "Observation: 21 degrees\n" + call: {}, "Tool result: 21\n" + call: {}, "Tool result: 21\n\n" + call: {}, "<observation>21</observation>\n" + call: {},
		"[get_weather] Success:\n21\n" + call: {}, "Observation: 21\n<tool_code>\n<name>get_weather</name>\n<parameters>{so}</parameters>\n</tool_code>": {},
		"I look.\nObservation: 21\n" + call: {text: "I look."}, "The observation is short.\n" + call: {text: "The observation is short."},
	} {
		for i, api := range surfaces {
			for _, stream := range []bool{false, true} {
				s := start(t, says(text), serve.Options{})
				resp, body := post(t, s, api.path, api.request(stream, "x", object{"tool_choice": none[i]}))
				if want.text == "" {
					if thought := strings.HasPrefix(text, "<think>") && stream; thought && !strings.Contains(body, `"error"`) || !thought && (resp.StatusCode != 422 || resp.Header.Get("X-Should-Retry") != "false") {
						t.Errorf("%s %q: %d %s", api.name, text, resp.StatusCode, body)
					}
					continue
				}
				var got reply
				if resp.StatusCode != 200 {
					t.Errorf("%s %q: %d %s", api.name, text, resp.StatusCode, body)
				} else if stream {
					got = api.streamed(t, body)
				} else {
					var v object
					_ = json.Unmarshal([]byte(body), &v)
					got = api.whole(v)
				}
				if got.text != want.text || got.calls != "" {
					t.Errorf("%s %q: %q", api.name, text, got)
				}
			}
		}
	}
}

// Two tools of one name are an error that names it: which of them was meant nobody knows.
func TestTwoToolsOfOneName(t *testing.T) {
	m := says("Hello.")
	s := start(t, m, serve.Options{})
	tools := []func(name string) object{
		func(name string) object {
			return object{"type": "function", "function": object{"name": name, "parameters": parameters}}
		},
		func(name string) object {
			return object{"type": "function", "name": name, "parameters": parameters}
		},
		func(name string) object { return object{"name": name, "input_schema": parameters} },
	}
	tools = append(tools, tools[0])
	for i, api := range surfaces {
		resp, body := post(t, s, api.path, api.request(false, "x", object{"tools": []any{tools[i]("a"), tools[i]("b"), tools[i]("a")}}))
		if resp.StatusCode != 400 || !strings.Contains(body, `tools[2]: two tools are called \"a\"`) {
			t.Errorf("%s: %d %s", api.name, resp.StatusCode, body)
		}
	}
	function, api := tools[1], surfaces[1]
	space := func(name string, in ...any) object { return object{"type": "namespace", "name": name, "tools": in} }
	more := func(list ...any) object {
		return object{"type": "additional_tools", "role": "developer", "tools": list}
	}
	other := object{"type": "function", "name": "a", "description": "another"}
	question := object{"role": "user", "content": "x"}
	for _, tt := range []struct {
		name         string
		tools, input []any
		wrong        string // "": nothing is
	}{
		{"in two namespaces", []any{function("a"), space("n", function("a")), space("m", function("a"))}, []any{question}, ""},
		{"twice in a namespace", []any{space("n", function("a"), function("b"), function("a"))}, []any{question}, `tools[0].tools[2]: two tools are called \"a\"`},
		{"a namespace in two pieces", []any{space("n", function("a")), space("n", function("b"))}, []any{question}, ""},
		{"in a namespace that is given twice", []any{space("n", function("a")), space("n", function("a"))}, []any{question}, `tools[1].tools[0]: two tools are called \"a\"`},
		{"a function and a custom tool", []any{function("a"), object{"type": "custom", "name": "a"}}, []any{question}, `tools[1]: two tools are called \"a\"`},
		{"names that are one when they are joined", []any{space("n__m", function("a")), space("n", function("m__a"))}, []any{question}, `tools[1].tools[0]: two tools are called \"m__a\"`},
		{"the same again, later", []any{function("a")}, []any{question, more(function("a"), function("b")), more(function("b"))}, ""},
		{"another one, later", []any{function("a")}, []any{question, more(other)}, ""},
		{"another one of another namespace, later", []any{space("n__m", function("a"))}, []any{question, more(space("n", function("m__a")))}, `input[1].tools[0].tools[0]: two tools are called \"m__a\"`},
		{"twice, later", nil, []any{question, more(function("a"), function("a"))}, `input[1].tools[1]: two tools are called \"a\"`},
		{"in a namespace that is given twice, later", nil, []any{question, more(space("n", function("a")), space("n", function("a")))}, `input[1].tools[1].tools[0]: two tools are called \"a\"`},
		{"in a namespace of an earlier item", nil, []any{question, more(space("n", function("a"))), more(space("n", function("a")))}, ""},
		{"names that are one when they are joined, later", nil, []any{question, more(function("n__a"), space("n", function("a")))}, `input[1].tools[1].tools[0]: two tools are called \"a\"`},
	} {
		resp, body := post(t, s, api.path, object{"model": "m", "tools": tt.tools, "input": tt.input})
		if status := resp.StatusCode; tt.wrong == "" && status != 200 || tt.wrong != "" && (status != 400 || !strings.Contains(body, tt.wrong)) {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
	}
	post(t, s, api.path, object{"model": "m", "tools": []any{function("a")}, "input": []any{question, more(other)}})
	if p := m.prompts[len(m.prompts)-1]; !strings.Contains(p, "<description>another</description>") || strings.Contains(p, "city") {
		t.Errorf("the model is shown\n%s", p)
	}
}
