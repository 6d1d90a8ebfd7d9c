package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"mylm/tools/sandbox"
)

// running counts the living processes with this word among their arguments.
func running(t *testing.T, word string) int {
	t.Helper()
	return len(living(t, word))
}

// clean kills the processes that a failed test left.
func clean(t *testing.T, word string) {
	t.Cleanup(func() {
		for _, pid := range living(t, word) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

func living(t *testing.T, word string) (pids []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	for _, path := range paths {
		line, err := os.ReadFile(path) // empty for the dead
		if err == nil && bytes.Contains(line, []byte(word)) {
			pids = append(pids, number(strings.Split(path, "/")[2]))
		}
	}
	return pids
}

// brood is a command that starts processes in every way that detaches them, prints
// "ready", and waits. Each process has the word among its arguments.
const brood = `
sleep $WORD &
(sleep $WORD &)
setsid sleep $WORD &
setsid sh -c 'sleep $WORD & sleep $WORD & exit' </dev/null >/dev/null 2>&1 &
(trap "" TERM HUP INT QUIT; sh -c 'sleep $WORD; : again; sleep $WORD' &)
nohup sleep $WORD >/dev/null 2>&1 &
setsid sh -c 'setsid sh -c "(setsid sleep $WORD &)"'
mkfifo fifo; echo >>fifo & sleep $WORD &
echo ready
`

// word makes a time for sleep that no other process has.
func word() string { return strconv.FormatInt(700000000+time.Now().UnixNano()%99999999, 10) }

// No process survives the command, however it ends.
func TestNothingSurvives(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		for name, e := range map[string]struct {
			more string // the end of the script
			end  syscall.Signal
			code string
		}{
			"at the end":           {more: "exit 0", code: "0"},
			"at a failure":         {more: "exit 3", code: "3"},
			"at its own death":     {more: "kill -9 $$", code: "137"},
			"at an interrupt":      {more: "wait", end: syscall.SIGINT, code: "130"},
			"at a request to end":  {more: "wait", end: syscall.SIGTERM, code: "130"},
			"when mylm is killed":  {more: "wait", end: syscall.SIGKILL, code: "-1"},
			"when it is suspended": {more: "kill -STOP $$", end: syscall.SIGTERM, code: "130"},
		} {
			t.Run(name, func(t *testing.T) {
				w := word()
				clean(t, w)
				_ = os.Remove(c.ws + "/fifo")
				cmd := c.command(c.mylm, "sandbox", "--", "env", "WORD="+w, "sh", "-c", brood+e.more)
				r, out, err := os.Pipe()
				check(t, err)
				defer r.Close()
				cmd.Stdout, cmd.Stderr = out, os.Stderr
				check(t, cmd.Start())
				out.Close()
				line := make([]byte, 6)
				_, err = r.Read(line)
				if err != nil || string(line) != "ready\n" {
					t.Fatalf("%q, %v", line, err)
				}
				if e.end != 0 {
					if running(t, w) == 0 {
						t.Error("nothing runs: the test shows nothing")
					}
					check(t, cmd.Process.Signal(e.end))
				}
				if code := exitCode(cmd.Wait()); code != e.code {
					t.Errorf("exit %s, want %s", code, e.code)
				}
				if e.end == syscall.SIGKILL {
					eventually(t, func() bool {
						left, err := os.ReadDir(c.base + "/tmp")
						return running(t, w) == 0 && err == nil && len(left) == 0
					})
				} else if n := running(t, w); n > 0 {
					t.Errorf("%d processes are left", n)
				}
			})
		}
	})
}

// A fork bomb ends at the time limit.
func TestForkBombEnds(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		w := word()
		clean(t, w)
		cmd := c.command(c.mylm, "sandbox", "--", "sh", "-c", `
			for n in 1 2 3 4 5 6 7 8; do (setsid sh -c 'while :; do (sleep `+w+` &); (sleep 0 &); done' 2>/dev/null &); done
			echo ready; sleep 1000`)
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		_, err = out.Read(make([]byte, 6))
		check(t, err)
		check(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
		if n := running(t, w); n > 0 {
			t.Errorf("%d processes are left", n)
		}
	})
}

