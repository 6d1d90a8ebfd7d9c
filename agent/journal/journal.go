package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"mylm/agent"
)

// Version is the version of the format that this package writes. It reads this
// one and those before it.
const Version = sumVersion

// Format identifies a journal in its header.
const Format = "mylm session"

// suffix is the end of a journal's name.
const suffix = ".jsonl"

// Errors of a store. They come wrapped, with the session they are about.
var (
	// ErrNotFound: there is no such session.
	ErrNotFound = errors.New("there is no such session")
	// ErrInUse: another process, or another Store, appends to the session.
	ErrInUse = errors.New("the session is in use by another process")
	// ErrNewer: a later version of this package wrote the session.
	ErrNewer = errors.New("the session was written by a newer version of mylm")
	// ErrDamaged: a line that is not the last one cannot be read, or nothing can.
	ErrDamaged = errors.New("the session is damaged")
	// ErrCut: the last line is not whole, as after a loss of power. Everything
	// before it is complete.
	ErrCut = errors.New("the last line is cut short")
	// ErrNothing: the session has a header and no entry.
	ErrNothing = errors.New("nothing is recorded in it")
	// ErrNotBegun: the file of a session could not be made. Nothing of it was
	// written.
	ErrNotBegun = errors.New("the session cannot be kept")
)

// Header is the first line of a journal.
type Header struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	ID      string            `json:"id"`
	Created time.Time         `json:"created"`
	Title   string            `json:"title"` // the beginning of the first question
	Labels  map[string]string `json:"labels,omitempty"`
}

// Store is a directory of journals. It is an agent.Recorder. It may be used by
// several goroutines and processes at once.
type Store struct {
	dir  string
	sync func(*os.File) error

	mu    sync.Mutex
	files map[string]*file // of sessions in which a run is in progress, or may begin
}

// New returns the store in a directory, which is made when the first session
// is. Nothing is touched before.
func New(dir string) *Store {
	return &Store{dir: dir, sync: (*os.File).Sync, files: map[string]*file{}}
}

// Dir is the store's directory.
func (s *Store) Dir() string { return s.dir }

// Path is the file of a session, whether it is there or not.
func (s *Store) Path(id string) string { return filepath.Join(s.dir, id+suffix) }

// Append implements agent.Recorder. A session whose first entry comes must not
// be there. One that is there is taken if its last run is over and the entry
// follows it: otherwise, Open has to be called before. A session for which it
// fails is closed: the rest of the run is refused with the same error.
func (s *Store) Append(ctx context.Context, e agent.Entry) error {
	if !validID(e.Session) {
		return fmt.Errorf("%w: %q is not a valid session id", ErrNotBegun, e.Session)
	}
	s.mu.Lock()
	f := s.files[e.Session]
	begins := e.Seq == 1 || e.Kind() == agent.EntryRun
	if f == nil || begins && f.isClosed() {
		f = newFile(s, e.Session)
		f.reopens = e.Seq > 1
		s.files[e.Session] = f
	}
	s.mu.Unlock()
	err := f.append(ctx, e)
	if e.Kind() == agent.EntryEnd && f.isClosed() { // before, the rest of its run is refused with the same error
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.files[e.Session] == f {
			delete(s.files, e.Session)
		}
	}
	return err
}

// Open takes a session to append to it, and returns what it holds. Whatever cut
// its last line short is repaired first. The session is held until its next run is
// over, or the store is closed.
func (s *Store) Open(ctx context.Context, id string) (*agent.Session, error) {
	if !validID(id) {
		return nil, fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[id]; f != nil && !f.isClosed() {
		return nil, fmt.Errorf("session %s: %w", id, ErrInUse)
	}
	f := newFile(s, id)
	session, err := f.open(ctx)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	s.files[id] = f
	return session, nil
}

// Close waits for pending writes and releases the sessions. The store can
// be used again. The error is that of an entry that could not be written and
// that no Append could report.
func (s *Store) Close() error {
	s.mu.Lock()
	files := s.files
	s.files = map[string]*file{}
	s.mu.Unlock()
	var failed error
	for _, f := range files {
		failed = errors.Join(failed, f.close())
	}
	return failed
}

// Find returns the id of the session that is named so, in any case, or that a
// prefix of at least four characters names. The name of a session of another
// process is found, too.
func (s *Store) Find(prefix string) (string, error) {
	var found []name
	if validID(prefix) {
		var err error
		if found, err = s.names(); err != nil {
			return "", err
		}
	}
	var matching []string
	for _, f := range found {
		if f.id == prefix {
			return f.id, nil
		}
	}
	for _, f := range found {
		if strings.EqualFold(f.id, prefix) {
			return f.id, nil
		}
		if len(prefix) >= 4 && strings.HasPrefix(strings.ToLower(f.id), strings.ToLower(prefix)) {
			matching = append(matching, f.id)
		}
	}
	switch {
	case len(matching) == 0 && len(prefix) < 4:
		return "", fmt.Errorf("%q: %w (an id has at least four letters and digits)", prefix, ErrNotFound)
	case len(matching) == 0:
		return "", fmt.Errorf("%q: %w", prefix, ErrNotFound)
	case len(matching) == 1:
		return matching[0], nil
	}
	return "", fmt.Errorf("%q: %w: it matches %d sessions: %s", prefix, ErrNotFound, len(matching), strings.Join(matching[:min(5, len(matching))], ", "))
}

// validID keeps names of sessions from being paths.
func validID(id string) bool {
	return id != "" && len(id) <= 100 && strings.IndexFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}

// name is a journal in the directory.
type name struct {
	id      string
	size    int64
	changed time.Time
}

// names lists the journals, and what else has the name of one, in no order.
func (s *Store) names() ([]name, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []name
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !validID(id) {
			continue
		}
		info, err := os.Stat(s.Path(id))
		if err != nil {
			info, err = e.Info() // of the link itself
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, name{id, info.Size(), info.ModTime()})
	}
	return all, err
}

// lockSuffix ends the name of the file whose lock the writer of a session
// holds. It is a file of its own, since on Windows a locked one cannot be read.
const lockSuffix = ".lock"

// lock is held by the process that appends to a session. A nil one is not held.
type lock struct{ *flock.Flock }

// lockPatience bounds the wait for a lock that may be stale: a process
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
			return nil, fmt.Errorf("%s is %s where the session's lock file belongs: delete it yourself", path, kindOf(info.Mode()))
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
		// its locking here: then another process can lock a file of that name.
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

// release unlocks the session, and removes the lock file where a locked file
// can be removed. After the unlocking it may be another process's.
func (l *lock) release() {
	if l == nil {
		return
	}
	_ = os.Remove(l.Path())
	_ = l.Close()
}

func lockPath(dir, id string) string { return filepath.Join(dir, id+lockSuffix) }

// Remove deletes a session that no process appends to.
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
		return os.RemoveAll(s.imageDir(id))
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

// sweep deletes lock files of removed sessions, which remain when a process dies.
func (s *Store) sweep(before time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.sweepImages(before, entries); err != nil {
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
