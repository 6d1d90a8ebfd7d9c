//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/tools/mcp/mcptest"
)

// A run without a login says how to log in, with one it calls the server's tools; the
// tokens are in a file that nobody else reads, and are printed nowhere.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	s := mcptest.New()
	t.Cleanup(s.Close)
	h := &home{t, t.TempDir(), "127.0.0.1:1"}
	script := filepath.Join(h.dir, "echo.txt")
	if err := os.WriteFile(script, []byte("=== reply\n<tool_code><name>tracker__echo</name><parameters>{\"text\": \"hi\"}</parameters></tool_code>\n=== reply\nDone.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	browser := "browser"
	var printed strings.Builder
	run := func(want string, args ...string) string {
		t.Helper()
		cmd := h.command(args...)
		cmd.Env = append(cmd.Env, "BROWSER="+browser)
		out, err := cmd.CombinedOutput()
		printed.Write(out)
		if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != want {
			t.Fatalf("%v: exit %s (%v), want %s\n%s", args, got, err, want, out)
		}
		return string(out)
	}
	holds := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in:\n%s", part, out)
			}
		}
	}
	ask := []string{"ask", "-m", "scripted/" + script, "--yes", "--verbose", "q"}
	holds(run("0", "mcp", "add", "tracker", "--url", s.Endpoint()), "tracker was added", "it wants a login: mylm mcp login tracker")
	holds(run("0", ask...), "the MCP server tracker wants a login: mylm mcp login tracker")
	holds(run("0", "mcp", "login", "tracker"), "tracker wants you to log in at 127.0.0.1", s.URL+"/authorize?", "logged in to tracker", "tracker__echo")
	holds(run("0", ask...), "you said hi", "Done.")
	s.Expire()
	holds(run("0", ask...), "you said hi")
	files, err := filepath.Glob(filepath.Join(h.dir, "data", "mylm", "mcp-logins", "tracker-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	holds(run("0", "mcp", "show", "tracker"), "logged in")
	holds(run("0", "mcp", "logout", "tracker"), "forgotten")
	holds(run("0", "mcp", "logout", "tracker"), "no login")
	holds(run("0", ask...), "mylm mcp login tracker")
	s.Change(func(s *mcptest.Service) { s.Deny = "access_denied" })
	holds(run("1", "mcp", "login", "tracker"), "the authorization server refused: access_denied")
	s.Change(func(s *mcptest.Service) { s.Deny = "" })
	browser = "browser %s" // as some programs want it
	run("0", "mcp", "login", "tracker")
	run("0", "mcp", "remove", "tracker")
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("the login outlives the server")
	}
	if strings.Contains(printed.String(), "access-") || strings.Contains(printed.String(), "refresh-") {
		t.Error("a token was printed")
	}
	run("0", "mcp", "add", "talk", "--no-test", "--", "mcp-server")
	holds(run("2", "mcp", "login", "talk"), "is a program")
	holds(run("2", "mcp", "login", "other"), "there is no MCP server")
}
