//go:build unix

package files_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mylm/tools/files"
)

// What is neither a file nor a directory is named and never waited for.
func TestSpecialFiles(t *testing.T) {
	// A socket's path is limited to about 100 bytes.
	root, err := os.MkdirTemp("", "files")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(root, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := files.Options{Root: root}
	wantError(t, read(t, o, "pipe"), "pipe is a named pipe; only files can be read")
	wantError(t, read(t, o, "sock"), "sock is a socket")
	wantError(t, read(t, files.Options{Root: "/dev"}, "null"), "null is a device")
	wantText(t, list(t, o, "."), "pipe (a named pipe)\nsock (a socket)", false)
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	root := tree(t, map[string]string{"f": "x"})
	if err := os.Chmod(filepath.Join(root, "f"), 0); err != nil {
		t.Fatal(err)
	}
	wantError(t, read(t, files.Options{Root: root}, "f"), "permission denied")
}
