//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package tempdir

import (
	"errors"
	"io/fs"
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

// hold locks a directory that was made.
func hold(path string) (*os.File, error) {
	lock, err := locked(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	held, err1 := lock.Stat()
	now, err2 := os.Stat(path)
	if err1 == nil && err2 == nil && os.SameFile(held, now) {
		return lock, nil
	}
	lock.Close()
	return nil, errTaken
}

// locked opens a directory and locks it, unless it is locked.
func locked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}
