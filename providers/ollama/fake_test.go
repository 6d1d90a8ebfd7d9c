package ollama_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"mylm/providers"
	"mylm/providers/ollama"
)

// fake is a loopback server that speaks Ollama's wire format.
type fake struct {
	*httptest.Server
	chat, show, ps, tags, pull http.HandlerFunc

	mu    sync.Mutex
	paths []string
	chats []map[string]any
	left  int
}

// newFake answers chats with the handler. It has one model, "m", loaded with a
// window of 8192.
func newFake(t *testing.T, chat http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{
		chat: chat,
		show: says(`{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":32768}}`),
		ps:   says(`{"models":[{"name":"m:latest","context_length":8192}]}`),
		tags: says(`{"models":[{"name":"m:latest"}]}`),
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

// refuses answers with a status and a body.
func refuses(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.paths = append(f.paths, r.URL.Path)
	if r.URL.Path == "/api/chat" {
		var m map[string]any
		if json.Unmarshal(body, &m) == nil {
			f.chats = append(f.chats, m)
		}
	}
	f.mu.Unlock()
	switch r.URL.Path {
	case "/api/chat":
		f.chat(w, r)
	case "/api/show":
		f.show(w, r)
	case "/api/ps":
		f.ps(w, r)
	case "/api/tags":
		f.tags(w, r)
	case "/api/pull":
		f.pull(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) count(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.paths {
		if p == path {
			n++
		}
	}
	return n
}

func (f *fake) sent() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.chats)
}

// hang waits until the caller has gone.
func (f *fake) hang(r *http.Request) {
	<-r.Context().Done()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left++
}

func (f *fake) leavers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left
}

func client(t *testing.T, host string) *ollama.Client {
	t.Helper()
	c, err := ollama.New(ollama.Options{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (f *fake) model(t *testing.T, o ollama.ModelOptions) *ollama.Model {
	t.Helper()
	return client(t, f.URL).Model("m", o)
}

// lines streams the given lines, one flush each.
func lines(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, l := range lines {
			fmt.Fprintln(w, l)
			w.(http.Flusher).Flush()
		}
	}
}

// piece is the line of a chunk of text.
func piece(text string) string { return message("content", text) }

func message(field, text string) string {
	b, _ := json.Marshal(map[string]any{
		"model": "m", "created_at": "2026-01-02T03:04:05Z", "done": false,
		"message": map[string]string{"role": "assistant", field: text},
	})
	return string(b)
}

const lastLine = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`

// abort cuts the connection in the middle of the response.
func abort(before http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		before(w, r)
		panic(http.ErrAbortHandler)
	}
}

// hear collects a reply.
func hear(t *testing.T, m providers.Model, r providers.Request) (text, thought string, last providers.Chunk, err error) {
	t.Helper()
	if r.Messages == nil {
		r.Messages = []providers.Message{{Role: providers.User, Text: "hello"}}
	}
	for c, e := range m.Generate(t.Context(), r) {
		if e != nil {
			return text, thought, last, e
		}
		text, thought, last = text+c.Text, thought+c.Thought, c
	}
	return text, thought, last, nil
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
