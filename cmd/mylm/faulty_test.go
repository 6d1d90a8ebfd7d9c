//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// fault is a faulty reply of the server. A fault that waits does so until over.
type fault func(w http.ResponseWriter, r *http.Request, over <-chan struct{})

// faulty is a server with Ollama's wire format whose first replies are faults; the
// later ones are "Done.".
type faulty struct {
	*httptest.Server
	times int32 // how many replies are faults
	asked atomic.Int32
}

// ever is more than all attempts.
const ever = 1000

func newFaulty(t *testing.T, times int, fail fault) *faulty {
	healthy := newPlaced(t, "Done.")
	f := &faulty{times: int32(times)}
	over := make(chan struct{})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/chat":
			healthy.Config.Handler.ServeHTTP(w, r)
		case f.asked.Add(1) > f.times:
			healthy.chat(w, r)
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-ndjson")
			fail(w, r, over)
		}
	}))
	t.Cleanup(func() { // in this order: faults may wait for the end
		close(over)
		f.Close()
	})
	return f
}

// piece is a line of a reply.
func piece(field, text string) string {
	b, _ := json.Marshal(map[string]any{
		"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": false, "message": map[string]string{"role": "assistant", field: text},
	})
	return string(b) + "\n"
}

// says is a line of text.
func says(text string) string { return piece("content", text) }

const lastPiece = `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}` + "\n"

// sends writes each text at once.
func sends(texts ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		for _, text := range texts {
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
	}
}

// resets sends text and resets the connection.
func resets(before ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		if before != nil {
			sends(before...)(w, r, over)
		}
		conn := hijacked(w)
		_ = conn.(*net.TCPConn).SetLinger(0) // so that it is a reset and no end
		conn.Close()
	}
}

func hijacked(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

// refuses answers with a status and with headers, each a name and a value.
func refuses(status int, body string, headers ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// stays sends text, and then nothing until the client disconnects.
func stays(texts ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		sends(texts...)(w, r, over)
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}
}

// ignores sends text and keeps the connection even if the client disconnects.
func ignores(texts ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		sends(texts...)(w, r, over)
		conn := hijacked(w)
		<-over
		conn.Close()
	}
}

// endless repeats a text until the client disconnects.
func endless(text string) fault {
	return func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

// buffered sends a reply as a proxy does that buffers it whole.
func buffered(texts ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		whole := strings.Join(texts, "")
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, whole)
	}
}
