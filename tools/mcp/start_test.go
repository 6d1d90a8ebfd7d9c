//go:build unix

package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mylm/tools/mcp"
)

// Servers start at once: each of these waits for the other.
func TestServersStartInParallel(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	meet := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { both.Done(); both.Wait() }))
	t.Cleanup(func() { meet.CloseClientConnections(); meet.Close() })
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "meets", "MEET="+meet.URL), fakeServer(t, "two", "meets", "MEET="+meet.URL)}})
	if lists, err := h.List(t.Context()); err != nil || len(lists[0].Tools) != 1 || len(lists[1].Tools) != 1 {
		t.Error(err, lists)
	}
}

// handled answers requests without a network.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// A server that crashes in each call is connected to again for the next one, after a
// pause that grows; once it has served a call there is none.
func TestPauseAfterCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{mode: "good", answers: map[string]string{"tools/call": `{"jsonrpc"`}}
		s := mcp.Server{Name: "one", URL: "http://127.0.0.1:1/mcp", HTTP: handled{f.handler(t, false)}}
		h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
		defer h.Close() // in here
		r := registry(t, h)
		paused := func() time.Duration {
			began := time.Now()
			if o := call(t, r, "one__echo", `{"text":"x"}`); o.Success() == (f.answers != nil) {
				t.Error(o)
			}
			synctest.Wait() // the end of a connection is noticed
			return time.Since(began)
		}
		if p := paused(); p != 0 {
			t.Errorf("it pauses %v before the first call", p)
		}
		for want := 200 * time.Millisecond; want < time.Minute; want *= 2 { // half of it more or less, and about 10 s at most
			if p, most := paused(), min(want, 10*time.Second); p < most/2 || p > most*3/2 {
				t.Errorf("it pauses %v, want about %v", p, most)
			}
		}
		f.answers = nil
		paused()
		if p := paused(); p != 0 {
			t.Errorf("it pauses %v after a call that was answered", p)
		}
	})
}
