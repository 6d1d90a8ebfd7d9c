package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"mylm/tools/files"
)

// The kernel's log calls itself a regular file, and reading it waits for more.
func TestFileThatBlocks(t *testing.T) {
	f, err := os.Open("/proc/kmsg")
	if err != nil {
		t.Skip("only root may read the kernel's log: ", err)
	}
	f.Close()
	inv, err := registry(t, files.Options{Root: "/proc"}).Prepare(files.ReadFileName, json.RawMessage(`{"path":"kmsg"}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("late"))
	defer cancel()
	out := inv.Run(ctx, 0)
	if !strings.HasPrefix(out.Error, "cancelled: ") || out.Duration > patience {
		t.Errorf("error %q after %v, want that it was cancelled at once", out.Error, out.Duration)
	}
}
