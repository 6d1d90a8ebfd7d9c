//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A server asks the user, the model and for directories only where its table allows it:
// its questions are put on the terminal, and the model answers nothing unasked.
func TestMCPAsks(t *testing.T) {
	t.Parallel()
	call := func(tool string) string { return toolReply("", "talk__"+tool, map[string]any{}) }
	replies := call("deploy") + call("sum") + "=== reply\nA bird.\n" + call("where") + call("survey") + "=== reply\nDone.\n"
	first := command(t, map[string]string{"replies.txt": replies})
	path := filepath.Join(first.Dir, "config", "mylm", "config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(table string) *conversation {
		if err := os.WriteFile(path, []byte("[mcp.talk]\ncommand = [\"mcp-server\"]\nenv = { MCP_ASKS = \"1\" }\n"+table), 0o600); err != nil {
			t.Fatal(err)
		}
		return converse(t, again(first, "ask", "q", "--yes", "--verbose"), "", &pty.Winsize{Rows: 40, Cols: 200})
	}

	c := start("elicitation = true\nsampling = true\nroots = true\n")
	c.expect("The MCP server talk asks:")
	c.expect("host: the host")
	c.types("heron\n")
	c.expect("times")
	c.types("3\n")
	c.expect(`"host":"heron","times":3`)
	c.expect("The MCP server talk asks:")
	c.expect("user: What is a heron?")
	c.types("1\n")
	c.expect("A bird.")
	c.expect("file://" + first.Dir)
	c.expect(`survey got {"action":"decline"}`) // for 100 values
	c.expect("Done.")
	c.exit()

	// With a no, or without the table's word, the server gets nothing, and no model is asked.
	if err := os.WriteFile(filepath.Join(first.Dir, "replies.txt"), []byte(strings.Replace(replies, "=== reply\nA bird.\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c = start("elicitation = true\nsampling = true\n")
	c.expect("host: the host")
	c.types("\n")
	c.expect(`deploy got {"action":"decline"}`)
	c.expect("refuse")
	c.types("2\n")
	c.expect("talk__sum: MCP server talk: refused by the user")
	c.expect(`where got {"roots":[]}`)
	c.expect("Done.")
	c.exit()
	c = start("")
	c.expect("talk__deploy: MCP server talk: client does not support elicitation")
	c.expect("talk__sum: MCP server talk: client does not support CreateMessage")
	c.expect(`where got {"roots":[]}`)
	c.expect("Done.")
	c.exit()
	if strings.Contains(c.text(), "asks:") {
		t.Error(c.text())
	}
}
