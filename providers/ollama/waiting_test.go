package ollama_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mylm/providers"
	"mylm/providers/ollama"
)

// TestWaitingSaysWhatTheServerDoes holds a reply back until the caller knows what the
// server is doing. The first look may come before a long request is there, and what it
// found is not said twice.
func TestWaitingSaysWhatTheServerDoes(t *testing.T) {
	const loaded = `{"models":[{"name":"m:latest","context_length":8192}]}`
	for _, tt := range []struct {
		name   string
		before string // what the server lists before the request
		during string // and while it works
		words  int    // of the prompt
		want   string
	}{
		{"loading", `{"models":[]}`, `{"models":[]}`, 800, "loading m"},
		{"loading or reading", `{"models":[]}`, loaded, 800, "loading m, or reading about 1,000 tokens"},
		{"reading", loaded, loaded, 800, "reading about 1,000 tokens"},
		{"reading little", loaded, loaded, 799, "reading about 998 tokens"},
		{"reading a million", loaded, loaded, 987_654, "reading about 1,234,567 tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			polled := make(chan struct{})
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Store(true)
				select {
				case <-polled:
				case <-r.Context().Done():
					return
				}
				io.WriteString(w, `{"message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}`+"\n")
			})
			f.ps = func(w http.ResponseWriter, r *http.Request) {
				if !asked.Load() {
					io.WriteString(w, tt.before)
					return
				}
				io.WriteString(w, tt.during)
			}
			var said []string
			var once atomic.Bool
			request := providers.Request{
				Messages: []providers.Message{{Role: providers.User, Text: strings.Repeat("long ", tt.words)}},
				Status: func(text string) {
					said = append(said, text)
					if (text == tt.want || asked.Load()) && once.CompareAndSwap(false, true) {
						close(polled)
					}
				},
			}
			var text string
			for c, err := range client(t, f.URL).Model("m", ollama.ModelOptions{}).Generate(t.Context(), request) {
				if err != nil {
					t.Fatal(err)
				}
				text += c.Text
			}
			if text != "hi" || !slices.Contains(said, tt.want) {
				t.Errorf("%q after %q, want %q", text, said, tt.want)
			}
		})
	}
}

// TestWaitingEndsWithTheCaller leaves while the server is silent, also to the
// question what it is doing.
func TestWaitingEndsWithTheCaller(t *testing.T) {
	f := newFake(t, nil)
	polled := make(chan struct{}, 8)
	var asked atomic.Bool
	f.chat = func(_ http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		f.hang(r)
	}
	whole := f.ps
	f.ps = func(w http.ResponseWriter, r *http.Request) {
		if !asked.Load() {
			whole(w, r)
			return
		}
		polled <- struct{}{}
		<-r.Context().Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-polled
		cancel()
	}()
	for _, err := range client(t, f.URL).Model("m", ollama.ModelOptions{}).Generate(ctx, providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "hi"}}, Status: func(string) {},
	}) {
		if err != ctx.Err() {
			t.Errorf("err = %v", err)
		}
	}
	f.Close() // waits for the handlers
	if f.leavers() != 1 {
		t.Error("the server was not told that the caller has gone")
	}
}
