package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

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
