//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A project's server is used once the user has agreed to it, and asked about again when
// its command, arguments, environment, directory or address is another.
func TestMCPTrust(t *testing.T) {
	t.Parallel()
	replies := toolReply("", "talk__echo", map[string]any{"text": "hi"}) + "=== reply\nDone.\n"
	first := command(t, map[string]string{"replies.txt": replies})
	if err := os.Mkdir(filepath.Join(first.Dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ server, answer, want string }{
		{`{"command":"mcp-server"}`, "n\n", "unknown tool"},
		{`{"command":"mcp-server"}`, "", "unknown tool"},
		{`{"command":"mcp-server","args":["a"]}`, "y\n", "echo says hi"},
		{`{"command":"mcp-server","args":["a"]}`, "", "echo says hi"},
		{`{"command":"mcp-server","args":["b"]}`, "n\n", "unknown tool"},
		{`{"command":"other-server","args":["a"]}`, "n\n", "unknown tool"},
		{`{"command":"mcp-server","args":["a"],"env":{"MCP_SUFFIX":"!"}}`, "n\n", "unknown tool"},
		{`{"command":"mcp-server","args":["a"],"cwd":"sub"}`, "n\n", "unknown tool"},
		{`{"url":"http://127.0.0.1:9/a"}`, "n\n", "unknown tool"},
		{`{"url":"http://127.0.0.1:9/b"}`, "n\n", "unknown tool"},
		{`{"command":"mcp-server","args":["a"]}`, "", "echo says hi"},
	} {
		text := `{"mcpServers":{"talk":` + step.server + `}}`
		if err := os.WriteFile(filepath.Join(first.Dir, ".mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := converse(t, again(first, "ask", "q", "--yes", "--verbose"), "", &pty.Winsize{Rows: 30, Cols: 100})
		if step.answer != "" {
			c.expect("This project wants to use the MCP server talk")
			c.expect("Use it? [y]es, [n]o: ")
			c.types(step.answer)
		}
		c.expect(step.want)
		c.exit()
		if asked := strings.Contains(c.text(), "Use it?"); asked != (step.answer != "") {
			t.Errorf("%s: asked %v\n%s", step.server, asked, c.text())
		}
	}
}
