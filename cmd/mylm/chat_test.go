//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/term"
)

func TestChat(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply chunk=3\nI look.\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n=== reply chunk=3\nOnly one file.\n=== reply\nYou are welcome.\n", 80, 24)
	s.says("what is here?")
	s.shows("\n> what is here?\nI look.\n> list_dir {}\nOnly one file.\n")
	s.says("thanks")
	s.shows("\n> thanks\nYou are welcome.\n")
	s.shows("2 turns")
	s.types(ctrlD)
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s", code)
	}
	if strings.Contains(s.text(), "2 turns") {
		t.Errorf("the status stays on\n%s", s.text())
	}
}

// saved makes a command keep sessions and the history.
func saved(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Env, "MYLM_NO_SAVE=")
	return cmd
}

const hello = "=== reply\nHello.\n"

func TestChatNeedsATerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, nil, "chat")
	out, err := cmd.CombinedOutput()
	if exitCode(err) != "2" || !strings.Contains(string(out), "a conversation needs a terminal") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = again(cmd).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "NAME:\n   mylm") {
		t.Errorf("mylm alone in a pipe: %v, %s", err, out)
	}
}

func TestChatAlone(t *testing.T) {
	t.Parallel()
	s := chatOn(t, command(t, map[string]string{"replies.txt": hello}), 80, 24)
	s.says("hi")
	s.shows("\n> hi\nHello.\n")
}

// A line, edited with every kind of key.
func TestChatEditing(t *testing.T) {
	t.Parallel()
	s := startChat(t, hello, 80, 24)
	for _, step := range []struct{ typed, shown string }{
		{"one two", "\n> one two\n"},
		{"\x01zero ", "\n> zero one two\n"},
		{"\x05 three", "\n> zero one two three\n"},
		{"\x17", "\n> zero one two\n"},
		{"\x1bb\x0b", "\n> zero one\n"},
		{"\x19", "\n> zero one two\n"},
		{"\x15", "\n>\n"},
		{"日本語", "\n> 日本語\n"},
		{"\x1b[D\x7f", "\n> 日語\n"},
		{"\x05 a\\\rb", "\n> 日語 a\n  b\n"},
		{altCR + "c", "\n> 日語 a\n  b\n  c\n"},
		{up + "x", "\n> 日語 a\n  bx\n  c\n"},
		{ctrlC, "\n>\n"},
	} {
		s.types(step.typed)
		s.shows(step.shown)
	}
}

// Pasted text is not sent by its newlines, and arrives whole.
func TestChatPaste(t *testing.T) {
	t.Parallel()
	log := &requests{t: t}
	s := chatOn(t, log.command(t), 80, 24)
	s.types(pasteOn + "first\nsecond" + pasted)
	s.shows("\n> first\n  second\n")
	s.types("\r")
	s.shows("Answer 1.")
	long := strings.Repeat("0123456789\n", 100_000) // 1.1 MB
	go s.tty.WriteString(pasteOn + strings.ReplaceAll(long, "\n", "\r") + pasted)
	s.shows("[pasted 100000 lines, 1 MB]")
	s.types("what is this?")
	s.shows("1 MB]what is this?")
	s.types("\r")
	s.shows("Answer 2.")
	if got := log.prompts(); len(got) != 2 || got[0] != "first\nsecond" || got[1] != long+"what is this?" {
		t.Errorf("%d prompts: %.200q", len(got), got)
	}
	s.types(up)
	s.shows("\n> [pasted 100000 lines, 1 MB]what is this?\n")
}

