//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Time in which the process is stopped does not count as a timeout, and what arrived
// meanwhile is read first.
func TestPausedProcessBlamesNobody(t *testing.T) {
	t.Parallel()
	limit, pause, times := 10*time.Second, 12*time.Second, 1
	if os.Getenv("MYLM_SLOW") != "" {
		limit, pause, times = 20*time.Second, time.Minute, 7
	}
	line := func(text, rest string) string {
		return `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"` + text + `"},` + rest + "}\n"
	}
	end := line("", `"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5`)
	for name, test := range map[string]struct {
		before, after string // of the pause
		first         string // the whole reply before that one
	}{
		"before the reply":   {after: line("Hello.", `"done":false`) + end},
		"in the reply":       {before: line("Hel", `"done":false`), after: line("lo.", `"done":false`) + end},
		"while a tool works": {first: toolCall("execute_command", fmt.Sprintf(`{"command": "echo x > begun; sleep 1", "timeout_s": %.0f}`, limit.Seconds())), before: line("Hello.", `"done":false`) + end},
	} {
		for n := range times {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				t.Parallel()
				here, resume := make(chan bool, 1), make(chan bool)
				p := newPlaced(t, test.first)
				chats := 0
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/api/chat" {
						p.Config.Handler.ServeHTTP(w, r)
						return
					}
					if chats++; test.first != "" && chats == 1 {
						p.chat(w, r)
						return
					}
					w.Header().Set("Content-Type", "application/x-ndjson")
					_, _ = io.WriteString(w, test.before)
					w.(http.Flusher).Flush()
					if test.after != "" {
						here <- true
						<-resume
						_, _ = io.WriteString(w, test.after)
					}
				}))
				t.Cleanup(server.Close)
				h := newHome(t, p)
				h.host = server.URL
				cmd := h.command("ask", "--yes", "--first-token-timeout", limit.String(), "--timeout", limit.String(), "hello")
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if test.first != "" {
					eventually(t, func() bool { return h.read("begun") != "" })
				} else {
					<-here
				}
				_ = cmd.Process.Signal(syscall.SIGSTOP)
				time.Sleep(pause / 2)
				close(resume)
				time.Sleep(pause / 2) // what is tested is that this counts for nothing
				_ = cmd.Process.Signal(syscall.SIGCONT)
				if code := exitWithin(t, cmd); code != "0" || out.String() != "Hello.\n" || strings.Contains(errs.String(), "timed out") {
					t.Errorf("exit %s, stdout %q, stderr %s", code, out.String(), errs.String())
				}
			})
		}
	}
}

// A run whose stdout is closed ends at once and without a message, also while
// nothing is written.
func TestUnreadOutputEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--json"}, {"-o", "ndjson"}} {
		p := newPlaced(t, "hang")
		h := newHome(t, p)
		cmd := h.command(append([]string{"ask", "q"}, args...)...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(p.questions()) == 1 })
		out.Close()
		if code := exitWithin(t, cmd); code != "141" || strings.Count(errs.String(), "mylm: ") != 1 || !strings.HasPrefix(errs.String(), "mylm: from now on, ") {
			t.Errorf("%v: exit %s, stderr %q", args, code, errs.String())
		}
		if list, _, _ := h.run("sessions", "list"); !strings.Contains(list, "  interrupted  ") {
			t.Errorf("%v: listed %q", args, list)
		}
	}
}

// An answer is remembered, though its reader closes stdout before the run has ended.
// Only one that is longer than a pipe holds was not read then.
func TestAnswerIsRememberedUnread(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&long, "%d herons.\n", i)
	}
	for answer, want := range map[string]string{"7 herons.": "0", long.String(): "141"} {
		h := newHome(t, newPlaced(t, answer))
		cmd := h.command("ask", "which birds?")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		out.Close()
		if code := exitWithin(t, cmd); code != want {
			t.Errorf("%d bytes: exit %s, want %s", len(answer), code, want)
		}
		if list, _, _ := h.run("memory", "list"); !strings.Contains(list, " herons.") {
			t.Errorf("%d bytes: remembered: %q", len(answer), list)
		}
	}
}
