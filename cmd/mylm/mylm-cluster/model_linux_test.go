package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// turns are those of a run of these tests: one less calls of a tool, and an answer.
const turns = 8

// numbering is a server with Ollama's wire format and a model m, whose replies are numbered:
// no two are alike. The prompt of a run begins with its session.
type numbering struct {
	*httptest.Server
	pause func() time.Duration                                 // before a reply
	call  func(n int, session string) (tool string, input any) // in reply n

	mu   sync.Mutex
	made []reply // by their numbers, from 0
}

// reply is one that was made, whether or not anybody has received it.
type reply struct {
	session string
	turn    int // from 1
}

func newNumbering(t *testing.T, pause func() time.Duration, call func(n int, session string) (tool string, input any)) *numbering {
	m := &numbering{pause: pause, call: call}
	const details = `"details":{"format":"gguf","family":"llama","families":["llama"],"parameter_size":"1B","quantization_level":"Q4_0"}`
	const list = `{"models":[{"name":"m:latest","model":"m:latest","size":1,"size_vram":1,"digest":"0","context_length":32768,"expires_at":"2100-01-01T00:00:00Z",` + details + `}]}`
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"/api/show":    `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":32768},"template":"{{ .Prompt }}",` + details + `}`,
		"/api/ps":      list,
		"/api/tags":    list,
		"/api/version": `{"version":"0.32.15"}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		})
	}
	mux.HandleFunc("POST /api/chat", m.chat)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

func (m *numbering) chat(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	of := reply{turn: 1}
	for _, message := range request.Messages {
		switch {
		case message.Role == "assistant":
			of.turn++
		case message.Role == "user" && of.session == "":
			of.session, _, _ = strings.Cut(message.Content, " ")
		}
	}
	if wait := m.pause(); wait > 0 {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(wait):
		}
	}
	m.mu.Lock()
	n := len(m.made)
	m.made = append(m.made, of)
	m.mu.Unlock()
	text := fmt.Sprintf("reply %d: that is all.", n)
	if of.turn < turns {
		tool, input := m.call(n, of.session)
		args, _ := json.Marshal(input) // texts
		text = fmt.Sprintf("reply %d: I write.\n<tool_code>\n<name>%s</name>\n<parameters>%s</parameters>\n</tool_code>", n, tool, args)
	}
	line, _ := json.Marshal(map[string]any{"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": map[string]string{"role": "assistant", "content": text}, "done": false})
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = fmt.Fprintf(w, "%s\n%s\n", line, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}`)
}

// replies are those that were made so far.
func (m *numbering) replies() []reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made[:len(m.made):len(m.made)]
}
