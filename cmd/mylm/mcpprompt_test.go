//go:build unix

package main

import (
	"fmt"
	"testing"

	"mylm/providers/calling"
)

// However many tools a server has, the prompt grows by a few hundred tokens.
func TestMCPPromptGrowth(t *testing.T) {
	t.Parallel()
	h := &home{t, t.TempDir(), "127.0.0.1:1"}
	prompt := func() string {
		t.Helper()
		out, errs, code := h.run("ask", "--show-prompt", "hello")
		if code != "0" {
			t.Fatal(errs)
		}
		return out
	}
	before := calling.Estimate(prompt())
	for _, n := range []int{3, 40, 400} {
		if _, errs, code := h.run("mcp", "add", "talk", "--replace", "--env", fmt.Sprintf("MCP_TOOLS=%d", n), "--", "mcp-server"); code != "0" {
			t.Fatal(errs)
		}
		grown := calling.Estimate(prompt()) - before
		t.Logf("%d tools: %d tokens more", n+2, grown)
		if n >= 40 && (grown <= 0 || grown > 500) {
			t.Errorf("with %d tools the prompt grows by %d tokens, want at most 500", n, grown)
		}
	}
}
