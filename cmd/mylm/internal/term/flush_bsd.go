//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed and not read yet.
func flushInput(tty *os.File) error {
	const fread = 1 // FREAD of <sys/fcntl.h>: the input queue only
	return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, fread)
}
