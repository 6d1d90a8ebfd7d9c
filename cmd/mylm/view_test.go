//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
)

func TestSpinnerFits(t *testing.T) {
	t.Parallel()
	c := converse(t, command(t, map[string]string{"replies.txt": commandReply("true; true; true")}, "ask", "q", "--yes", "--color", "never"), "", &pty.Winsize{Rows: 10, Cols: 20})
	c.expect("running true")
	c.exit()
	for _, piece := range strings.Split(c.text(), "\r\x1b[K")[1:] {
		piece, _, newline := strings.Cut(piece, "\n")
		if !newline && utf8.RuneCountInString(piece) > 19 {
			t.Errorf("%q is drawn on 20 columns", piece)
		}
	}
}

func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReply("true")}, "ask", "q", "--yes")
	cmd.Env = append(cmd.Env, "TERM=dumb")
	c := converse(t, cmd, "", &pty.Winsize{})
	c.expect("Done.")
	c.exit()
	if strings.ContainsAny(c.text(), "\x1b⠋") {
		t.Errorf("something was drawn: %q", c.text())
	}
}

// What a model writes cannot produce mylm's colours.
func TestForeignColour(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, "=== thought\n\ue000red\ue001 thought\n=== reply\nDone.\n", "q", "--verbose", "--color", "never")
	if strings.Contains(out, "\x1b[2m") || strings.Contains(out, "\x1b[0m") || !strings.Contains(out, "red") {
		t.Errorf("got %q", out)
	}
}

func TestWhiteSpaceIsBounded(t *testing.T) {
	t.Parallel()
	out := strip(onTerminal(t, "=== reply chunk=1\nOne"+strings.Repeat("\n", 1000)+"  two\n", "q", "--raw"))
	between, _, ok := strings.Cut(out[strings.Index(out, "One")+3:], "two")
	if !ok || strings.Count(between, "\n") > 200 || !strings.HasSuffix(between, "\n  ") {
		t.Errorf("%d newlines: %q", strings.Count(between, "\n"), out)
	}
}

func TestInterruptWhileReading(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"file":   {"ask", "q", "-m", "demo", "--file", "fifo"},
		"script": {"ask", "q", "-m", "scripted/fifo"},
		"config": {"models"},
		"import": {"memory", "import", "fifo"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, nil, args...)
			fifo := filepath.Join(cmd.Dir, "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Skip(err)
			}
			if name == "config" {
				cmd.Env = append(cmd.Env, "MYLM_CONFIG="+fifo)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var writer *os.File
			eventually(t, func() (open bool) { // which it can only be while it is read
				f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				writer = f
				return err == nil
			})
			defer writer.Close()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code := exitWithin(t, cmd); code != "130" {
				t.Errorf("exit %s", code)
			}
		})
	}
}

// A template is written completely or not at all.
func TestEjectIsWhole(t *testing.T) {
	t.Parallel()
	cmd := command(t, nil)
	sh := command(t, nil)
	sh.Path, sh.Args, sh.Err = "/bin/sh", []string{"sh", "-c", "trap '' XFSZ; ulimit -f 0; exec mylm prompts eject system"}, nil
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	out, err := sh.CombinedOutput()
	if err == nil {
		t.Skipf("the file size is not limited here: %s", out)
	}
	entries, err := os.ReadDir(filepath.Join(cmd.Dir, "config", "mylm", "prompts"))
	if err != nil || len(entries) > 0 || !strings.Contains(string(out), "mylm: ") {
		t.Errorf("%v, %v: %s", entries, err, out)
	}
}

// On a terminal the last column of a table breaks between words, or goes below the others.
func TestTableFits(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		200: "read_file        reads      Read a text file, at most 400 lines at once.\n",
		60:  "read_file        reads      Read a text file, at most 400\n                            lines at once.\n",
		40:  "read_file        reads\n    Read a text file, at most 400 lines\n    at once.\n",
	} {
		s := onScreen(t, command(t, nil, "tools"), columns, 60)
		s.shows("\nremember")
		s.exit()
		if !strings.Contains(s.text(), want) {
			t.Errorf("%d columns:\n%s", columns, s.text())
		}
	}
}
