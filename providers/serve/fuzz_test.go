package serve_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/providers/serve"
)

// cutter is a model that gives one reply, in pieces of sizes.
type cutter struct {
	text  string
	sizes []byte
}

func (c cutter) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for i, text := 0, c.text; text != ""; i++ {
			n := len(text)
			if len(c.sizes) > 0 {
				n = min(n, 1+int(c.sizes[i%len(c.sizes)]))
			}
			if !yield(providers.Chunk{Text: text[:n]}, nil) {
				return
			}
			text = text[n:]
		}
		yield(providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 9, Output: 9}}, nil)
	}
}

func ask(h *serve.Handler, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Whatever a model writes, in whatever pieces: what is streamed is what a whole reply has,
// and the same as in one piece.
func FuzzReply(f *testing.F) {
	call := protocol.EncodeCall("get_weather", json.RawMessage(`{"city":"Bern"}`))
	for _, text := range []string{
		"Hello", "I look.\n" + call, "<think>hm</think>\n" + call, "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"B\"}}</tool_call>",
		"<tool_code>\n<name>get_weather</name>", "```\n" + call + "\n```\n", "<final_answer>x</final_answer>", "a </think> b", " \n", "漢字 ünï", "get_weather(city='x')", "<observation>x",
	} {
		f.Add(text, []byte{0}, uint8(0))
		f.Add(text, []byte{2, 0, 6}, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, sizes []byte, which uint8) {
		if len(text) > calling.MaxRepetition { // it may be stopped for repeating itself, which depends on the pieces
			return
		}
		text = strings.ToValidUTF8(text, "?")
		sameInPieces(t, which, sizes, func(sizes []byte) providers.Model { return cutter{text, sizes} })
	})
}

// sameInPieces asks a model through one surface, whole and streamed, with a reply in pieces
// of sizes, of one byte, and in one: the reply is the same, or an error in the form of the
// surface.
func sameInPieces(t *testing.T, which uint8, sizes []byte, open func(sizes []byte) providers.Model) {
	t.Helper()
	s := surfaces[int(which)%len(surfaces)]
	more := object{}
	if which&64 != 0 {
		more["tools"] = []any{}
	}
	answer := func(stream bool, sizes []byte) *httptest.ResponseRecorder {
		m := &calling.Model{Model: open(sizes)}
		h := serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return m, nil }})
		body, _ := json.Marshal(s.request(stream, "hello", more))
		return ask(h, s.path, string(body))
	}
	parse := func(text string) (v object) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("no JSON: %v %s", err, text)
		}
		return v
	}
	whole := answer(false, nil)
	v := parse(whole.Body.String())
	if whole.Code == 500 || whole.Code != 200 && s.message(v) == "" {
		t.Fatalf("%d %s", whole.Code, whole.Body)
	}
	for _, sizes := range [][]byte{nil, sizes, {0}} {
		streamed := answer(true, sizes)
		switch {
		case whole.Code == 200:
			if got, want := normal(s.streamed(t, streamed.Body.String())), normal(s.whole(v)); got != want {
				t.Fatalf("in pieces of %v: streamed %q, whole %q\n%s", sizes, got, want, streamed.Body)
			}
		case streamed.Code == 200: // the last event says it
			text := strings.TrimSpace(streamed.Body.String())
			last := parse(strings.TrimPrefix(text[strings.LastIndex(text, "\n")+1:], "data: "))
			if r, responses := last["response"].(object); responses {
				last = r
			}
			if s.message(last) == "" {
				t.Fatalf("whole %d %s, streamed %s", whole.Code, whole.Body, streamed.Body)
			}
		case streamed.Code != whole.Code || s.message(parse(streamed.Body.String())) != s.message(v):
			t.Fatalf("whole %d %s, streamed %d %s", whole.Code, whole.Body, streamed.Code, streamed.Body)
		}
	}
}

// broken are bodies that end behind a backslash in a string.
var broken = []string{`{"model":"\`, `{"model":"m","messages":[{"role":"user","content":"abc\`}

// A body that breaks off is no JSON.
func TestBrokenBody(t *testing.T) {
	s := start(t, says("Hello."), serve.Options{})
	for _, body := range broken {
		if r, text := post(t, s, "/v1/chat/completions", body); r.StatusCode != 400 || !strings.Contains(text, "not valid JSON") {
			t.Errorf("%s: %d %s", body, r.StatusCode, text)
		}
	}
}

// Whatever a client sends is answered, with JSON or a stream of the surface.
func FuzzRequest(f *testing.F) {
	for i, s := range surfaces {
		for _, more := range []object{
			nil, {"tool_choice": "required"}, {"tool_choice": object{"type": "auto"}}, {"response_format": object{"type": "json_object"}}, {"format": "json"}, {"stop": []string{"x"}},
			{"messages": []any{object{"role": "assistant", "content": nil, "tool_calls": []any{object{"id": "1", "type": "function", "function": object{"name": "a", "arguments": "{}"}}}}, object{"role": "tool", "tool_call_id": "1", "content": "x"}}},
			{"input": []any{object{"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}, object{"type": "function_call_output", "call_id": "1", "output": "x"}}},
			{"messages": []any{object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "1", "content": []any{}}}}}},
		} {
			b, _ := json.Marshal(s.request(i%2 == 0, "hello", more))
			f.Add(string(b), uint8(i))
		}
	}
	for _, body := range broken {
		f.Add(body, uint8(0))
	}
	f.Fuzz(func(t *testing.T, body string, which uint8) {
		s := surfaces[int(which)%len(surfaces)]
		m := &calling.Model{Model: cutter{"Hello", nil}}
		h := serve.New(serve.Options{Open: func(context.Context, string) (*calling.Model, error) { return m, nil }})
		paths := []string{s.path, s.path, "/v1/messages/count_tokens", "/api/generate", "/api/show"}
		w := ask(h, paths[int(which/4)%len(paths)], body)
		if w.Code == 500 || w.Body.Len() == 0 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("no JSON: %s", w.Body)
		}
	})
}
