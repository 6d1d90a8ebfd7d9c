//go:build linux

package tempdir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// New removes directories of its prefix that were left behind, whatever the path of the
// directory for temporary files is, and neither one in use nor what has another owner,
// name or kind.
func TestLeftBehind(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), "[a]*")
	t.Setenv("TMPDIR", tmp)
	for _, name := range []string{"left-1/closed/file", "left-2", "left-5", "right-1", "left"} {
		if err := os.MkdirAll(filepath.Join(tmp, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Chmod(filepath.Join(tmp, "left-1/closed"), 0), os.Symlink("right-1", filepath.Join(tmp, "left-3")), os.WriteFile(filepath.Join(tmp, "left-4"), nil, 0o600))
	used, failed := os.Open(filepath.Join(tmp, "left-2"))
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	if err := syscall.Flock(int(used.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	want := "[d left/ d left-2/ L left-3 - left-4 d right-1/]"
	if os.Chown(filepath.Join(tmp, "left-5"), os.Getuid()+1, -1) == nil { // as root
		want = strings.Replace(want, " d right", " d left-5/ d right", 1)
	}
	made, err := tempdir.New("left-")
	if err != nil {
		t.Fatal(err)
	}
	made.Remove()
	entries, err := os.ReadDir(tmp)
	if names := fmt.Sprint(entries); err != nil || names != want {
		t.Errorf("%v: %s", err, names)
	}
}
