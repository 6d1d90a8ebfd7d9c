//go:build unix

package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// servingMemory starts mylm mcp serve over HTTP and returns its address.
func servingMemory(t *testing.T, c *exec.Cmd) (base string) {
	t.Helper()
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if base = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line); base == "" {
		t.Fatalf("%q, %v", line, err)
	}
	return base
}

// Over HTTP no page of a browser gets in, nobody without the key, and no name that
// somebody had resolved to this machine.
func TestMCPServeHTTP(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "sesame"} {
		c := command(t, nil, "mcp", "serve", "--http", "127.0.0.1:0")
		if key != "" {
			c.Args, c.Env = append(c.Args, "--key-env", "SERVE_KEY"), append(c.Env, "SERVE_KEY="+key)
		}
		base := servingMemory(t, c)
		for name, test := range map[string]struct {
			host, origin, key string
			want              int
		}{
			"as it is":     {key: key, want: http.StatusOK},
			"a page":       {key: key, origin: "http://localhost", want: http.StatusForbidden},
			"another key":  {key: "open", want: map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[key == ""]},
			"another name": {key: key, host: "evil.example", want: http.StatusForbidden},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Authorization", "Bearer "+test.key)
			if r.Host = test.host; test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != test.want {
				t.Errorf("key %q, %s: status %d, want %d", key, name, resp.StatusCode, test.want)
			}
		}
	}
}

// A note belongs to the project of the program's first directory, names the program, and
// counts as written elsewhere, in the revision in which a server asks by having a call made again, too.
func TestMCPServeRoots(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		c := command(t, nil, "mcp", "serve")
		c.Env = append(c.Env, "MYLM_NO_SAVE=")
		project := filepath.Join(t.TempDir(), "project")
		if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		//lint:ignore SA1019 clients of today name their directories in this way
		client := mcp.NewClient(&mcp.Implementation{Name: "other-agent", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}})
		//lint:ignore SA1019 as above
		client.AddRoots(&mcp.Root{URI: "file://" + project})
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: c}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "remember", Arguments: map[string]any{"text": "The staging host is heron."}})
		if err != nil || r.IsError {
			t.Fatal(err, r)
		}
		session.Close()
		list := again(c, "memory", "list", "--json") // of the project
		list.Dir = project
		out, err := list.CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, `"source": "other-agent"`) || !strings.Contains(text, `"foreign"`) {
			t.Errorf("%s: %v: %s", revision, err, text)
		}
	}
}

// On a terminal it says what it waits for.
func TestMCPServeOnATerminal(t *testing.T) {
	t.Parallel()
	s := onScreen(t, command(t, nil, "mcp", "serve"), 100, 20)
	s.shows("mylm: waiting for a program that speaks MCP on stdin")
	s.types(ctrlD)
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s:\n%s", code, s.text())
	}
}
