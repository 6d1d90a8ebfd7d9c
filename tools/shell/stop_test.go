//go:build unix

package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mylm/tools"
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

func TestStopped(t *testing.T) {
	const command = `sleep 60 & echo $!; wait`
	for _, c := range []struct {
		name    string
		timeout time.Duration
		want    string
	}{
		{"cancelled", 0, "cancelled: the command was stopped before it ended: context canceled"},
		{"timed out", 300 * time.Millisecond, "timed out after 300ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ctx = tools.WithProgress(ctx, func(string) {
				if c.timeout == 0 {
					cancel()
				}
			})
			out := invocation(t, shell.Options{}, command).Run(ctx, c.timeout)
			if out.Error != c.want || out.ExitCode != nil {
				t.Errorf("error %q, exit code %v, want %q", out.Error, out.ExitCode, c.want)
			}
			if out.Duration > patience {
				t.Errorf("took %v", out.Duration)
			}
			wantDead(t, pidIn(t, out.Text))
		})
	}
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

// A process that left the group holds the pipe open, and Run returns anyway.
func TestEscapedProcess(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip("no setsid on this machine")
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	out := run(t, shell.Options{}, `setsid sh -c 'echo $$ >"`+pidFile+`.new"; mv "`+pidFile+`.new" "`+pidFile+`"; exec sleep 60' & `+
		`while [ ! -e "`+pidFile+`" ]; do :; done; echo done`)
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, string(b))
	defer syscall.Kill(pid, syscall.SIGKILL)
	if !alive(pid) {
		t.Fatal("the process did not leave the group: the test shows nothing")
	}
	if !strings.HasPrefix(out.Text, "done") || out.Duration > patience/2 {
		t.Errorf("got %q after %v", out.Text, out.Duration)
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
