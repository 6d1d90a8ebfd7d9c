//go:build !windows

package diskfull

import (
	"errors"
	"syscall"
)

// Is reports whether err comes from a disk, or a quota, without space.
func Is(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
