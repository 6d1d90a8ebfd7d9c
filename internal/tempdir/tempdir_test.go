//go:build linux

package tempdir_test

import (
	"os"
	"syscall"
	"testing"

	"mylm/internal/tempdir"
)

// A directory that cannot be locked is an error, not a reason to make another one, and
// nothing of it is left.
func TestNoLock(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	kept, err := tempdir.New("test-")
	if err != nil {
		t.Fatal(err)
	}
	kept.Remove()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err = tempdir.New("test-")
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(tmp)
	if err == nil || len(left) > 0 {
		t.Errorf("%v, and %v", err, left)
	}
}
