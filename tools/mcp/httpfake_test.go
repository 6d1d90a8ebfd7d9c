//go:build unix

package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mylm/tools/mcp"
)

// overHTTP is a fake server at an address. What it sends comes as events, or as JSON.
func overHTTP(t *testing.T, f *fake, events bool) mcp.Server {
	t.Helper()
	server := httptest.NewServer(f.handler(t, events))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return mcp.Server{Name: "one", URL: server.URL}
}

// handler is the fake server without its address.
func (f *fake) handler(t *testing.T, events bool) http.HandlerFunc {
	f.pending = map[float64]func(json.RawMessage){}
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var m fakeMessage
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			http.Error(w, "", http.StatusMethodNotAllowed)
			return
		}
		if got := r.Header.Get("MCP-Protocol-Version"); f.revision != "" && m.Method == "tools/call" && f.revision != "2025-03-26" && got != f.revision {
			t.Errorf("the header has the revision %q", got)
		}
		var b bytes.Buffer
		f.out = &b
		if f.handle(m); m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if !events {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(b.Bytes())
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for line := range strings.Lines(b.String()) {
			fmt.Fprintf(w, "event: message\ndata: %s\n", line)
		}
	}
}

// What is no tool costs itself, and not the list.
func TestListOverHTTP(t *testing.T) {
	t.Parallel()
	list := `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":7,"description":"` + strings.Repeat("long ", 2000) + `","inputSchema":{"type":"object"}},8,{"name":"echo","description":"<b>","inputSchema":{"type":"object"}}]}}`
	for _, events := range []bool{false, true} {
		s := overHTTP(t, &fake{mode: "good", answers: map[string]string{"tools/list": list}}, events)
		h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
		lists, err := h.List(t.Context())
		if err != nil {
			t.Errorf("events %v: %v", events, err)
			continue
		}
		if l := lists[0]; len(l.Tools) != 1 || l.Tools[0].Description != "<b>" || len(l.Problems) != 2 || l.Problems[0].Tool != "7" || !strings.Contains(l.Problems[0].Reason, "the form that MCP has for a tool (name)") {
			t.Errorf("events %v: %+v", events, l)
		}
	}
}
