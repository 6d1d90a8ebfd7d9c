//go:build unix

package group

import (
	"os"
	"os/exec"
	"syscall"
)

// Group is the process group that a command leads.
type Group struct{ leader *os.Process }

// Start starts cmd as the leader of a group that its context kills. Unless the
// caller sets other attributes, the group is a session of its own: without a
// terminal a program that wants a password from /dev/tty fails, where in a
// background group it would be stopped by SIGTTIN and hang.
func Start(cmd *exec.Cmd) (*Group, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	cmd.Cancel = func() error {
		if !(&Group{cmd.Process}).Kill() {
			return os.ErrProcessDone
		}
		return nil
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Group{cmd.Process}, nil
}

// Kill kills all processes of the group and reports whether there were any.
func (g *Group) Kill() bool {
	return syscall.Kill(-g.leader.Pid, syscall.SIGKILL) == nil
}
