package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is a user that every system has. It must be able to read the programs: those
// below root's home it cannot.
const nobody = 65534

// give makes a file the server's.
func give(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// unprivileged has a program run as nobody if this one is root's, and end with it.
func unprivileged(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}
