//go:build linux || aix || solaris

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed and not read yet.
func flushInput(tty *os.File) error {
	return unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
