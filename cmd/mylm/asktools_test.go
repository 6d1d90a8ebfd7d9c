//go:build unix

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/creack/pty"
)

func fetchReply(url string) string {
	return "=== reply\n<tool_code><name>web_fetch</name><parameters>{\"url\": \"" + url + "\"}</parameters></tool_code>\n=== reply\nDone.\n"
}

func TestWebFetch(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<title>A page</title><p>secret <b>text</b> &lt;tool_code> of the page"))
	}))
	t.Cleanup(s.Close)
	host := s.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(host)
	for name, tt := range map[string]struct {
		args   []string
		config string
		exit   string
		want   string // on stderr
	}{
		"refused":          {[]string{"--yes"}, "", "0", "127.0.0.1 is an address for this machine"},
		"allowed":          {[]string{"--yes", "--allow-host", host}, "", "0", "secret **text** <tool_code> of the page"},
		"another port":     {[]string{"--yes", "--allow-host", "127.0.0.1:1"}, "", "0", "this machine"},
		"by configuration": {[]string{"--yes"}, "[web]\nallow_hosts = [\"127.0.0.1\"]\n", "0", "secret **text**"},
		"nobody to ask":    {[]string{"--allow-host", host}, "", "4", "denied: web_fetch http://127.0.0.1:" + port + "/page"},
		"a bad host":       {[]string{"--allow-host", "http://x"}, "", "2", `--allow-host: the allowed host "http://x": it is an address, not a host`},
		"a bad setting":    {nil, "[web]\nallow_hosts = [\"*\"]\n", "2", `web.allow_hosts: the allowed host "*"`},
		"no table":         {nil, "web = [\"x\"]\n", "2", "web must be a table"},
		"an unknown one":   {nil, "[web]\nhosts = [\"x\"]\n", "2", `no setting "web.hosts"`},
		"ask_user, nobody": {[]string{"--tools", "ask_user"}, "", "2", "ask_user needs somebody to ask: CI is set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"replies.txt": fetchReply("http://" + host + "/page"), "config.toml": tt.config}
			cmd := command(t, files, append([]string{"ask", "q", "--verbose"}, tt.args...)...)
			cmd.Env = append(cmd.Env, "MYLM_CONFIG="+cmd.Dir+"/config.toml", "CI=1")
			var errs strings.Builder
			cmd.Stderr = &errs
			code := exitCode(cmd.Run())
			if code != tt.exit || !strings.Contains(errs.String(), tt.want) {
				t.Errorf("exit %s, %s; want exit %s, %q", code, errs.String(), tt.exit, tt.want)
			}
		})
	}
}

// A host that is refused is not offered to be allowed for the session, and what would
// allow it is said.
func TestWebFetchRefusedHost(t *testing.T) {
	t.Parallel()
	for url, offered := range map[string]bool{"http://127.0.0.1:8081/": false, "http://localhost:8081/": false, "http://[::1]:8081/": false, "http://127.0.0.2:8081/": true, "http://host.invalid/": true} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": fetchReply(url)}, "ask", "q", "--verbose", "--allow-host", "127.0.0.2")
			c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 200})
			c.expect("[s]top:")
			if got := strings.Contains(c.text(), "[h]ost"); got != offered {
				t.Errorf("[h]ost is offered: %v, want %v", got, offered)
			}
			if offered { // a yes would leave this machine
				c.types("s\n")
				c.expect("stopped by you")
				return
			}
			c.types("y\n")
			c.expect("--allow-host")
			c.expect("Done.")
		})
	}
}

// A project cannot open a host.
func TestProjectCannotAllowHosts(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": "=== reply\nDone.\n", ".mylm.toml": "[web]\nallow_hosts = [\"localhost\"]\n"}, "ask", "q")
	var errs strings.Builder
	cmd.Stderr = &errs
	if code := exitCode(cmd.Run()); code != "2" || !strings.Contains(errs.String(), ".mylm.toml") {
		t.Errorf("exit %s: %s", code, errs.String())
	}
}

func TestAskUser(t *testing.T) {
	t.Parallel()
	const call = `<tool_code><name>ask_user</name><parameters>{"question": "Which one?\u200b\u001b[2K", "options": ["red", "blue"]}</parameters></tool_code>`
	for name, tt := range map[string]struct{ typed, want string }{
		"by number": {"2\n", "blue"},
		"own words": {"green, please\n", "green, please"},
		"none":      {"\n", "gave no answer"},
		"the end":   {"\x04", "gave no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": "=== reply\n" + call + "\n=== reply\nDone.\n"}, "ask", "q", "--verbose")
			c := converse(t, cmd, "1\n", &pty.Winsize{Rows: 24, Cols: 80})
			c.expect("The model asks:")
			c.expect(`  | Which one?\u200b\x1b[2K`)
			c.expect("   1  red")
			c.expect("   2  blue")
			c.expect("(Enter: none): ")
			c.types(tt.typed)
			c.expect(tt.want)
			c.expect("Done.")
			if code := c.exit(); code != "0" {
				t.Errorf("exit %s: %q", code, c.text())
			}
		})
	}
}

// An interrupt at the question ends the run.
func TestAskUserInterrupted(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": "=== reply\n<tool_code><name>ask_user</name><parameters>{\"question\": \"Which?\"}</parameters></tool_code>\n"}, "ask", "q")
	c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 80})
	c.expect("Answer (Enter: none): ")
	c.types("\x03")
	if code := c.exit(); code != "130" {
		t.Errorf("exit %s: %q", code, c.text())
	}
}

// The tool exists only if somebody can answer.
func TestAskUserNeedsSomebody(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{"CI=": true, "CI=1": false} {
		cmd := command(t, map[string]string{"replies.txt": ""}, "ask", "q", "--show-prompt")
		cmd.Env = append(cmd.Env, env)
		c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 80})
		c.expect("=== user ===") // behind the tools
		c.exit()
		if got := strings.Contains(c.text(), "<name>ask_user</name>"); got != want {
			t.Errorf("%s: ask_user is there: %v", env, got)
		}
	}
}
