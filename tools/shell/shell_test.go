//go:build unix

package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"mylm/tools"
	"mylm/tools/shell"
)

// patience is how long a test waits for what should come at once.
const patience = 30 * time.Second

func invocation(t *testing.T, o shell.Options, command string) *tools.Invocation {
	t.Helper()
	tool, err := shell.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return of(t, tool, command)
}

// of is a call of a tool that was made already.
func of(t *testing.T, tool *tools.Tool, command string) *tools.Invocation {
	t.Helper()
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	inv, err := registry.Prepare(shell.Name, args)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// run runs the command and checks that it does not take the patience of a test.
func run(t *testing.T, o shell.Options, command string) tools.Outcome {
	t.Helper()
	out := invocation(t, o, command).Run(t.Context(), patience)
	if strings.HasPrefix(out.Error, "timed out") {
		t.Fatalf("%s: %s", command, out.Error)
	}
	return out
}

// What a command reads elsewhere is not the workspace's.
func TestOriginOfWhatIsRead(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "note")
	if err := os.WriteFile(elsewhere, []byte("words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, shell.Options{Dir: t.TempDir()}, "cat "+elsewhere); out.Text != "words" || out.Origin != tools.Outside {
		t.Errorf("%q is of %q", out.Text, out.Origin)
	}
	for line, want := range map[string]string{"echo words": tools.Workspace, "expr 1": tools.Outside} { // by whether it is a plain reader
		inv := invocation(t, shell.Options{Dir: t.TempDir()}, line)
		inv.Effect = tools.Reads
		if out := inv.Run(t.Context(), patience); out.Origin != want {
			t.Errorf("unasked, %q is of %q", line, out.Origin)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, command, text, err string
		code                     int
		truncated                bool
	}{
		{name: "output", command: "echo hello", text: "hello"},
		{name: "both streams in order", command: "echo a; echo b >&2; echo c", text: "a\nb\nc"},
		{name: "no output", command: "true", text: "(no output)"},
		{name: "inner blank lines stay", command: `printf '\n a\n\nb\n\n'`, text: "\n a\n\nb"},
		{name: "exit status", command: "echo why >&2; exit 3", text: "why", err: "exit status 3", code: 3},
		{name: "failure without output", command: "exit 1", err: "exit status 1", code: 1},
		{name: "signal", command: "echo x; kill -TERM $$", text: "x", err: "killed by signal SIGTERM (terminated)", code: 143},
		{name: "stdin is empty", command: "cat; echo end", text: "end"},
		{name: "no terminal", command: "(: </dev/tty) 2>/dev/null || echo none", text: "none"},
		{name: "environment", command: "echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $NO_COLOR", text: "dumb cat cat 0 1"},
		{name: "colours", command: `printf '\033[1;31mred\033[0m \033]0;title\007x \033]8;;u\033\\l'`, text: "red x l"},
		{name: "charset and keypad", command: `printf '\033(Ba\033=b\033[?25hc'`, text: "abc"},
		{name: "unterminated title", command: `printf '\033]0;oops\nnext'`, text: "\nnext"},
		{name: "broken sequence", command: `printf '\033[1\nnext'`, text: "\nnext"},
		{name: "control characters", command: `printf 'a\007\010b\177c\302\233d'`, text: "abcd"},
		{name: "line ends", command: `printf 'a\r\nb\r\r\n10%%\r20%%\rdone\r'`, text: "a\nb\n10%\n20%\ndone"},
		{name: "a character in two writes", command: `printf '\303'; printf '\244'`, text: "ä"},
		{name: "some invalid bytes", command: `printf 'the caf\351 is open'`, text: "the caf\uFFFD is open"},
		{name: "half a character at the end", command: `printf 'twelve chars\303'`, text: "twelve chars\uFFFD"},
		{name: "records ended by NUL", command: `printf 'first-record\000second-record\000'`, text: "first-record\nsecond-record"},
		{name: "binary", command: `printf 'PK\003\004\000\000\000\000'`, text: "(binary output, not shown: 8 bytes, application/zip)", truncated: true},
		{name: "invalid UTF-8 mostly", command: `printf '\377\376\375\374ab'`, text: "(binary output, not shown: 6 bytes, text/plain; charset=utf-16le)", truncated: true},
		{name: "background", command: "echo a; sleep 60 &", text: "a\n(processes left in the background were stopped)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := run(t, shell.Options{}, c.command)
			if out.Text != c.text || out.Error != c.err {
				t.Errorf("%s\n got %q, error %q\nwant %q, error %q", c.command, out.Text, out.Error, c.text, c.err)
			}
			if out.ExitCode == nil || *out.ExitCode != c.code {
				t.Errorf("exit code %v, want %d", out.ExitCode, c.code)
			}
			if out.Truncated != c.truncated {
				t.Errorf("truncated is %v", out.Truncated)
			}
		})
	}
}

func TestDir(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, shell.Options{Dir: dir}, "pwd; echo $PWD"); out.Text != dir+"\n"+dir {
		t.Errorf("in %s: %+v", dir, out)
	}

	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	inv := invocation(t, shell.Options{Dir: gone}, "true")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if out := inv.Run(t.Context(), patience); !strings.Contains(out.Error, gone+" does not exist") {
		t.Errorf("in a directory that is gone: %+v", out)
	}
}

func TestBadOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    shell.Options
		want string
	}{
		{shell.Options{Dir: file}, "is not a directory"},
		{shell.Options{Dir: file + "x"}, "does not exist"},
		{shell.Options{MaxOutput: -1}, "MaxOutput is -1"},
		{shell.Options{Timeout: -time.Second}, "Timeout is -1s"},
		{shell.Options{Timeout: time.Hour}, "at most 10m0s"},
	} {
		if _, err := shell.New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%+v): %v, want %q", c.o, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for command, want := range map[string]string{
		"":           "empty",
		" \n\t":      "empty",
		"echo a\x00": "NUL",
	} {
		if out := run(t, shell.Options{}, command); !strings.Contains(out.Error, want) || out.ExitCode != nil {
			t.Errorf("%q: %+v, want an error about %q", command, out, want)
		}
	}
}

func TestPreviewAndEffect(t *testing.T) {
	const command = "echo one\necho \"two\" | tee three"
	inv := invocation(t, shell.Options{}, command)
	if inv.Preview != command {
		t.Errorf("preview is %q", inv.Preview)
	}
	if inv.Effect != tools.Runs {
		t.Errorf("effect is %v", inv.Effect)
	}
}

func TestLongOutput(t *testing.T) {
	const limit = 3000 // the head is 2000 bytes, and the wide characters begin at odd ones
	for _, c := range []struct {
		name, command       string
		first, last, marker string
	}{
		{"lines", "seq 100000", "1\n2\n", "\n100000", " lines, "},
		{"one line", "head -c 100000 /dev/zero | tr '\\0' x", "xxx", "xxx", "[... left out: 97000 bytes ...]"},
		{"wide characters", `printf x; i=0; while [ $i -lt 900 ]; do printf 'ääääéééé'; i=$((i+1)); done; printf x`, "xää", "ééx", " bytes ...]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := run(t, shell.Options{MaxOutput: limit}, c.command)
			if !out.Success() || !out.Truncated {
				t.Fatalf("error %q, truncated %v", out.Error, out.Truncated)
			}
			if !strings.HasPrefix(out.Text, c.first) || !strings.HasSuffix(out.Text, c.last) || !strings.Contains(out.Text, c.marker) {
				t.Errorf("got %q", out.Text)
			}
			if !utf8.ValidString(out.Text) || strings.ContainsRune(out.Text, utf8.RuneError) {
				t.Error("cut within a character")
			}
			if n := len(out.Text); n > limit+100 || n < limit-100 {
				t.Errorf("%d bytes, want about %d", n, limit)
			}
		})
	}
}

// The marker's numbers and what is kept add up to what was printed.
func TestCutAddsUp(t *testing.T) {
	out := run(t, shell.Options{MaxOutput: 902}, "seq 1000 9999")
	head, rest, _ := strings.Cut(out.Text, "\n[... left out: ")
	marker, tail, ok := strings.Cut(rest, " bytes ...]\n")
	lines, size, ok2 := strings.Cut(marker, " lines, ")
	if !ok || !ok2 {
		t.Fatalf("no marker in %q", out.Text)
	}
	n, _ := strconv.Atoi(lines)
	b, _ := strconv.Atoi(size)
	if got := strings.Count(head, "\n") + 1 + n + strings.Count(tail, "\n") + 1; got != 9000 {
		t.Errorf("%d lines in all, want 9000", got)
	}
	if got := len(head) + 1 + b + 1 + len(tail) + 1; got != 45000 {
		t.Errorf("%d bytes in all, want 45000", got)
	}
	if len(head)%5 != 4 || len(tail)%5 != 4 {
		t.Errorf("lines are cut: head ends with %q, tail begins with %q", head[len(head)-6:], tail[:6])
	}
	if len(head) < 500 || len(head) > 600 || len(tail) < 250 || len(tail) > 300 {
		t.Errorf("head %d and tail %d bytes, want about 600 and 300", len(head), len(tail))
	}
}

func TestFitsExactly(t *testing.T) {
	if out := run(t, shell.Options{MaxOutput: 10}, "printf 0123456789"); out.Text != "0123456789" || out.Truncated {
		t.Errorf("got %q, truncated %v", out.Text, out.Truncated)
	}
}

// Output is reported while the command runs: it goes on only when the test has
// seen its first line.
func TestProgress(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "go-on")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen strings.Builder
	first := make(chan struct{})
	ctx := tools.WithProgress(t.Context(), func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if seen.Len() == 0 {
			close(first)
		}
		seen.WriteString(text)
	})
	wrote := make(chan error, 1)
	go func() {
		<-first
		wrote <- os.WriteFile(fifo, []byte("x"), 0)
	}()
	out := invocation(t, shell.Options{}, `printf '\033[31mone\n'; cat "`+fifo+`" >/dev/null; echo two`).Run(ctx, patience)
	if out.Text != "one\ntwo" {
		t.Fatalf("got %q, error %q", out.Text, out.Error)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen.String() != "one\ntwo\n" {
		t.Errorf("reported %q", seen.String())
	}
}

func TestNoProgressOfBinaryOutput(t *testing.T) {
	ctx := tools.WithProgress(t.Context(), func(text string) { t.Errorf("reported %q", text) })
	if out := invocation(t, shell.Options{}, "head -c 4096 /dev/zero").Run(ctx, patience); !strings.Contains(out.Text, "4096 bytes") {
		t.Errorf("got %q, error %q", out.Text, out.Error)
	}
}

// A session of its own has no terminal to ask at.
func TestOwnSession(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc on this system")
	}
	out := run(t, shell.Options{}, `echo $$; cut -d ' ' -f 6 /proc/$$/stat`)
	if pid, session, _ := strings.Cut(out.Text, "\n"); pid != session || pid == "" {
		t.Errorf("process %q is in session %q", pid, session)
	}
}
