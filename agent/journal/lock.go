package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockSuffix is the end of the name of a file whose lock the writer of the
// session holds. It is a file of its own, since on Windows a locked one cannot
// be read.
const lockSuffix = ".lock"

// lock is held by whoever appends to a session. A nil one is not held.
type lock struct{ *flock.Flock }

// lockPatience is how long a lock is waited for that may be nobody's: a process
// that is killed while it starts another leaves its files open in that one, until
// the program there begins.
const lockPatience = 300 * time.Millisecond

// acquireSoon takes the lock of a session, or fails soon with ErrInUse.
func acquireSoon(ctx context.Context, dir, id string) (*lock, error) {
	for deadline := time.Now().Add(lockPatience); ; {
		l, err := acquire(dir, id)
		if !errors.Is(err, ErrInUse) || time.Now().After(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPatience / 30):
		}
	}
}

// acquire takes the lock of a session, or fails at once with ErrInUse.
func acquire(dir, id string) (*lock, error) {
	path := lockPath(dir, id)
	for {
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is %s, and the session's lock belongs there: delete it yourself", path, kindOf(info.Mode()))
		}
		l := flock.New(path, flock.SetPermissions(0o600))
		ok, err := l.TryLock()
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		if !ok {
			return nil, errors.Join(ErrInUse, l.Close())
		}
		// The one before us may have removed the file between its opening and
		// its locking here: then somebody else can lock a file of that name.
		locked, err := l.Stat()
		current, err2 := os.Lstat(path)
		if err == nil && err2 == nil && os.SameFile(locked, current) {
			return &lock{l}, nil
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
}

// release lets the session go, and leaves no file behind where a locked file
// can be removed. After the unlocking it would be somebody else's.
func (l *lock) release() {
	if l == nil {
		return
	}
	_ = os.Remove(l.Path())
	_ = l.Close()
}

func lockPath(dir, id string) string { return filepath.Join(dir, id+lockSuffix) }
