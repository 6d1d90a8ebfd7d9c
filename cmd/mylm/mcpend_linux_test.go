package main

import (
	"path/filepath"
	"testing"
)

// A server does not outlive mylm that is killed, not even one that waits for nothing.
func TestMCPServerEndsWithMylm(t *testing.T) {
	t.Parallel()
	first := command(t, map[string]string{"replies.txt": toolReply("", "talk__echo", map[string]any{"text": "hi"}) + "=== reply hang\n"})
	if out, err := again(first, "mcp", "add", "talk", "--no-test", "--env", "MCP_STARTED=started", "--env", "MCP_STUBBORN=1", "--", "mcp-server").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ask := again(first, "ask", "q", "--yes")
	if err := ask.Start(); err != nil {
		t.Fatal(err)
	}
	server := pidIn(t, filepath.Join(first.Dir, "started"))
	if err := ask.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = ask.Wait()
	gone(t, server)
}
