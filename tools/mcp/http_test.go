//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools/mcp"
)

// sayServer is a server of the SDK with one tool.
func sayServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "say", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Say it."}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you said " + in.Text}}}, nil, nil
	})
	return s
}

// Both transports work, and the older one is found by itself.
func TestHTTP(t *testing.T) {
	t.Parallel()
	s := sayServer()
	get := func(*http.Request) *sdk.Server { return s }
	for name, handler := range map[string]http.Handler{
		"streamable": sdk.NewStreamableHTTPHandler(get, nil),
		"json":       sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{JSONResponse: true, Stateless: true}),
		"older":      sdk.NewSSEHandler(get, nil),
		"found":      sdk.NewSSEHandler(get, nil), // as the older one, by itself
	} {
		var keyed atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer key" {
				keyed.Add(1)
			}
			handler.ServeHTTP(w, r)
		}))
		h := hub(t, mcp.Options{Servers: []mcp.Server{{Name: "one", URL: server.URL, Headers: map[string]string{"Authorization": "Bearer key"}, SSE: name == "older"}}})
		wantText(t, call(t, registry(t, h), "one__echo", `{"text":"hi"}`), "you said hi")
		if keyed.Load() == 0 {
			t.Errorf("%s: the header was not sent", name)
		}
		h.Close()
		server.CloseClientConnections()
		server.Close()
	}
}

// What a service can do to its client is bounded: it gets the header, and nobody else;
// too much text, a refusal and silence are errors.
func TestHostileHTTP(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Add(1)
	}))
	t.Cleanup(elsewhere.Close)
	for want, handler := range map[string]http.HandlerFunc{
		"redirects to another host": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
		},
		"wants a login": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"it answers with HTTP status 404, Not Found": func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"\"text/html\"": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>hi</html>")
		},
		"refuses access": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"more than 16 MB": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`)
			part := strings.Repeat("x", 1<<20)
			for range 64 {
				if _, err := io.WriteString(w, part); err != nil {
					return
				}
			}
		},
		"not ready within": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the end of the client is noticed
			<-r.Context().Done()
		},
	} {
		server := httptest.NewServer(handler)
		start := time.Minute
		if strings.HasPrefix(want, "not ready") {
			start = 200 * time.Millisecond
		}
		h := hub(t, mcp.Options{Servers: []mcp.Server{{Name: "one", URL: server.URL, Start: start, Headers: map[string]string{"X-Key": "secret"}}}})
		o := call(t, registry(t, h), "one__echo", `{"text":"hi"}`)
		if o.Success() || !strings.Contains(o.Error, want) {
			t.Errorf("got %q, want %q in it", shortened(o.Error), want)
		}
		h.Close()
		server.CloseClientConnections()
		server.Close()
	}
	if leaked.Load() > 0 {
		t.Error("another host got a request")
	}
}