func TestSandboxExits(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		for _, tt := range []struct {
			args       []string
			code, want string
		}{
			{[]string{"--", "sh", "-c", "exit 7"}, "7", ""},
			{[]string{"--", "sh", "-c", "kill -TERM $$"}, "143", ""},
			{[]string{"--", "sh", "-c", "kill -SEGV $$"}, "139", ""},
			{[]string{"--", "no-such-program"}, "127", "cannot be run"},
			{[]string{"--mode", "read-only", "--", "sh", "-c", "echo x >new"}, "2", "ermission denied"},
			{[]string{"--mode", "read-only", "--", "sh", "-c", `cat probe >/dev/null && echo x >"$TMPDIR/new"`}, "0", ""},
			{[]string{"--mode", "none", "--", "true"}, "2", "--mode is \"none\""},
			{[]string{"--mode", "off", "--", "true"}, "2", "--mode is \"off\""},
			{[]string{}, "2", "needs a program"},
			{[]string{"--workspace", "/", "--", "true"}, "2", "would protect nothing"},
			{[]string{"--workspace", c.home, "--", "true"}, "2", "would protect nothing"},
			{[]string{"--workspace", c.base, "--", "true"}, "2", "would protect nothing"},
			{[]string{"--workspace", c.base + "/none", "--", "true"}, "2", "no such file"},
			{[]string{"--workspace", c.outside, "--", "sh", "-c", "cat file"}, "0", "precious"},
			{[]string{"--", c.home + "/program"}, "2", "reads in [sandbox]"},
		} {
			check(t, os.WriteFile(c.home+"/program", []byte("#!/bin/sh\n"), 0o755))
			if out, code := c.run(append([]string{c.mylm, "sandbox"}, tt.args...)...); code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("%q: exit %s, want %s and %q:\n%s", tt.args, code, tt.code, tt.want, out)
			}
		}
	})
}

// System calls of other ABIs kill the process.
func TestForeignSystemCalls(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		// exit(0) by int 0x80: a 32-bit ELF file of one segment.
		i386 := "\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00" +
			"\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
			"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x5d\x00\x00\x00\x5d\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00" +
			"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80"
		check(t, os.WriteFile(c.ws+"/i386", []byte(i386), 0o755))
		for _, args := range [][]string{{"./i386"}, {"./probe", "x32"}} {
			if out, code := c.run(args...); code != "0" {
				t.Logf("%q does not run on this machine at all: exit %s %s", args, code, out)
				continue
			}
			if out, code := c.inside(args...); code != strconv.Itoa(128+int(syscall.SIGSYS)) {
				t.Errorf("%q: exit %s %s, want SIGSYS", args, code, out)
			}
		}
	})
}

// A program on a terminal cannot type into it.
func TestNothingIsTyped(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		for _, name := range []string{"type", "type2"} {
			cmd := c.command(c.mylm, "sandbox", "--", "./probe", name)
			tty, err := pty.StartWithAttrs(cmd, nil, &syscall.SysProcAttr{Setsid: true, Setctty: true, Credential: cmd.SysProcAttr.Credential})
			check(t, err)
			out := make([]byte, 200)
			n, _ := tty.Read(out)
			if code := exitCode(cmd.Wait()); code != "1" || !strings.Contains(string(out[:n]), "operation not permitted") {
				t.Errorf("%s: exit %s, %q", name, code, out[:n])
			}
			tty.Close()
		}
	})
}

// An interrupt reaches a program on a terminal once, from the terminal.
func TestSandboxOnTerminal(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		cmd := c.command(c.mylm, "sandbox", "--", "sh", "-c", `trap 'echo caught' INT; echo ready; until read a && [ -n "$a" ]; do :; done; echo "got $a"`)
		tty, err := pty.StartWithAttrs(cmd, nil, &syscall.SysProcAttr{Setsid: true, Setctty: true, Credential: cmd.SysProcAttr.Credential})
		check(t, err)
		defer tty.Close()
		seen := ""
		for _, say := range []struct{ after, text string }{{"ready", "\x03"}, {"caught", "\x03"}, {"caught", "it\n"}, {"got it", ""}} {
			seen = await(t, tty, seen, say.after)
			_, err := tty.WriteString(say.text)
			check(t, err)
		}
		if code := exitCode(cmd.Wait()); code != "0" {
			t.Errorf("exit %s", code)
		}
	})
}

