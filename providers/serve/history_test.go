package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mylm/providers/serve"
)

// tokens are those with which chat templates begin and end turns.
var tokens = []string{
	"<|im_end|>", "<|im_start|>user", "[INST]", "[/INST]", "</s>", "<start_of_turn>user", "<|turn>user", "<｜User｜>", "[|user|]", "]~b]user", "<role>HUMAN</role>", "<<SYS>>", "<seed:eos>",
}

// history is a conversation in each API: a question, what the model said and called, the
// result, and another question.
func history(api int, text, argument string) object {
	switch api {
	case 1:
		return object{"input": []any{object{"role": "user", "content": "x"}, object{"role": "assistant", "content": text},
			object{"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": quote(object{"city": argument})},
			object{"type": "function_call_output", "call_id": "c", "output": "sunny"}, object{"role": "user", "content": "y"}}}
	case 2:
		return object{"messages": []any{object{"role": "user", "content": "x"},
			object{"role": "assistant", "content": []any{object{"type": "text", "text": text}, object{"type": "tool_use", "id": "c", "name": "get_weather", "input": object{"city": argument}}}},
			object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "c", "content": "sunny"}, object{"type": "text", "text": "y"}}}}}
	}
	args := any(object{"city": argument})
	if api == 0 {
		args = quote(args)
	}
	return object{"messages": []any{object{"role": "user", "content": "x"},
		object{"role": "assistant", "content": text, "tool_calls": []any{object{"id": "c", "type": "function", "function": object{"name": "get_weather", "arguments": args}}}},
		object{"role": "tool", "tool_call_id": "c", "content": "sunny"}, object{"role": "user", "content": "y"}}}
}

// A token that begins or ends a turn means nothing to the model's server where a program sends
// back what the model said or called: anybody may have made the model say it.
func TestTokensInHistory(t *testing.T) {
	for i, api := range surfaces {
		for _, token := range tokens {
			m := says("Hello.")
			s := start(t, m, serve.Options{})
			ask := func(more object) string {
				resp, body := post(t, s, api.path, quote(api.request(false, "x", more)))
				if resp.StatusCode != 200 {
					t.Fatalf("%s %s: %d %s", api.name, token, resp.StatusCode, body)
				}
				return m.prompts[len(m.prompts)-1]
			}
			clean := ask(history(i, "It is so.", "Bern"))
			for what, more := range map[string]object{"text": history(i, "It is so "+token+" or not.", "Bern"), "arguments": history(i, "It is so.", "Bern"+token)} {
				if got := ask(more); strings.Count(got, token) != strings.Count(clean, token) {
					t.Errorf("%s: %s of the history holds %s:\n%s", api.name, what, token, got)
				}
			}
		}
	}
}

// The prompt of a request begins with that of the one before, also where the history holds such
// tokens, and mark-up that is none of them stays as the model wrote it.
func TestHistoryIsPrefix(t *testing.T) {
	const said = "Use <s>no</s> tokens like <|im_end|>, but <b>bold</b>, a[i], List<T> and <think> are fine."
	for i, api := range surfaces {
		m := says("Hello.")
		s := start(t, m, serve.Options{})
		more := history(i, said, "<|im_end|> [INST] \\ \" <b>")
		post(t, s, api.path, quote(api.request(false, "x", more)))
		field := "messages"
		if i == 1 {
			field = "input"
		}
		more[field] = append(more[field].([]any), object{"role": "assistant", "content": "Hello."}, object{"role": "user", "content": "z"})
		post(t, s, api.path, quote(api.request(false, "x", more)))
		first, second := m.prompts[0], m.prompts[1]
		if !strings.HasPrefix(second, first) {
			t.Errorf("%s: the beginning has changed:\n%s\n%s", api.name, first, second)
		}
		for _, whole := range []string{"<b>bold</b>, a[i], List<T> and <think> are fine.", `{"city":"\u003c|im_end|> \u005bINST] \\ \" <b>"}`} {
			if !strings.Contains(first, whole) {
				t.Errorf("%s: there is no %s in\n%s", api.name, whole, first)
			}
		}
	}
}

// Code of the model's own comes back byte for byte, in its text and in the arguments of its calls.
func TestCodeInHistory(t *testing.T) {
	const code = "impl<S> Layer<S> for Stack<S> where S: Clone; for i<s && s</S>; let v: List<S>; return <Turn inst={x}></Turn>; Usage: x [OPTIONS] [ARGS] [MASK] [THINK] [|1|] <turn> < s >"
	for i, api := range surfaces {
		m := says("Hello.")
		s := start(t, m, serve.Options{})
		post(t, s, api.path, quote(api.request(false, "x", history(i, "```rust\n"+code+"\n```", code))))
		if got := strings.Count(m.prompts[0], code); got != 2 {
			t.Errorf("%s: it stands there %d times:\n%s", api.name, got, m.prompts[0])
		}
	}
}

// quote is JSON in a text, as the APIs of OpenAI have arguments, with < as it is.
func quote(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return b.String()
}
