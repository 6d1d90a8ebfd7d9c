//go:build unix

package langchain

import (
	"os"
	"os/exec"
	"syscall"
)

// runGroup runs cmd as the leader of a group of processes, of which none
// outlives it.
func runGroup(cmd *exec.Cmd) error {
	// A session of its own has no terminal: a program that asks there fails
	// instead of hanging.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	kill := func() error {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	cmd.Cancel = kill
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = kill() // what is left of the group, if anything
	return err
}