// await reads until the text is there, and returns what follows it.
func await(t *testing.T, f *os.File, seen, text string) string {
	t.Helper()
	b := make([]byte, 1024)
	for {
		if _, rest, ok := strings.Cut(seen, text); ok {
			return rest
		}
		n, err := f.Read(b)
		if n == 0 && err != nil {
			t.Fatalf("%q did not come, but %q", text, seen)
		}
		seen += string(b[:n])
	}
}

// --allow-net allows internet sockets and no others.
func TestAllowNet(t *testing.T) {
	asUsers(t, func(t *testing.T, c *cage) {
		var lines, wants []string
		for line, want := range map[string]string{
			`./probe dial tcp "$TCP"`:       "0",
			`./probe dial udp "$UDP"`:       "0",
			`./probe dial unix "$SOCK"`:     "1",
			`./probe dial unix "$ABSTRACT"`: "1",
			`./probe datagram "$DGRAM"`:     "1",
			`./probe socket 2 3`:            "1", // raw
			`./probe socket 17 3`:           "1", // packets
			`./probe pair`:                  "0",
			`cat "$REAL/.ssh/id"`:           "1",
			`./probe socket 16 3`:           "0", // the machine's own addresses
			`./probe socket 16 99`:          "1",
			`./probe socket 40 1`:           "1",
			`./probe ptrace $VICTIM`:        "1",
			`kill -0 $VICTIM`:               "1",
			`touch "$OUT/new"`:              "1",
			`unshare -U true`:               "1",
		} {
			lines, wants = append(lines, line), append(wants, want)
		}
		codes, out := c.lines(lines, []string{"--allow-net"}, c.listen())
		for i, code := range codes {
			if code != wants[i] {
				t.Errorf("%s: exit %s, want %s: %s", lines[i], code, wants[i], out)
			}
		}
	})
}

// Signals cannot leave the sandbox, if the kernel supports that.
func TestSignalsStayInside(t *testing.T) {
	if gaps := (sandbox.Policy{}).Gaps(); len(gaps) > 0 {
		noSandbox(t, gaps)
	}
	asUsers(t, func(t *testing.T, c *cage) {
		for _, line := range []string{`./probe kill $VICTIM`, `kill -9 $VICTIM`, `kill -9 $PPID`} {
			if out, code := c.inside(sh(line)...); code == "0" {
				t.Errorf("%s: it succeeded: %s", line, out)
			}
		}
		if out, code := c.run(sh(`./probe kill $VICTIM`)...); code != "0" {
			t.Errorf("without a sandbox it fails too: exit %s: %s", code, out)
		}
	})
}

// A small Go module with a dependency is built and tested inside, with the
// module cache of the machine, read only, and a build cache of its own.
func TestSandboxBuildsGo(t *testing.T) {
	slow(t)
	if testing.Short() {
		t.Skip("it compiles a part of the standard library")
	}
	if err := (sandbox.Policy{Workspace: t.TempDir()}).Check(); err != nil {
		noSandbox(t, err)
	}
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go on this machine")
	}
	modules, err := exec.Command(gotool, "env", "GOMODCACHE").Output()
	check(t, err)
	sums, err := os.ReadFile(filepath.Join("..", "..", "go.sum"))
	check(t, err)
	c := newCage(t, os.Geteuid() == 0)
	for name, text := range map[string]string{
		"go.mod":    "module small\n\ngo 1.26\n\nrequire github.com/cenkalti/backoff/v5 v5.0.3\n",
		"go.sum":    string(sums),
		"x.go":      "package small\n\nimport \"github.com/cenkalti/backoff/v5\"\n\nfunc Never() bool { return (&backoff.StopBackOff{}).NextBackOff() == backoff.Stop }\n",
		"x_test.go": "package small\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) {\n\tif !Never() {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		check(t, os.WriteFile(filepath.Join(c.ws, name), []byte(text), 0o600))
	}
	cmd := c.command(c.mylm, "sandbox", "--", gotool, "test", "-vet=off", "./...")
	cmd.Env = append(cmd.Env, "GOMODCACHE="+strings.TrimSpace(string(modules)), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok  \tsmall") {
		t.Errorf("%v\n%s", err, out)
	}
}
