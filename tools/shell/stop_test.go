//go:build unix

package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
)

// alive reports whether the process runs; one that is dead but not yet reaped
// does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func wantDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still alive", pid)
		}
	}
}

func pidIn(t *testing.T, text string) int {
	t.Helper()
	line, _, _ := strings.Cut(text, "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("no process number in %q", text)
	}
	return pid
}

// stopped runs a command that prints something at once and then goes on until its
// time is over. A machine too busy to start it gets twice the time.
func stopped(t *testing.T, o shell.Options, command string) (tools.Outcome, time.Duration) {
	t.Helper()
	for ; ; o.Timeout *= 2 {
		out := invocation(t, o, command).Run(t.Context(), 0)
		if out.Text != "" || o.Timeout == 0 || o.Timeout > patience {
			return out, o.Timeout
		}
	}
}

func TestStopped(t *testing.T) {
	const command = `sleep 60 & echo $!; wait`
	check := func(t *testing.T, out tools.Outcome, want string) {
		t.Helper()
		if out.Error != want || out.ExitCode != nil {
			t.Errorf("error %q, exit code %v, want %q", out.Error, out.ExitCode, want)
		}
		wantDead(t, pidIn(t, out.Text))
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx = tools.WithProgress(ctx, func(string) { cancel() })
		out := invocation(t, shell.Options{}, command).Run(ctx, 0)
		check(t, out, "cancelled: the command was stopped before it ended")
		if out.Duration > patience {
			t.Errorf("took %v", out.Duration)
		}
	})
	t.Run("timed out", func(t *testing.T) {
		out, timeout := stopped(t, shell.Options{Timeout: 300 * time.Millisecond}, command)
		check(t, out, "timed out after "+timeout.String()+"; timeout_s can be up to 600")
	})
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "made")
	out := invocation(t, shell.Options{}, "touch "+file).Run(ctx, 0)
	if !strings.Contains(out.Error, "not started") {
		t.Errorf("error %q", out.Error)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

func TestBackgroundEndsWithCommand(t *testing.T) {
	out := run(t, shell.Options{}, "sleep 60 & echo $!")
	wantDead(t, pidIn(t, out.Text))
}

// detach leaves a process behind that left the session and whose parent is
// gone, and prints its number.
const detach = `setsid sh -c 'sleep 60 & echo $! >pid.new; mv pid.new pid' & while [ ! -e pid ]; do :; done; cat pid`

// A process that leaves its session and its parent dies with the command.
func TestDetachedProcess(t *testing.T) {
	needs(t, "setsid")
	if !sandbox.Supervises() {
		t.Skip("commands are not supervised here")
	}
	for name, c := range map[string]struct {
		command string
		timeout time.Duration
	}{
		"at the end":    {detach, 0},
		"at a timeout":  {detach + "; sleep 60", time.Second},
		"at a signal":   {detach + "; kill -9 $$", 0},
		"group is kept": {`trap "" TERM INT HUP; ` + detach + `; kill 0; kill -TERM 0`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			out, timeout := stopped(t, shell.Options{Dir: t.TempDir(), Timeout: c.timeout}, c.command)
			if out.Duration > timeout+patience {
				t.Errorf("took %v", out.Duration)
			}
			wantDead(t, pidIn(t, out.Text))
		})
	}
}

// Without a supervisor a process that left the group holds the pipe open, and
// Run returns anyway.
func TestEscapedProcess(t *testing.T) {
	needs(t, "setsid")
	if sandbox.Supervises() {
		again(t)
		return
	}
	out := run(t, shell.Options{Dir: t.TempDir()}, detach+"; echo done")
	pid := pidIn(t, out.Text)
	defer syscall.Kill(pid, syscall.SIGKILL)
	if !alive(pid) {
		t.Fatal("the process did not leave the group: the test shows nothing")
	}
	if !strings.HasSuffix(out.Text, "done") || out.Duration > patience/2 {
		t.Errorf("got %q after %v", out.Text, out.Duration)
	}
}

// TestUnsupervised runs what must hold anywhere without a supervisor.
func TestUnsupervised(t *testing.T) {
	if !sandbox.Supervises() {
		t.Skip("this is that")
	}
	again(t, "TestOutcomes", "TestStopped", "TestBackgroundEndsWithCommand", "TestFlood", "TestTimeouts", "TestNoSecrets")
}

// again runs tests, this one if none is named, in a process that has no
// supervisor.
func again(t *testing.T, names ...string) {
	t.Helper()
	if len(names) == 0 {
		names = []string{t.Name()}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Env = append(os.Environ(), unsupervised+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("no " + program + " on this machine")
	}
}

// A command that never stops writing is stopped all the same.
func TestFlood(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var size int
	ctx = tools.WithProgress(ctx, func(text string) {
		if size += len(text); size > 1<<20 {
			cancel()
		}
	})
	out := invocation(t, shell.Options{}, "yes").Run(ctx, patience)
	if !strings.Contains(out.Error, "stopped before it ended") || len(out.Text) > shell.DefaultMaxOutput+100 {
		t.Errorf("error %q, %d bytes", out.Error, len(out.Text))
	}
}

func TestSideBySide(t *testing.T) {
	inv := invocation(t, shell.Options{}, "echo $$")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out := inv.Run(t.Context(), patience); !out.Success() {
				t.Error(out.Error)
			}
		})
	}
	wg.Wait()
}
