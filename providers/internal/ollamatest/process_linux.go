package ollamatest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

const supported = true

// ownGroup makes a process lead a group, in which its children are too, and
// end with the test binary even if no clean-up runs.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func interrupt(cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// children looks for children in /proc, where stat reads
// "pid (name) state parent ...".
func children(of int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		var pid, parent int
		var state string
		fmt.Sscan(string(b), &pid)
		fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &parent)
		if parent == of {
			pids = append(pids, pid)
		}
	}
	return pids
}

func kill(pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) == nil }
