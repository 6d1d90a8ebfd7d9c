//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// command is mylm in a directory of its own with files, home included.
func command(t testing.TB, files map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("mylm", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir+"/config", "XDG_DATA_HOME="+dir+"/data",
		"OLLAMA_HOST=127.0.0.1:1", "TERM=xterm", "NO_COLOR=", "CI=", "MYLM_MODEL=scripted/replies.txt", "MYLM_NO_SAVE=1", "MYLM_SANDBOX=off", "MYLM_UNASKED=readers")
	return cmd
}

// again is another command in the directory of the first one.
func again(first *exec.Cmd, args ...string) *exec.Cmd {
	cmd := exec.Command("mylm", args...)
	cmd.Dir, cmd.Env = first.Dir, first.Env
	return cmd
}

// onTerminal runs mylm with all three streams on a terminal and returns what
// appears there.
func onTerminal(t *testing.T, replies string, args ...string) string {
	t.Helper()
	cmd := command(t, map[string]string{"replies.txt": replies}, append([]string{"ask"}, args...)...)
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	var out bytes.Buffer
	_, _ = io.Copy(&out, tty) // ends with an error when the other side closes
	_ = cmd.Wait()
	return out.String()
}

func TestTerminalStreams(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, "=== reply chunk=3\nI look.\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n=== reply chunk=3\n\nOnly replies.txt.\n", "q")
	plain := strip(out)
	for _, want := range []string{"I look.\r\n", "> list_dir {}\r\n", "Only replies.txt.\r\n"} {
		_, rest, ok := strings.Cut(plain, want)
		if !ok {
			t.Fatalf("%q is missing or out of order in %q", want, plain)
		}
		plain = rest
	}
	if strings.TrimSpace(plain) != "" {
		t.Errorf("%q follows the answer", plain)
	}
	if !strings.Contains(out, "waiting for the model") {
		t.Errorf("no spinner in %q", out)
	}
	if !strings.Contains(out, "\x1b[2m> list_dir {}\x1b[0m") {
		t.Errorf("the call is not dim in %q", out)
	}
	if strings.Contains(out, "<tool") {
		t.Errorf("a call flickered: %q", out)
	}
}

// On a terminal, errors, findings and lists are broken between words, or cut.
func TestNarrow(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": strings.Repeat("=== reply\nFine, with some more words than fit into one row of so narrow a terminal.\n", 2)}, "ask", strings.Repeat("many words ", 9)))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"aks", "hi"}, "\nmylm: there is no command \"aks\"\n  Did you mean mylm ask? mylm help\n  lists the commands; to ask a\n  question: mylm ask \"aks hi\"\n"},
		{[]string{"doctor"}, " memories\n    are found by words alone (ollama\n    pull nomic-embed-text adds vectors)\n"},
		{[]string{"sessions", "list"}, "…\n"},
		{[]string{"memory", "search", "many"}, "user\n  many words many words many words many\n  words many"},
	} {
		s := onScreen(t, again(cmd, test.args...), 40, 40)
		s.exit()
		text := "\n" + s.text()
		if !strings.Contains(text, test.want) {
			t.Errorf("%v: no %q in\n%s", test.args, test.want, text)
		}
	}
}

// Output is shown with its indentation, which is part of what it says.
func TestTerminalIndentation(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReplies("echo one; echo '    two'; echo '        three '$(seq 30); exit 1")}, "ask", "--yes", "q")
	s := onScreen(t, cmd, 80, 40)
	s.exit()
	if want := "\n    one\n        two\n            three 1 2 3"; !strings.Contains(s.text(), want) {
		t.Errorf("no %q in\n%s", want, s.text())
	}
	if want := "\n            24 25 26 27 28 29 30\n"; !strings.Contains(s.text(), want) {
		t.Errorf("no %q in\n%s", want, s.text())
	}
}

// strip removes what is drawn in place, and colours.
func strip(s string) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(s, "\n") {
		if i := strings.LastIndex(line, "\r\x1b[K"); i >= 0 {
			line = line[i+len("\r\x1b[K"):]
		}
		b.WriteString(strings.NewReplacer("\x1b[2m", "", "\x1b[0m", "").Replace(line))
	}
	return b.String()
}

// The spinner is plain where the locale is not of UTF-8, and on the console.
func TestPlainSpinner(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  []string
		want string
	}{
		"UTF-8":   {[]string{"LC_ALL=C.UTF-8"}, "⠋"},
		"C":       {[]string{"LC_ALL=C"}, "| "},
		"Latin 1": {[]string{"LC_ALL=", "LC_CTYPE=", "LANG=de_DE.ISO-8859-1"}, "| "},
		"console": {[]string{"LC_ALL=C.UTF-8", "TERM=linux"}, "| "},
		"unset":   {[]string{"LC_ALL=", "LC_CTYPE=", "LANG="}, "⠋"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": "=== reply\nFine.\n"}, "ask", "q")
			cmd.Env = append(cmd.Env, test.env...)
			tty, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			var out bytes.Buffer
			_, _ = io.Copy(&out, tty) // ends with an error when the other side closes
			_ = cmd.Wait()
			if !strings.Contains(out.String(), strings.TrimSpace(test.want)+" waiting") {
				t.Errorf("no %q in %q", test.want, out.String())
			}
		})
	}
}

