package ollamatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// children returns the processes that a process has started.
func children(of int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, path := range lists {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended meanwhile
		}
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func kill(pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) == nil }
