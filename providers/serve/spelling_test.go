package serve_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/serve"
)

// last remembers the last request.
type last struct {
	fake
	request providers.Request
}

func (l *last) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	l.request = r
	return l.fake.Generate(ctx, r)
}

// Programs whose language has one type of numbers write integers as 50.0, which JSON and Ollama
// do not tell apart from 50.
func TestIntegersAsFloats(t *testing.T) {
	for i, more := range []string{`"max_tokens":50.0,"n":1.0,"seed":7.0`, `"max_output_tokens":5e1`, `"max_tokens":50.0`, `"options":{"num_predict":50.0,"seed":7.0,"num_ctx":4096.0}`} {
		api := surfaces[i]
		m := &last{fake: fake{reply: says("Hello.").reply}}
		s := start(t, m, serve.Options{})
		body := quote(api.request(false, "x", nil))
		resp, text := post(t, s, api.path, strings.Replace(strings.Replace(body, `"max_tokens":1000,`, "", 1), "{", "{"+more+",", 1))
		if r := m.request; resp.StatusCode != 200 || r.MaxTokens != 50 || r.Seed != nil && *r.Seed != 7 || r.Seed == nil && strings.Contains(more, "seed") {
			t.Errorf("%s: %d %+v %s", api.name, resp.StatusCode, r, text)
		}
	}
	s := start(t, says("Hello."), serve.Options{})
	for i, tt := range []struct{ more, name string }{{`"max_tokens":50.5`, "max_tokens"}, {`"max_output_tokens":"50"`, "max_output_tokens"}, {`"max_tokens":1e300`, "max_tokens"}, {`"options":{"num_predict":0.5}`, "options.num_predict"}} {
		api := surfaces[i]
		body := strings.Replace(quote(api.request(false, "x", nil)), `"max_tokens":1000,`, "", 1)
		if resp, text := post(t, s, api.path, strings.Replace(body, "{", "{"+tt.more+",", 1)); resp.StatusCode != 400 || !strings.Contains(text, tt.name+": it is a JSON ") {
			t.Errorf("%s: %d %s", api.name, resp.StatusCode, text)
		}
	}
}

// A call is one chunk of a stream, as Ollama and Mistral write it: Mistral's client wants the name in
// each. A line stays below the 64 KB that some readers of lines take.
func TestCallIsOneChunk(t *testing.T) {
	for _, n := range []int{1, 10_000, 40_000} {
		city := strings.Repeat("\"\\", n/2) + "x"
		args := quote(object{"city": city})
		s := start(t, says(protocol.EncodeCall("get_weather", json.RawMessage(strings.TrimSpace(args)))), serve.Options{})
		_, body := post(t, s, surfaces[0].path, surfaces[0].request(true, "x", nil))
		chunks := 0
		for line := range strings.Lines(body) {
			if chunks += strings.Count(line, `"tool_calls":[`); len(line) >= 64<<10 {
				t.Errorf("%d: a line has %d bytes", n, len(line))
			}
		}
		if got := surfaces[0].streamed(t, body); (chunks == 1) != (n < 40_000) || got.calls != "get_weather"+strings.TrimSpace(args) {
			t.Errorf("%d: %d chunks, %.100q", n, chunks, got.calls)
		}
		if n == 1 && !strings.Contains(body, `"system_fingerprint":"fp_`) {
			t.Errorf("%s", body)
		}
	}
	resp, body := post(t, start(t, says("Hello."), serve.Options{}), surfaces[0].path, surfaces[0].request(false, "x", nil))
	if !strings.Contains(body, `"system_fingerprint":"fp_`) { // OpenRouter's client wants one
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// A call of the history names its tool.
func TestCallsHaveNames(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	user := object{"role": "user", "content": "x"}
	for _, tt := range []struct {
		api  int
		more object
		at   string
	}{
		{0, object{"messages": []any{user, object{"role": "assistant", "tool_calls": []any{object{}}}}}, "messages[1].tool_calls[0]: "},
		{0, object{"messages": []any{user, object{"role": "assistant", "function_call": object{"arguments": "{}"}}}}, "messages[1].function_call: "},
		{1, object{"input": []any{user, object{"type": "function_call", "call_id": "c", "arguments": "{}"}}}, "input[1]: "},
		{1, object{"input": []any{user, object{"type": "custom_tool_call", "call_id": "c", "input": ""}}}, "input[1]: "},
		{2, object{"messages": []any{user, object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": "c", "input": object{}}}}}}, "messages.1.content.0: "},
		{3, object{"messages": []any{user, object{"role": "assistant", "tool_calls": []any{object{"function": object{"arguments": object{}}}}}}}, "messages[1].tool_calls[0]: "},
	} {
		api := surfaces[tt.api]
		if resp, body := post(t, s, api.path, api.request(false, "x", tt.more)); resp.StatusCode != 400 || !strings.Contains(body, tt.at+"it is a call without the name of a tool") {
			t.Errorf("%s: %d %s", api.name, resp.StatusCode, body)
		}
	}
}

// The patterns of programs are those of JavaScript, as Zod writes an address of mail.
func TestForeignPatterns(t *testing.T) {
	schema := object{"type": "object", "properties": object{"to": object{"type": "string", "pattern": `^(?!\.)(?!.*\.\.)[a-z.]+@([a-z]+\.)+[a-z]{2,}$`}}, "required": []string{"to"}}
	s := start(t, says(`{"to": "a@b.ch"}`), serve.Options{})
	for i, more := range []object{
		{"response_format": object{"type": "json_schema", "json_schema": object{"name": "x", "strict": true, "schema": schema}}},
		{"text": object{"format": object{"type": "json_schema", "name": "x", "schema": schema}}},
		{"output_config": object{"format": object{"type": "json_schema", "schema": schema}}},
		{"format": schema},
	} {
		api := surfaces[i]
		if resp, body := post(t, s, api.path, api.request(false, "x", more)); resp.StatusCode != 200 || !strings.Contains(body, "a@b.ch") {
			t.Errorf("%s: %d %s", api.name, resp.StatusCode, body)
		}
	}
}
