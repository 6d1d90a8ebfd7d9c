//go:build unix

package files_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mylm/tools/files"
	"mylm/tools/files/undo"
)

// TestSwappedLinks replaces a directory and a file by links that lead out of
// the workspace, again and again while tools work there.
func TestSwappedLinks(t *testing.T) {
	root := tree(t, map[string]string{"real/f": "inside\n", "f": "inside\n"})
	outside := filepath.Join(filepath.Dir(root), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "f")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(root, name) }
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(path("new"))
			os.Symlink([]string{"real", outside}[i%2], path("new"))
			os.Rename(path("new"), path("dir"))
			os.Symlink([]string{"real/f", secret}[i%2], path("new"))
			os.Rename(path("new"), path("f"))
		}
	})
	o := files.Options{Root: root, Journal: undo.NewStore(undo.Options{Dir: t.TempDir()}).Begin(root, "")}
	wrote, refused := 0, 0
	for i := range often(60, 2000) {
		for _, name := range []string{"dir/f", "f", "dir/new/g"} {
			out := write(t, o, name, fmt.Sprintf("written %d\n", i), true)
			if out.Success() {
				wrote++
			} else {
				refused++
			}
			for tool, args := range map[string]map[string]any{
				files.ReadFileName: {"path": name}, files.SearchFilesName: {"pattern": "secret", "path": "dir"}, files.ListDirName: {"path": "dir"},
			} {
				if out := unasked(t, o, tool, args); strings.Contains(out.Body(), "secret") && out.Success() && !strings.Contains(out.Text, "(no line") {
					t.Fatalf("%s %v: %+v", tool, args, out)
				}
			}
		}
	}
	close(stop)
	swapping.Wait()
	if got := content(t, secret); got != "secret\n" {
		t.Errorf("the file outside holds %q", got)
	}
	nothingElse(t, outside, "f")
	if wrote == 0 || refused == 0 {
		t.Errorf("%d were written and %d refused: the links were not swapped in between", wrote, refused)
	}
}

// What is no file is neither written nor waited for.
func TestWriteSpecialFiles(t *testing.T) {
	root, err := os.MkdirTemp("", "files") // a socket's path is limited to about 100 bytes
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
	if err := os.Symlink("pipe", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	o := files.Options{Root: root}
	for path, want := range map[string]string{"pipe": "a named pipe; only files can be written", "sock": "a socket", "link": "a named pipe"} {
		wantError(t, write(t, o, path, "x"), want)
		wantError(t, edit(t, o, path, "x", "y"), want)
	}
	wantError(t, write(t, files.Options{Root: "/dev"}, "null", "x"), "null is a device")
	wantText(t, call(t, t.Context(), o, files.SearchFilesName, map[string]any{"pattern": "x"}), "(no line matches in 0 files)", false)
	wantError(t, call(t, t.Context(), o, files.SearchFilesName, map[string]any{"pattern": "x", "path": "pipe"}), "a named pipe")
	wantText(t, call(t, t.Context(), o, files.FindFilesName, map[string]any{"pattern": "*"}), "link\npipe\nsock", false)
}

// Paths of /proc lead out of the workspace like any other.
func TestProc(t *testing.T) {
	if _, err := os.Stat("/proc/self/root"); err != nil {
		t.Skip(err)
	}
	root := tree(t, map[string]string{"f": "x", "cwd": "-> /proc/self/cwd", "all": "-> /proc/self/root"})
	outside := filepath.Join(filepath.Dir(root), "new")
	o := files.Options{Root: root}
	for _, path := range []string{
		"/proc/self/root" + outside, "/proc/self/cwd/new", "all" + outside, "cwd/new", "/proc/self/mem", "/dev/stdout", "/proc/self/fd/1",
	} {
		wantError(t, write(t, o, path, "x", true), "leads outside the workspace")
	}
	for _, path := range []string{"/proc/self/environ", "/proc/self/fd/0", "/proc/self/mem", "/dev/stdin", "/dev/tty", "/dev/zero", "all/dev/zero"} {
		args := map[string]any{"path": path}
		if out := unasked(t, o, files.ReadFileName, args); out.Success() {
			t.Errorf("%s was read", path)
		}
		call(t, t.Context(), o, files.ReadFileName, args) // must come back
	}
	nothingElse(t, filepath.Dir(root), "workspace")
}

func TestWriteKeepsMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	root := tree(t, map[string]string{"script": "x", "private": "x", "shared": "x"})
	for name, mode := range map[string]os.FileMode{"script": 0o755, "private": 0o600, "shared": 0o666} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
		o := files.Options{Root: root}
		write(t, o, name, "abc")
		edit(t, o, name, "b", "B")
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode().Perm() != mode || content(t, filepath.Join(root, name)) != "aBc" {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	write(t, files.Options{Root: root}, "d/new", "x", true)
	for name, want := range map[string]os.FileMode{"d/new": 0o640, "d": 0o750} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %o", name, info.Mode(), err, want)
		}
	}
}
