//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package tempdir

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sweep removes directories that were left behind.
func sweep(prefix string) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, path := range left {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || stat.Uid != uint32(os.Getuid()) {
			continue
		}
		if lock, err := locked(path); err == nil {
			RemoveAll(path)
			lock.Close()
		}
	}
}

// hold locks a directory that was made. It fails if another process has removed it, or
// is about to.
func hold(path string) (*os.File, bool) {
	lock, err := locked(path)
	if err != nil {
		return nil, false
	}
	held, err1 := lock.Stat()
	now, err2 := os.Stat(path)
	if err1 == nil && err2 == nil && os.SameFile(held, now) {
		return lock, true
	}
	lock.Close()
	return nil, false
}

// locked opens a directory and locks it, unless it is locked.
func locked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
