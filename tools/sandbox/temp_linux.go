package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tempPrefix begins the names of private directories.
const tempPrefix = "mylm-sandbox-"

// tempDir is the private directory of a command. Its user holds a lock on it:
// one without is left behind by processes that were killed.
type tempDir struct {
	path string
	lock *os.File
}

// removeStale looks for directories left behind, once in a process.
var removeStale = sync.OnceFunc(func() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, path := range left {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || stat.Uid != uint32(os.Getuid()) {
			continue
		}
		if lock, err := locked(path); err == nil {
			removeAll(path)
			lock.Close()
		}
	}
})

// newTempDir makes a private directory.
func newTempDir() (*tempDir, error) {
	removeStale()
	for {
		path, err := os.MkdirTemp("", tempPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := locked(path)
		if err != nil { // another process took it for one left behind
			continue
		}
		held, err1 := lock.Stat()
		now, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, now) {
			return &tempDir{path, lock}, nil
		}
		lock.Close()
	}
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

func (d *tempDir) remove() {
	removeAll(d.path)
	d.lock.Close()
}

// removeAll removes a directory that a command may have closed to its owner.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = syscall.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
