package undo_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mylm/tools/files/undo"
)

// disk mounts a small file system, if the system lets the test do so.
func disk(t *testing.T, dir string, bytes int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
}

// TestFullDisk fills the disk of the workspace, and then that of the store: the
// file stays what it is, nothing is left, and there is no gap in the journal.
func TestFullDisk(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for _, full := range []string{"workspace", "store"} {
		t.Run(full, func(t *testing.T) {
			dirs := map[string]string{"workspace": t.TempDir(), "store": t.TempDir()}
			disk(t, dirs[full], 64<<10)
			p := &place{t: t, dir: dirs["workspace"], data: dirs["store"], store: undo.NewStore(undo.Options{Dir: dirs["store"]})}
			var err error
			if p.root, err = os.OpenRoot(p.dir); err != nil {
				t.Fatal(err)
			}
			defer p.root.Close()
			p.put("a", "old", 0o640)
			if full == "store" { // what must be kept does not fit
				p.put("b", big, 0o640)
			}
			before := p.tree()
			j := p.store.Begin(p.dir, "")
			p.write(j, "a", "1")
			name := map[string]string{"workspace": "a", "store": "b"}[full]
			written := p.tree()
			err = j.Write(t.Context(), p.root, undo.Change{Name: name, Content: []byte(big + "y")})
			if !errors.Is(err, syscall.ENOSPC) || p.tree() != written {
				t.Errorf("%v, and the workspace is\n%.300s", err, p.tree())
			}
			id := j.ID()
			p.write(j, "a", "2")
			j.End()
			p.undo(p.find(id), false)
			if p.tree() != before {
				t.Errorf("after undoing:\n%.300s", p.tree())
			}
		})
	}
}

func TestPermissions(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o666)
	r := p.run("a", "1")
	err := filepath.WalkDir(p.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	p.undo(r, false)
}

// A file keeps its owner and group where root writes it.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	p := newPlace(t, undo.Options{})
	p.put("a", "old", 0o4755)
	if err := os.Chown(filepath.Join(p.dir, "a"), 1234, 2345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(p.dir, "a"), fs.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	check := func(mode fs.FileMode) {
		t.Helper()
		info, err := os.Stat(filepath.Join(p.dir, "a"))
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 2345 || info.Mode() != mode {
			t.Errorf("owner %d, group %d, mode %v, want mode %v", s.Uid, s.Gid, info.Mode(), mode)
		}
	}
	r := p.run("a", "1")
	check(0o755) // what another wrote does not run as its owner
	p.undo(r, false)
	check(fs.ModeSetuid | 0o755)
}