// So are the marks of tasks and the lines of tables.
func TestPlainMarks(t *testing.T) {
	t.Parallel()
	for locale, plain := range map[string]bool{"C": true, "C.UTF-8": false} {
		shown := ""
		for _, args := range [][]string{{"agent", "run", "-m", "demo", "what is 2 + 3?"}, {"ask", "q"}} {
			cmd := command(t, map[string]string{"replies.txt": "=== reply\n| a | b |\n|---|---|\n| 1 | 2 |\n"}, args...)
			cmd.Env = append(cmd.Env, "LC_ALL="+locale)
			s := onScreen(t, cmd, 80, 30)
			s.exit()
			shown += s.text()
		}
		for _, mark := range []string{"✓", "│", "─"} {
			if strings.Contains(shown, mark) == plain {
				t.Errorf("%s: %s is shown: %v\n%s", locale, mark, !plain, shown)
			}
		}
	}
}

func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, "=== reply chunk=2\n\x1b]0;owned\a\u202eabc\u202c plain\x1b[2J\n", "q", "--color", "never")
	for _, bad := range []string{"\x1b]", "\a", "\u202e", "\x1b[2J"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q reached the terminal: %q", bad, out)
		}
	}
	if !strings.Contains(out, "plain") {
		t.Errorf("the text is missing: %q", out)
	}
}

func TestTerminalQuiet(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, "=== reply\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n=== reply\nDone.\n", "q", "--quiet")
	if out != "Done.\r\n" {
		t.Errorf("got %q", out)
	}
}

// The last text of a run that has no answer is not shown again.
func TestTerminalShowsTextOnce(t *testing.T) {
	t.Parallel()
	out := strip(onTerminal(t, "=== reply\nI look.\n<tool_code><name>read_file</name><parameters>{\"path\":\"gone\"}</parameters></tool_code>\n", "q", "--max-consecutive-errors", "1"))
	if strings.Count(out, "I look.") != 1 || !strings.Contains(out, "calls in a row failed") && !strings.Contains(out, "call failed") {
		t.Errorf("got %q", out)
	}
}

func TestTerminalContinuesCutReply(t *testing.T) {
	t.Parallel()
	out := strip(onTerminal(t, "=== reply stop=length\nOne, two,\n=== reply\n three.\n", "q"))
	if !strings.Contains(out, "One, two, three.\r\n") {
		t.Errorf("got %q", out)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("whoever runs the tests ignores it")
			}
			cmd := command(t, map[string]string{"replies.txt": "=== reply\nWell,\n<tool_code><name>execute_command</name><parameters>{\"command\": \"echo started >&2; touch started; exec sleep 1000\"}</parameters></tool_code>\n"}, "ask", "q", "--yes", "--stats")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				_, err := os.Stat(filepath.Join(cmd.Dir, "started"))
				return err == nil
			})
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(cmd.Wait()); code != "130" {
				t.Errorf("exit %s, stderr %s", code, errs.String())
			}
			if out.Len() > 0 || !strings.Contains(errs.String(), "\n1 turn, 1 call, at least 0 tokens in, at least ") || !strings.Contains(errs.String(), "mylm: interrupted") {
				t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
			}
		})
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in time")
		}
	}
}

// An open pipe without input does not delay a question for long.
func TestSilentPipe(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": "=== reply\nFine.\n"}, "ask", "q")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || string(out) != "Fine.\n" || !strings.Contains(errs.String(), "No input on stdin after") {
		t.Errorf("%q, %v, stderr %q", out, err, errs.String())
	}
}

// A pipe with input is read to its end, however slow.
func TestPipe(t *testing.T) {
	t.Parallel()
	cmd := command(t, nil, "ask", "explain", "--show-prompt")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for _, s := range []string{"one\n", "two\n"} {
			_, _ = io.WriteString(in, s)
		}
		in.Close()
	}()
	out, err := cmd.Output()
	if err != nil || !strings.HasSuffix(string(out), "explain\n\n--- stdin ---\none\ntwo\n--- end of stdin ---\n") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	defer full.Close()
	for _, args := range [][]string{{"ask", "q"}, {"ask", "q", "--json"}, {"ask", "q", "-o", "ndjson"}, {"help"}, {"help", "ask"}, {"prompts", "show"}, {"prompts", "show", "system"}, {"version"}} {
		cmd := command(t, map[string]string{"replies.txt": "=== reply\nFine.\n"}, args...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errs
		if code := exitCode(cmd.Run()); code != "1" || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit %s, stderr %q", args, code, errs.String())
		}
	}
}
