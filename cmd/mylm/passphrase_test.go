//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// silent waits until the terminal does not echo.
func (c *conversation) silent() {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		state, err := unix.IoctlGetTermios(int(c.tty.Fd()), unix.TCGETS)
		if err != nil || time.Now().After(deadline) {
			c.t.Fatalf("the terminal shows what is typed (%v)", err)
		}
		if state.Lflag&unix.ECHO == 0 {
			return
		}
	}
}

// A passphrase is asked for on the terminal, twice for writing, and is not echoed.
func TestPassphraseIsAsked(t *testing.T) {
	t.Parallel()
	first := command(t, nil, "memory", "add", "the staging host is called heron")
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	size := &pty.Winsize{Rows: 24, Cols: 80}
	talk := func(code string, answers []string, says string, args ...string) {
		t.Helper()
		c := converse(t, again(first, args...), "", size)
		for i, prompt := range []string{"Passphrase", "Once more: "}[:len(answers)] {
			c.expect(prompt)
			c.silent()
			c.types(answers[i])
		}
		c.expect(says)
		if got := c.exit(); got != code {
			t.Errorf("%q: exit code %s, want %s", answers, got, code)
		}
		if strings.Contains(c.text(), "horse") {
			t.Errorf("the passphrase stands on the terminal: %q", c.text())
		}
	}
	sealed := filepath.Join(first.Dir, "sealed")
	talk("2", []string{"correct horse\n", "another horse\n"}, "not the same", "memory", "export", "--encrypt", sealed)
	talk("2", []string{"\n"}, "would protect nothing", "memory", "export", "--encrypt", sealed)
	talk("130", []string{"\x03"}, "interrupted", "memory", "export", "--encrypt", sealed)
	if _, err := os.Stat(sealed); err == nil {
		t.Error("something was written")
	}
	talk("0", []string{"correct horse\n", "correct horse\n"}, "exported 1 document", "memory", "export", "--encrypt", sealed)
	talk("2", []string{"wrong horse\n"}, "not the one", "memory", "import", sealed)
	talk("0", []string{"correct horse\n"}, "1 already existed", "memory", "import", sealed)
}
