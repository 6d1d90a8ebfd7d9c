package diskfull

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// Is reports whether err comes from a disk, or a quota, without space.
func Is(err error) bool {
	for _, full := range []error{
		windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED, syscall.ENOSPC,
	} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}
