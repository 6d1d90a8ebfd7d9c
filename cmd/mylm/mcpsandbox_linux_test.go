package main

import (
	"os"
	"path/filepath"
	"testing"

	"mylm/tools/sandbox"
)

// A server's program writes into the workspace and nowhere else, unless its table says so.
func TestMCPSandbox(t *testing.T) {
	t.Parallel()
	if err := (sandbox.Policy{Workspace: t.TempDir()}).Check(); err != nil {
		noSandbox(t, err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	replies := toolReply("", "talk__write", map[string]any{"path": "inside"}) + toolReply("", "talk__write", map[string]any{"path": outside}) + "=== reply\nDone.\n"
	first := command(t, map[string]string{"replies.txt": replies})
	home := t.TempDir()
	first.Env = append(first.Env, "MYLM_SANDBOX=", "HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_DATA_HOME="+home+"/data", "XDG_CACHE_HOME="+home+"/cache")
	for _, test := range []struct {
		flags []string
		out   bool
	}{{nil, false}, {[]string{"--sandbox", "off"}, true}} {
		add := again(first, append(append([]string{"mcp", "add", "talk", "--replace"}, test.flags...), "--", "mcp-server")...)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		said, err := again(first, "ask", "q", "--yes", "--verbose").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if _, err := os.Stat(filepath.Join(first.Dir, "inside")); err != nil {
			t.Errorf("%v: not written inside: %s", test.flags, said)
		}
		if _, err := os.Stat(outside); (err == nil) != test.out {
			t.Errorf("%v: written outside: %v\n%s", test.flags, err == nil, said)
		}
	}
}
