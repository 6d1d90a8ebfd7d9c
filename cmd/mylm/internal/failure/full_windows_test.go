package failure_test

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"mylm/cmd/mylm/internal/failure"
)

// The errors of Windows for a full disk are not ENOSPC.
func TestFullDiskOfWindows(t *testing.T) {
	t.Parallel()
	for _, full := range []syscall.Errno{39, 112} { // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL
		if s := failure.Advice(&fs.PathError{Op: "write", Path: "x.jsonl", Err: full}); !strings.Contains(s, "Make room") {
			t.Errorf("%d: %q", full, s)
		}
	}
}
