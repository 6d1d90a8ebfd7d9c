package tempdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Dir is a private directory. Its process holds a lock on it: one without is left
// behind by a process that was killed.
type Dir struct {
	Path string
	Lock *os.File // for a process that keeps it beyond this one; nil where directories cannot be locked
}

// swept has the prefixes of which this process has removed what was left behind.
var swept sync.Map

// errTaken is the error of a directory that another process takes for one left behind.
var errTaken = errors.New("it is removed as one left behind")

// New makes a directory below the system's for temporary files, whose name begins
// with the prefix. The first time it removes those of that prefix that processes of
// the same user left behind. It fails where directories can be locked and this one cannot.
// It may be called by several goroutines.
func New(prefix string) (*Dir, error) {
	if _, again := swept.LoadOrStore(prefix, true); !again {
		sweep(prefix)
	}
	for {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		lock, err := hold(path)
		if err == nil {
			return &Dir{path, lock}, nil
		}
		if !errors.Is(err, errTaken) {
			RemoveAll(path)
			return nil, err
		}
	}
}

// Remove removes the directory with all that is in it, as far as that is possible.
func (d *Dir) Remove() {
	RemoveAll(d.Path)
	_ = d.Lock.Close()
}

// RemoveAll removes a directory that a command may have closed to its owner, as far
// as that is possible.
func RemoveAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
