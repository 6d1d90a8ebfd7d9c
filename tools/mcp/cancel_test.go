//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/mcp"
)

// A server that asks without end and reads no response is ended.
func TestFlood(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "floods")}}))
	wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "it asked for more than 1000 things at once")
}

// A call that was cancelled is not waited for: what comes then with a wrong id is an
// error of the next call at once.
func TestCancelledCallIsForgotten(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"", answering("server_discover", discovered)} {
		told := filepath.Join(t.TempDir(), "cancelled")
		r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "loses", env, "CANCELLED="+told)}}))
		inv, err := r.Prepare("one__echo", json.RawMessage(`{"text":"hang"}`))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wantText(t, inv.Run(tools.WithProgress(ctx, func(string) { cancel() }), time.Minute), "cancelled")
		cancel()
		wasTold(t, told)
		wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "the id 77, which no request has")
	}
}