func TestChatHistory(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": hello + hello}, "chat"))
	s := chatOn(t, cmd, 80, 24)
	s.says("an apple")
	s.shows("1 turn")
	s.says("a pear")
	s.shows("2 turns")
	s.types(ctrlD)
	s.exit()
	info, err := os.Stat(filepath.Join(cmd.Dir, "data", "mylm", "chat_history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	s = chatOn(t, again(cmd, "chat"), 80, 24)
	s.types("typing" + up)
	s.shows("\n> a pear\n")
	s.types(up)
	s.shows("\n> an apple\n")
	s.types(down + down)
	s.shows("\n> typing\n")
	s.types(ctrlC + ctrlR + "app")
	s.shows("\n> an apple\nsearch: app")
	s.types("\x05!")
	s.shows("\n> an apple!\n")
}

// Two conversations at once write the same history.
func TestChatHistoryOfTwo(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": hello + hello}, "chat"))
	a, b := chatOn(t, cmd, 80, 24), chatOn(t, again(cmd, "chat"), 80, 24)
	a.says("from a")
	a.shows("1 turn")
	b.says("from b")
	b.shows("1 turn")
	a.says("more of a")
	a.shows("2 turns")
	text, err := os.ReadFile(filepath.Join(cmd.Dir, "data", "mylm", "chat_history"))
	if want := "\"from a\"\n\"from b\"\n\"more of a\"\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
}

// Ctrl-C cancels a reply and keeps what came of it. What was typed ahead is not sent,
// and is in the history; what is in the editor stays until the next Ctrl-C.
func TestChatInterrupt(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": "=== reply hang\nIt begins\n=== reply\nNext.\n"}, "chat"))
	s := chatOn(t, cmd, 80, 24)
	s.says("tell me")
	s.shows("It begins")
	s.types("typed ahead\r")
	s.shows("next: typed ahead")
	s.types("/clear\rhalf a li" + ctrlC)
	s.shows("It begins\n2 messages were not sent; Up brings them back.\nmylm: interrupted")
	s.shows("\n> half a li\nscripted")
	s.hides("next:")
	s.types(ctrlC)
	s.shows("\n>\n")
	s.types(up)
	s.shows("\n> /clear\nscripted")
	s.types(up)
	s.shows("\n> typed ahead\nscripted")
	s.types(ctrlC)
	s.shows("\n>\n")
	s.says("/stats")
	s.shows("1 message, 0 calls, at least 0 tokens in, at least 1 out")
	s.says("go on")
	s.shows("Next.")
	s.shows("2 turns")
	s.types(ctrlC)
	s.shows("Ctrl-C again")
	s.types(ctrlC)
	if code := s.exit(); code != "0" {
		t.Errorf("exit %s", code)
	}
	out, err := again(cmd, "sessions", "show", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "It begins") || !strings.Contains(string(out), "Next.") {
		t.Errorf("%v: %s", err, out)
	}
}

// Ctrl-C with a menu closes it, and does what it does without one.
func TestChatInterruptMenu(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply hang\nIt begins\n", 80, 24)
	s.types("/s\t")
	s.shows("/sessions")
	s.types(ctrlC)
	s.shows("\n>\n")
	s.hides("/sessions")
	s.says("tell me")
	s.shows("It begins")
	s.types("/s\t")
	s.shows("/sessions")
	s.types(ctrlC)
	s.shows("mylm: interrupted\n> /s\nscripted")
}

// A message that is typed while a reply runs is sent after it.
func TestChatTypedAhead(t *testing.T) {
	t.Parallel()
	log := &requests{t: t, hold: make(chan struct{})}
	s := chatOn(t, log.command(t), 80, 24)
	s.says("one")
	s.types("two\rthree\r")
	s.shows("next: two\nnext: three\n")
	close(log.hold)
	s.shows("\n> one\nAnswer 1.\n\n> two\nAnswer 2.\n\n> three\nAnswer 3.\n")
}

// A conversation is a session.
func TestChatSession(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": "=== reply\nFirst.\n=== reply\nSecond.\n"}, "chat"))
	s := chatOn(t, cmd, 80, 24)
	s.says("one")
	s.shows("First.")
	s.says("two")
	s.shows("Second.")
	s.types(ctrlD)
	s.shows("To go on: mylm chat --session ")
	s.exit()
	id, _, _ := strings.Cut(s.text()[strings.Index(s.text(), "mylm chat --session ")+len("mylm chat --session "):], "\n")

	out, err := again(cmd, "resume", id, "three", "--show-prompt").CombinedOutput()
	for _, want := range []string{"one", "First.", "two", "Second.", "three"} {
		if err != nil || !strings.Contains(string(out), "\n"+want+"\n") {
			t.Errorf("no %q in %s, %v", want, out, err)
		}
	}
	out, err = again(cmd, "resume", id).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "\n  To talk: mylm chat --session "+id+"\n") {
		t.Errorf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"chat", "--continue"}, {"chat", "--session", id}} {
		s = chatOn(t, again(cmd, args...), 80, 24)
		s.shows("\n>\nscripted/") // the session's summary has that mark, too
		s.shows("Session " + id + ", ")
		s.says("again")
		s.shows("1 turn")
		s.types(ctrlD)
		s.exit()
	}
	out, err = again(cmd, "sessions", "list").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v: %s", err, out)
	}

	// One that cannot be resumed is not offered.
	sessions := filepath.Join(cmd.Dir, "data", "mylm", "sessions")
	journal, err := os.ReadFile(filepath.Join(sessions, id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(string(journal), "\n")
	header = strings.Replace(strings.Replace(header, id, "aaaa1111bbbb2", 1), `"version":2`, `"version":1`, 1)
	if err := os.WriteFile(filepath.Join(sessions, "aaaa1111bbbb2.jsonl"), []byte(header+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = chatOn(t, again(cmd, "chat"), 80, 24)
	s.types("/resume \t")
	s.shows("\n> /resume " + id + "\n")
	s.types(ctrlC)
	s.says("another")
	s.shows("1 turn")
	s.types("/resume \t")
	s.holds("the titles", func(text string) bool {
		first, second := strings.Index(text, " another\n  "), strings.Index(text, "\n  "+id+"  ")
		return 0 < first && first < second && strings.Contains(text[second:], " one\n")
	})
}

// The answer that a conversation stopped at is shown as it was when it came.
func TestChatRecap(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": "=== reply\nA **bold** word.\n"}, "chat"))
	s := chatOn(t, cmd, 80, 24)
	s.says("one")
	s.shows("A bold word.")
	s.types(ctrlD)
	s.exit()
	s = chatOn(t, again(cmd, "chat", "--continue"), 80, 24)
	s.shows("1 message so far.\n> one\nA bold word.\n")
	s.says("/resume last")
	s.shows("\n> /resume last\n")
	s.shows("1 message so far.\n> one\nA bold word.\n>")
	s.types(ctrlD)
	s.exit()
	s = chatOn(t, again(cmd, "chat", "--continue", "--raw"), 80, 24)
	s.shows("\n> one\nA **bold** word.\n")
}

// A session that another process has continued is not written to: /resume opens it again.
func TestChatContinuedElsewhere(t *testing.T) {
	t.Parallel()
	cmd := saved(command(t, map[string]string{"replies.txt": hello + hello}, "chat"))
	s := chatOn(t, cmd, 80, 24)
	s.says("one")
	s.shows("1 turn")
	if out, err := again(cmd, "resume", "last", "elsewhere", "-m", "scripted/replies.txt").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.says("two")
	s.shows("another run has continued it")
	s.shows("\n  Open it again: /resume ")
	s.says("/resume")
	s.shows("2 messages so far.\n> elsewhere\n")
}

// Signals end it, with the terminal as it was, and so does Ctrl-C in every state.
func TestChatSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) { // by whoever runs the tests, as with nohup
			continue
		}
		for _, busy := range []bool{false, true} {
			s := startChat(t, "=== reply hang\nWait here\n", 80, 24)
			if busy {
				s.says("q")
				s.shows("Wait")
			}
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := s.exit(); code != "130" {
				t.Errorf("%v: exit %s", sig, code)
			}
			if !strings.Contains(s.wrote(), "\x1b[?2004l") || !reflect.DeepEqual(modes(t, s.tty), s.before) {
				t.Errorf("%v: the terminal is not as it was: %q", sig, s.wrote())
			}
		}
	}
}

