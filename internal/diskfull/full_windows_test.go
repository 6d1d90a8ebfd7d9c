package diskfull_test

import (
	"io/fs"
	"syscall"
	"testing"

	"mylm/internal/diskfull"
)

// The errors of Windows for a full disk are not ENOSPC.
func TestFullDiskOfWindows(t *testing.T) {
	t.Parallel()
	for _, full := range []syscall.Errno{39, 112, 1295} { // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED
		if !diskfull.Is(&fs.PathError{Op: "write", Path: "x.jsonl", Err: full}) {
			t.Errorf("%d: not recognised", full)
		}
	}
	if diskfull.Is(syscall.Errno(5)) { // ERROR_ACCESS_DENIED
		t.Error("access denied is taken for a full disk")
	}
}
