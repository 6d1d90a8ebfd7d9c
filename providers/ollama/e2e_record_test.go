//go:build linux

package ollama_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is a proxy between mylm and a server that records their chats.
type recorder struct {
	*httptest.Server

	mu    sync.Mutex
	chats []*chat
	marks []mark
}

// chat is one request and what has come back so far.
type chat struct {
	request []byte
	reply   bytes.Buffer
}

// mark is a place in a reply that somebody waits for.
type mark struct {
	chat, pieces int
	reached      chan struct{}
}

type chatKey struct{}

// record starts a recorder before a server.
func record(t *testing.T, server string) *recorder {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		FlushInterval: -1,
		ErrorLog:      quiet(),
		ModifyResponse: func(resp *http.Response) error {
			if n, ok := resp.Request.Context().Value(chatKey{}).(int); ok {
				resp.Body = &overheard{ReadCloser: resp.Body, r: r, chat: n}
			}
			return nil
		},
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/api/chat" {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			req = req.WithContext(context.WithValue(req.Context(), chatKey{}, r.add(body)))
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) add(request []byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chats = append(r.chats, &chat{request: request})
	return len(r.chats) - 1
}

// overheard is the body of a reply.
type overheard struct {
	io.ReadCloser
	r    *recorder
	chat int
}

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.r.heard(o.chat, p[:n])
	return n, err
}

func (r *recorder) heard(n int, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.chats[n]
	c.reply.Write(b)
	pieces := bytes.Count(c.reply.Bytes(), []byte("\n"))
	r.marks = slices.DeleteFunc(r.marks, func(m mark) bool {
		if m.chat != n || pieces < m.pieces {
			return false
		}
		close(m.reached)
		return true
	})
}

// middle is closed when mylm's n-th reply, from 0, is under way.
func (r *recorder) middle(n int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := mark{n, 20, make(chan struct{})}
	r.marks = append(r.marks, m)
	return m.reached
}

// sent is a request for a chat.
type sent struct {
	fields   map[string]any // all but the messages, which differ with the day and the place
	messages []said
}

type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// requests returns the requests for chats so far.
func (r *recorder) requests(t *testing.T) []sent {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []sent
	for _, c := range r.chats {
		var m struct{ Messages []said }
		s := sent{}
		if err := json.Unmarshal(c.request, &m); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.request, &s.fields); err != nil {
			t.Fatal(err)
		}
		delete(s.fields, "messages")
		s.messages = m.Messages
		out = append(out, s)
	}
	return out
}

// heardReply is a reply as it passed.
type heardReply struct {
	text string
	done bool
}

// reply returns the n-th reply, from 0.
func (r *recorder) reply(t *testing.T, n int) (h heardReply) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.chats[n].reply.String()) {
		var l struct {
			Message said
			Done    bool
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			break // cut off
		}
		h.text, h.done = h.text+l.Message.Content, l.Done
	}
	return h
}

// wantRequests checks that there were n chats and that they differ in their
// messages only.
func (r *recorder) wantRequests(t *testing.T, n int) []sent {
	t.Helper()
	all := r.requests(t)
	if len(all) != n {
		t.Fatalf("%d requests for a chat, want %d", len(all), n)
	}
	for _, s := range all {
		if !reflect.DeepEqual(s.fields, all[0].fields) {
			t.Errorf("a request with %v after one with %v", s.fields, all[0].fields)
		}
	}
	return all
}

// pieces returns in how many pieces the n-th reply came up to a text.
func (r *recorder) pieces(t *testing.T, n int, text string) (pieces int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var so string
	for line := range strings.Lines(r.chats[n].reply.String()) {
		var l struct{ Message said }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			break
		}
		pieces++
		if so += l.Message.Content; strings.Contains(so, text) {
			return pieces
		}
	}
	t.Fatalf("the reply lacks %q: %q", text, so)
	return 0
}
