//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An editor that is killed or closes the pipe leaves no process, and neither does a signal.
func TestACPEditorEnds(t *testing.T) {
	t.Parallel()
	script := toolReply("", "execute_command", map[string]any{"command": "echo $$ > pid; echo begun; sleep 1000 & echo $! > child; wait"})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		e := newEditor(t, script)
		cmd := exec.Command("dying-editor", e.dir)
		cmd.Env = e.env()
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		mylm, _ := strconv.Atoi(strings.TrimSpace(line))
		shell, child := pidIn(t, filepath.Join(e.dir, "pid")), pidIn(t, filepath.Join(e.dir, "child"))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		for _, p := range []int{mylm, shell, child} {
			gone(t, p)
		}
		show := exec.Command("mylm", "sessions", "show", "last")
		show.Env, show.Dir = cmd.Env, e.dir
		if said, err := show.CombinedOutput(); err != nil || !strings.Contains(string(said), "begun") {
			t.Errorf("the session: %v\n%s", err, said)
		}
	})
	t.Run("stdin ends", func(t *testing.T) {
		t.Parallel()
		e := startEditor(t, script, "--yes")
		id := e.open()
		_, response := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")})
		shell, child := pidIn(t, filepath.Join(e.dir, "pid")), pidIn(t, filepath.Join(e.dir, "child"))
		if err := e.in.Close(); err != nil {
			t.Fatal(err)
		}
		if f := e.wait(response); !strings.Contains(f.raw, "cancelled") {
			t.Errorf("the prompt ends as %s", f.raw)
		}
		if code := exitWithin(t, e.cmd); code != "0" {
			t.Errorf("it exits with %s", code)
		}
		for _, p := range []int{shell, child} {
			gone(t, p)
		}
		e.finished(id)
	})
	t.Run("SIGTERM", func(t *testing.T) {
		t.Parallel()
		e := startEditor(t, script, "--yes")
		id := e.open()
		e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")})
		shell, child := pidIn(t, filepath.Join(e.dir, "pid")), pidIn(t, filepath.Join(e.dir, "child"))
		if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := exitWithin(t, e.cmd); code != "130" {
			t.Errorf("it exits with %s", code)
		}
		for _, p := range []int{shell, child} {
			gone(t, p)
		}
	})
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// pidIn waits for the process id in a file.
func pidIn(t *testing.T, path string) (n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); n == 0; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(path)
		if n, _ = strconv.Atoi(strings.TrimSpace(string(text))); time.Now().After(deadline) {
			t.Fatalf("no process in %s", path)
		}
	}
	return n
}

// zombie reports whether a process has ended and nobody took notice.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
