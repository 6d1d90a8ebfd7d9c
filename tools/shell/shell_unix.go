//go:build unix

package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const shellName = "sh -c"

func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	// A session and not only a group: without a terminal of its own a program
	// that wants a password from /dev/tty fails, where in a background group it
	// would be stopped by SIGTTIN and hang.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// exitCode is the exit status, or what a shell makes of a signal: 128 and its number.
func exitCode(s *os.ProcessState) (code int, signal string) {
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return s.ExitCode(), ""
	}
	n := status.Signal()
	return 128 + int(n), fmt.Sprintf("%s (%v)", unix.SignalName(n), n)
}
