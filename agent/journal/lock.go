package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// Remove deletes a session that nobody appends to.
func (s *Store) Remove(id string) error {
	if !validID(id) {
		return fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	if _, err := os.Lstat(s.Path(id)); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	l, err := acquire(s.dir, id)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	defer l.release()
	path := s.Path(id)
	if err = os.Remove(path); err == nil {
		return nil
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return fmt.Errorf("session %s: %s is a directory that is not empty: delete it yourself", id, path)
	}
	return err
}

// Prune deletes sessions that were last changed before a time, the oldest
// first, but no more than most of them, if that is not 0. One that is in use
// stays, and what cannot be deleted does not keep it from the rest. It returns how
// many are gone.
func (s *Store) Prune(ctx context.Context, before time.Time, most int) (int, error) {
	names, err := s.recent(before)
	if err != nil {
		return 0, err
	}
	removed := 0
	var failed error
	for i := len(names) - 1; i >= 0 && (most == 0 || removed < most); i-- {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		switch err := s.Remove(names[i].id); {
		case err == nil:
			removed++
		case errors.Is(err, ErrInUse), errors.Is(err, ErrNotFound):
		default:
			failed = errors.Join(failed, err)
		}
	}
	return removed, errors.Join(failed, s.sweep(before))
}

// sweep deletes the locks of sessions that are removed, which stay behind where a
// process died.
func (s *Store) sweep(before time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), lockSuffix)
		if !ok || !validID(id) {
			continue
		}
		if info, err := e.Info(); err != nil || !info.ModTime().Before(before) {
			continue
		}
		if l, err := acquire(s.dir, id); err == nil {
			l.release()
		}
	}
	return nil
}