// A terminal that is taken away ends it, also where whoever started it ignores SIGHUP.
func TestChatEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": hello}, "chat")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var wrote strings.Builder
	for b := make([]byte, 4096); !strings.Contains(wrote.String(), "\x1b[?2004h"); {
		n, err := master.Read(b)
		if wrote.Write(b[:n]); err != nil {
			t.Fatalf("%v after %q", err, wrote.String())
		}
	}
	master.Close()
	if code := exitWithin(t, cmd); code != "1" {
		t.Errorf("exit %s", code)
	}
}

// modes are the settings of a terminal: raw, or as a shell has them.
func modes(t testing.TB, tty *os.File) *term.State {
	t.Helper()
	state, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// No escape sequence of a model, a file or a command's output reaches the terminal.
func TestChatIsSafe(t *testing.T) {
	t.Parallel()
	evil := "\x1b]0;owned\a\x1b[2J\u202eabc"
	s := startChat(t, "=== thought\n"+evil+"thought\n=== reply chunk=2\nHere: "+evil+" and\n<tool_code><name>list_dir</name><parameters>{\"path\": \"\\u001b]0;owned\\u0007\\u001b[2J\"}</parameters></tool_code>\n=== reply\n<tool_code><name>execute_command</name><parameters>{\"command\": \"touch '\\u001b]0;owned\\u0007\\u001b[2J'\"}</parameters></tool_code>\n=== reply\nDone.\n", 80, 24, "--verbose")
	s.says("q")
	s.shows("[y] once")
	s.types("n\r")
	s.shows("Done.")
	for _, bad := range []string{"\x1b]0;owned", "\a", "\u202e", "\x1b[2J"} {
		if strings.Contains(s.wrote(), bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
}

func TestChatSizes(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("some words of 日本語 text ", 40) + "the end."
	for _, columns := range []int{40, 200} {
		s := startChat(t, "=== reply chunk=7\n"+words+"\n", columns, 24)
		s.says("q")
		s.shows("the end.\n>\n")
		text := s.text()
		if got := strings.Join(strings.Fields(text), ""); !strings.Contains(got, strings.Join(strings.Fields(words), "")) {
			t.Errorf("%d columns: words are missing:\n%s", columns, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if ansi.StringWidth(line) >= columns {
				t.Errorf("%d columns: a row of %d: %q", columns, ansi.StringWidth(line), line)
			}
		}
	}
}

// Names of flags are not broken at their hyphens.
func TestChatHyphens(t *testing.T) {
	t.Parallel()
	s := startChat(t, "=== reply\nAllow more of it with the flag --max-tool-result-tokens here.\n", 40, 24, "--raw")
	s.says("q")
	s.shows("\nAllow more of it with the flag\n--max-tool-result-tokens here.\n")
}

// An answer of 10,000 lines is in the scrollback, whole and in order.
func TestChatLongAnswer(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	s := startChat(t, "=== reply chunk=100\n"+b.String(), 80, 24)
	s.mu.Lock()
	s.emu.SetScrollbackSize(20_000)
	s.mu.Unlock()
	s.says("q")
	s.until("its last line", func() bool { return strings.Contains(s.screen(), "line 9999") })
	s.holds("all of it", func(text string) bool { return strings.Contains(text, "\n> q\n"+b.String()) })
}

func TestChatResize(t *testing.T) {
	t.Parallel()
	log := &requests{t: t, hold: make(chan struct{})}
	s := chatOn(t, log.command(t), 100, 30)
	s.says("one")
	for i, columns := range []int{60, 120, 40, 80} {
		s.resize(columns, 20+i)
		s.types(fmt.Sprint(i))
		s.shows("0123"[:i+1])
	}
	close(log.hold)
	s.shows("Answer 1.")
	s.holds("one editor", func(text string) bool { return strings.HasSuffix(strings.TrimRight(text, "\n"), "sandbox off") })
	s.shows("\n> 0123\n")
}

// The status line names the model, what is used of its window, the project, turns,
// tokens and their rate, and the sandbox. Ctrl-L leaves what is being typed, below an
// empty screen.
func TestChatStatus(t *testing.T) {
	t.Parallel()
	s := chatOn(t, (&requests{t: t}).command(t), 120, 24)
	s.says("hi")
	s.shows("test · context 0% of 4000k · 001 · 1 turn · 3 tokens, 30/s · sandbox off")
	s.types("half a line")
	s.shows("\n> half a line\n")
	s.types(ctrlL)
	s.hides("Answer 1.")
	s.shows("> half a line\n")
}
