//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// conversation is a command on a terminal, and its user.
type conversation struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu   sync.Mutex
	out  bytes.Buffer
	seen int // what was expected so far ends here
}

// converse starts a command on a terminal of its own. ahead is typed before the
// command starts.
func converse(t *testing.T, cmd *exec.Cmd, ahead string, size *pty.Winsize) *conversation {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, size); err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t, cmd: cmd, tty: master}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			c.mu.Lock()
			c.out.Write(b[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	if ahead != "" {
		c.types(ahead)
		c.expect(strings.TrimSpace(ahead)) // its echo
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-read
		master.Close()
	})
	return c
}

func (c *conversation) types(text string) {
	c.t.Helper()
	if _, err := c.tty.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

// expect waits until text appears after the text expected last.
func (c *conversation) expect(text string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		i := bytes.Index(c.out.Bytes()[c.seen:], []byte(text))
		if i >= 0 {
			c.seen += i + len(text)
		}
		c.mu.Unlock()
		if i >= 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%q did not appear in time in %q", text, c.text())
		}
	}
}

func (c *conversation) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// exit waits for the end and returns the exit code.
func (c *conversation) exit() string { return exitWithin(c.t, c.cmd) }

// exitWithin is the exit code of a command, which has to end soon.
func exitWithin(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !kill.Stop() {
		t.Fatal("it did not end in time")
	}
	return exitCode(err)
}

func commandReply(command string) string {
	return "=== reply\n<tool_code><name>execute_command</name><parameters>{\"command\": \"" + command + "\"}</parameters></tool_code>\n=== reply\nDone.\n"
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	long := `touch made\n` + strings.Repeat(`echo hidden\n`, 100) + "echo last"
	type step struct{ expect, answer string }
	for name, test := range map[string]struct {
		command string
		ahead   string
		steps   []step
		exit    string
		ran     bool
		last    string // what is on the screen behind the last answer
	}{
		"yes":             {"touch made", "", []step{{"Allow it?", "y\n"}}, "0", true, "Done."},
		"no":              {"touch made", "", []step{{"Allow it?", "no\n"}}, "4", false, "a call was denied"},
		"stop":            {"touch made", "", []step{{"Allow it?", "s\n"}}, "4", false, "stopped by you ($ touch made)"},
		"anything else":   {"touch made", "", []step{{"Allow it?", "hm\n"}, {"Allow it?", "\n"}, {"Allow it?", "Yes\n"}}, "0", true, "Done."},
		"end of input":    {"touch made", "", []step{{"Allow it?", "\x04"}}, "4", false, "\r\nmylm: denied: execute_command touch made\r\n  There was no answer"},
		"typed ahead":     {"touch made", "y\n", []step{{"Allow it?", "n\n"}}, "4", false, "a call was denied"},
		"hidden":          {`touch made \u200b\u001b[2K`, "", []step{{`touch made \u200b\x1b[2K`, ""}, {"Allow it?", "y\n"}}, "0", true, "Done."},
		"too long":        {long, "", []step{{"102 lines, ", ""}, {"[... 93 lines", ""}, {"93 lines (1116 bytes): not shown.", ""}, {"type yes", "y\n"}, {"type yes", "n\n"}}, "4", false, "a call was denied"},
		"too long, yes":   {long, "", []step{{"type yes", "yes\n"}}, "0", true, "Done."},
		"too long, seen":  {long, "", []step{{"type yes", "d\n"}, {"[page 1 of 6]", "\n"}, {"[page 2 of 6]", "\n"}, {"[page 3 of 6]", "\n"}, {"[page 4 of 6]", "\n"}, {"[page 5 of 6]", "\n"}, {"| echo last", ""}, {"the last]", "\n"}, {"[y]es", "y\n"}}, "0", true, "Done."},
		"too long, begun": {long, "", []step{{"type yes", "d\n"}, {"[page 1 of 6]", "q\n"}, {"type yes", "n\n"}}, "4", false, "a call was denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": commandReply(test.command)}, "ask", "q")
			c := converse(t, cmd, test.ahead, &pty.Winsize{Rows: 20, Cols: 120})
			for _, s := range test.steps {
				c.expect(s.expect)
				if s.answer != "" {
					c.expect(": ") // the end of the question
					c.types(s.answer)
				}
			}
			c.expect(test.last)
			if code := c.exit(); code != test.exit {
				t.Errorf("exit %s, want %s: %q", code, test.exit, c.text())
			}
			_, err := os.Stat(filepath.Join(cmd.Dir, "made"))
			if ran := err == nil; ran != test.ran {
				t.Errorf("ran: %v, want %v", ran, test.ran)
			}
		})
	}
}

// models is a server with two models, one with control characters in its name.
func models(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/tags":
			_, _ = w.Write([]byte(`{"models":[{"name":"one\u001b[2J\nnot a model","size":1000,"capabilities":["completion"]},{"name":"two","size":1000,"capabilities":["completion"]}]}`))
		default:
			_, _ = w.Write([]byte(`{"models":[],"version":"0.30.0"}`))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestNamesFromServer(t *testing.T) {
	t.Parallel()
	host := models(t)
	t.Run("list", func(t *testing.T) {
		out, err := command(t, nil, "models", "--host", host).Output()
		if err != nil || !strings.Contains(string(out), "\none[2J not a model  1 kB") || strings.Contains(string(out), "\x1b") {
			t.Errorf("%q, %v", out, err)
		}
	})
	t.Run("choice", func(t *testing.T) {
		cmd := command(t, nil, "ask", "q", "--host", host)
		cmd.Env = append(cmd.Env, "MYLM_MODEL=")
		c := converse(t, cmd, "2\n", &pty.Winsize{})
		c.expect("Which one?")
		c.expect("one[2J not a model")
		c.expect("Number [1]: ")
		c.types("3\n")
		c.expect("A number from 1 to 2: ")
		c.types("\x04")
		c.expect("none is chosen")
		if code := c.exit(); code != "3" || strings.Contains(c.text(), "\x1b[2J") {
			t.Errorf("exit %s: %q", code, c.text())
		}
	})
}

// The wait for a server that never answers is shown, and an interrupt ends it.
func TestListingIsShown(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(silent)
	c := converse(t, command(t, nil, "models", "--host", s.URL), "", &pty.Winsize{})
	c.expect("asking " + s.URL)
	c.types("\x03")
	if code := c.exit(); code != "130" {
		t.Errorf("exit %s: %q", code, c.text())
	}
}

// Interrupts reach the editor and do not end mylm.
func TestEditorKeepsInterrupt(t *testing.T) {
	t.Parallel()
	cmd := command(t, nil, "config", "edit")
	cmd.Env = append(cmd.Env, "VISUAL=", "EDITOR=interrupted-editor")
	c := converse(t, cmd, "", &pty.Winsize{})
	c.expect("editing")
	c.types("\x03")
	c.expect("interrupted")
	c.types("\x03")
	c.expect("interrupted")
	c.types("\n")
	c.expect("saved")
	if code := c.exit(); code != "0" {
		t.Errorf("exit %s: %q", code, c.text())
	}
}
