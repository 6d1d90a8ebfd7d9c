package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// ollama is a server that answers as Ollama does for a model called m, and
// notes when a chat request begins to arrive.
type ollama struct {
	*http.Server
	url string

	mu   sync.Mutex
	seen time.Time
}

func listen() (*ollama, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &ollama{url: "http://" + l.Addr().String()}
	o.Server = &http.Server{Handler: handler(), ReadHeaderTimeout: oneRun}
	go o.Serve(&listener{l, o}) // ends with Close
	return o, nil
}

const (
	details = `"details":{"format":"gguf","family":"llama","families":["llama"],"parameter_size":"1B","quantization_level":"Q4_0"}`
	entry   = `{"models":[{"name":"m:latest","model":"m:latest","size":1,"size_vram":1,"digest":"0","context_length":8192,"expires_at":"2100-01-01T00:00:00Z",` + details + `}]}`
	show    = `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":8192},"template":"{{ .Prompt }}",` + details + `}`
	reply   = `{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":"ok"},"done":false}
{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":1}
`
)

func handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern, contentType, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			fmt.Fprint(w, body)
		})
	}
	answer("POST /api/chat", "application/x-ndjson", reply)
	answer("POST /api/show", "application/json", show)
	answer("GET /api/ps", "application/json", entry)
	answer("GET /api/tags", "application/json", entry)
	answer("GET /api/version", "application/json", `{"version":"0.32.15"}`)
	answer("/{$}", "text/plain", "Ollama is running")
	return mux
}

func (o *ollama) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = time.Time{}
}

// first returns when the chat request's first byte arrived since reset.
func (o *ollama) first() (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen, !o.seen.IsZero()
}

func (o *ollama) note(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen.IsZero() {
		o.seen = now
	}
}

// listener and conn look at what arrives before the HTTP server does: its
// handler is called only after it has read the whole head.
type listener struct {
	net.Listener
	server *ollama
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c, l.server}, nil
}

type conn struct {
	net.Conn
	server *ollama
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	// net/http reads the first byte of a later request by itself, without its P.
	if head := b[:n]; bytes.HasPrefix(head, []byte("POST /api/chat")) || bytes.HasPrefix(head, []byte("OST /api/chat")) {
		c.server.note(time.Now())
	}
	return n, err
}
