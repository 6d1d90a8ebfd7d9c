//go:build unix

package replace

import (
	"io/fs"
	"os"
	"syscall"
)

// syncDir writes the names in dir to the disk: a rename lives in the directory.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Sync() // some file systems have nothing to sync here, and say so by an error
	return nil
}

// own gives f the owner and group of old. That only root may give files away
// is no reason to fail: a group is often possible where an owner is not.
func own(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if f.Chown(int(was.Uid), int(was.Gid)) != nil {
		f.Chown(-1, int(was.Gid))
	}
}
