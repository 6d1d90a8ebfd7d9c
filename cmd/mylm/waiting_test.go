//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// unanswering is a server that accepts what comes and never answers.
func unanswering(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	return server.URL
}

// --max-time counts from the beginning, also if a server is silent before the model
// is asked.
func TestMaxTimeFromTheBeginning(t *testing.T) {
	t.Parallel()
	h := &home{t, t.TempDir(), unanswering(t)}
	for _, args := range [][]string{{"ask", "q"}, {"agent", "run", "q"}} {
		cmd := h.command(append(args, "--max-time", "200ms")...)
		cmd.Env = append(cmd.Env, "MYLM_MODEL=")
		var errs strings.Builder
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if code := exitWithin(t, cmd); code != "124" || !strings.Contains(errs.String(), " took longer than 200ms\n") {
			t.Errorf("%v: exit %s, %s", args, code, errs.String())
		}
	}
}

// What is waited for shows: the server before the model is asked, and then whether it
// writes, also where that goes elsewhere. An interrupt that ends the reader of stdout
// too is reported.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line string
		host string
		show []string
		end  string
	}{
		"server":  {`"$@"`, unanswering(t), []string{"asking about m"}, "mylm: interrupted"},
		"writing": {`"$@" >out`, "", []string{"writing"}, "mylm: interrupted\r\n  To go on: mylm resume "},
		"piped":   {`"$@" | cat`, "", []string{"writing"}, "mylm: interrupted\r\n  To go on: mylm resume "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": "=== reply hang\nIt begins\n"}, "ask", "q")
			sh := exec.Command("sh", append([]string{"-c", test.line, "sh"}, cmd.Args...)...)
			sh.Dir, sh.Env = cmd.Dir, append(cmd.Env, "MYLM_NO_SAVE=")
			if test.host != "" {
				sh.Env = append(sh.Env, "MYLM_MODEL=m", "OLLAMA_HOST="+test.host)
			}
			c := converse(t, sh, "", &pty.Winsize{Rows: 24, Cols: 100})
			for _, text := range test.show {
				c.expect(text)
			}
			c.types("\x03")
			c.expect(test.end)
		})
	}
}
