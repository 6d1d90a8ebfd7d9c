package langchain_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mylm/providers"
)

// ollamaAPI is the wire of Ollama's /api/chat.
var ollamaAPI = fakeAPI{
	provider: "langchain-ollama",
	path:     "/v1/api/chat",
	kind:     "application/x-ndjson",
	text: func(s string) string {
		return ollamaLine(map[string]any{"message": map[string]string{"role": "assistant", "content": s}, "done": false})
	},
	thought: func(s string) string {
		return ollamaLine(map[string]any{"message": map[string]string{"role": "assistant", "content": "", "thinking": s}, "done": false})
	},
	end: func(stop string, u providers.Usage) []string {
		return []string{ollamaLine(ollamaEnd("", "", stop, u))}
	},
	error:  func(status int, code, message string) string { return ollamaError(status, code, message) + "\n" },
	refuse: ollamaError,
	whole: func(thought, text, stop string, u providers.Usage) string {
		return ollamaLine(ollamaEnd(thought, text, stop, u))
	},
	key:    "Authorization",
	cannot: []string{string(providers.Filtered), string(providers.RateLimited), "overload in mid-stream"},
	read:   readOllama,
}

func ollamaLine(v map[string]any) string {
	v["model"], v["created_at"] = "m", "2026-01-02T03:04:05Z"
	b, _ := json.Marshal(v)
	return string(b) + "\n"
}

func ollamaEnd(thought, text, stop string, u providers.Usage) map[string]any {
	return map[string]any{"message": map[string]string{"role": "assistant", "content": text, "thinking": thought}, "done": true, "done_reason": stop,
		"total_duration": 9, "load_duration": 2, "prompt_eval_count": u.Prompt, "prompt_eval_duration": 3, "eval_count": u.Output, "eval_duration": 4}
}

func ollamaError(_ int, _, message string) string {
	b, _ := json.Marshal(map[string]string{"error": message})
	return string(b)
}

func readOllama(body map[string]any) providers.Request {
	options, _ := body["options"].(map[string]any)
	if n, ok := options["num_predict"]; ok {
		options["max_tokens"] = n
		delete(options, "num_predict")
	}
	r := sampling(options)
	rest := sampling(body, "model", "messages", "stream", "truncate", "shift", "options")
	r.Messages = append(rest.Messages, readOpenAI(map[string]any{"messages": body["messages"]}).Messages...)
	return r
}

// TestOllamaWindow holds that a window that is known is asked for, and what the
// last line tells.
func TestOllamaWindow(t *testing.T) {
	f := newFake(t, ollamaAPI, ollamaAPI.says("yes"))
	c := ollamaAPI.config
	c.Model, c.BaseURL, c.Window = "m", f.URL+"/v1", 4096
	_, _, last, err := generate(t, open(t, "langchain-ollama", c), providers.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if options, _ := f.sent()[0]["options"].(map[string]any); options["num_ctx"] != 4096.0 {
		t.Errorf("sent the options %v, want num_ctx 4096", options)
	}
	if f.heads[0].Get("Authorization") != "" {
		t.Error("a key was sent that nobody gave")
	}
	if want := (providers.Usage{Load: 2, PromptTime: 3, OutputTime: 4}); last.Usage != want {
		t.Errorf("usage %+v, want %+v", last.Usage, want)
	}
}

// TestOllamaLongPieces holds that pieces beyond what langchaingo reads come
// through, text as text and thought as thought.
func TestOllamaLongPieces(t *testing.T) {
	long := strings.Repeat("tx ünd\n", 20_000)
	s := ollamaAPI
	m := newFake(t, s, func(w http.ResponseWriter, _ *http.Request) {
		s.stream(w, s.thought("x"+long), s.text("t"+long))
		s.stream(w, s.end("stop", providers.Usage{})...)
	}).model(t)
	text, thought, _, err := generate(t, m, providers.Request{})
	if err != nil || text != "t"+long || thought != "x"+long {
		t.Errorf("%d bytes of text and %d of thought came, want %d of each; %v", len(text), len(thought), len(long)+1, err)
	}
}

func TestOllamaModels(t *testing.T) {
	f := newFake(t, ollamaAPI, nil)
	f.list = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/api/tags" {
			http.NotFound(w, r)
			return
		}
		answers(200, "application/json", `{"models":[{"name":"m:1b","model":"m:1b","modified_at":"2026-01-02T03:04:05Z","size":7,"details":{}},{"name":"nomic-embed-text","size":3}]}`)(w, r)
	}
	list, err := f.model(t).Models(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "m:1b" || list[0].Size != 7 || !list[0].Chats || !list[1].Embeds {
		t.Errorf("%+v, %v", list, err)
	}
}
