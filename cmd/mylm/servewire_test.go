//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asOpenAI is a faulty Ollama behind the API of OpenAI: what it writes of a reply becomes
// events, and what is no JSON is passed on as the data of one.
func asOpenAI(t *testing.T, f fault) (config string) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		f(&eventWriter{ResponseWriter: w}, r, over)
	}))
	t.Cleanup(func() { close(over); server.Close() })
	config = filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("[models.m]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = %q\nkey = \"none\"\n", server.URL+"/v1")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

type eventWriter struct {
	http.ResponseWriter
	refused bool
}

func (w *eventWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *eventWriter) Flush()                      { w.ResponseWriter.(http.Flusher).Flush() }

func (w *eventWriter) WriteHeader(status int) {
	w.refused = status >= 400
	w.ResponseWriter.WriteHeader(status)
}

func (w *eventWriter) Write(b []byte) (int, error) {
	w.Header().Del("Content-Length")
	if w.refused {
		return w.ResponseWriter.Write(b)
	}
	for line := range strings.Lines(string(b)) {
		if _, err := w.ResponseWriter.Write([]byte(openAIEvent(line))); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// openAIEvent is a line of Ollama's reply as an event of OpenAI's.
func openAIEvent(line string) string {
	var v struct {
		Message struct {
			Content, Thinking string
			Calls             []struct {
				Function struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		}
		Done  bool
		Error string
	}
	if json.Unmarshal([]byte(line), &v) != nil {
		return "data: " + line
	}
	delta := map[string]any{"content": v.Message.Content}
	if v.Message.Thinking != "" {
		delta = map[string]any{"reasoning_content": v.Message.Thinking}
	}
	var calls []any
	for i, c := range v.Message.Calls {
		calls = append(calls, map[string]any{"index": i, "id": fmt.Sprint("c", i), "type": "function", "function": map[string]any{"name": c.Function.Name, "arguments": string(c.Function.Arguments)}})
	}
	if calls != nil {
		delta["tool_calls"] = calls
	}
	out := map[string]any{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}}
	switch {
	case v.Error != "":
		out = map[string]any{"error": map[string]any{"message": v.Error, "type": "server_error"}}
	case v.Done:
		out["choices"] = []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}}
		out["usage"] = map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	}
	b, _ := json.Marshal(out)
	end := ""
	if v.Done {
		end = "data: [DONE]\n\n"
	}
	return "data: " + string(b) + "\n\n" + end
}
