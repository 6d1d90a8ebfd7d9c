//go:build unix

package mcp_test

import (
	"testing"

	"mylm/tools/mcp"
)

// revisions are those of the protocol, newest first.
var revisions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// A server that speaks one revision only is spoken with in it: over stdio in each,
// also in batches where there are any, and over HTTP in those that have it.
func TestRevisions(t *testing.T) {
	t.Parallel()
	speaks := func(t *testing.T, s mcp.Server, revision string) {
		t.Helper()
		h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
		defer h.Close()
		lists, err := h.List(t.Context())
		if err != nil || lists[0].Version != revision || len(lists[0].Tools) != 1 {
			t.Fatalf("%v, %+v", err, lists)
		}
		wantText(t, call(t, registry(t, h), "one__echo", `{"text":"hi"}`), "you said hi")
	}
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			for _, mode := range []string{"good", "batches"} {
				speaks(t, fakeServer(t, "one", mode, "REVISION="+revision), revision)
			}
			if revision == "2024-11-05" {
				return // it has another transport for HTTP: see TestHTTP
			}
			speaks(t, overHTTP(t, &fake{mode: "good", revision: revision}, false), revision)
		})
	}
}
