//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package tempdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// sweep removes directories that were left behind.
func sweep(prefix string) {
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		path := filepath.Join(os.TempDir(), e.Name())
		var stat unix.Stat_t
		if !strings.HasPrefix(e.Name(), prefix) || unix.Lstat(path, &stat) != nil || stat.Uid != uint32(os.Getuid()) {
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
