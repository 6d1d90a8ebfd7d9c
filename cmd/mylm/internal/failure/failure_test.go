package failure_test

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"mylm/cmd/mylm/internal/failure"
)

// A full disk is an error that says what to do.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("the session could not be recorded: %w", &fs.PathError{Op: "write", Path: "x.jsonl", Err: syscall.ENOSPC})
	if f := failure.Of(err); !strings.Contains(f.Hint, "Make room") || !strings.Contains(f.Hint, "--no-save") {
		t.Errorf("%+v", f)
	}
}
