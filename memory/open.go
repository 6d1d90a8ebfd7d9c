package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"mylm/internal/diskfull"
)

// Files beside the database.
const (
	lockSuffix    = ".lock"    // held shared by all who use it, exclusively by who replaces it
	damagedSuffix = ".damaged" // stands while a repair is due or under way
	newSuffix     = ".new"     // a database in the making
)

// applicationID is in the header of every memory: "mylm".
const applicationID = 0x6d796c6d

// Open opens the memory at path, and creates it and its folder if necessary. Its
// cost does not depend on the size of the memory.
//
// A file that cannot be written to can be searched; changes are ErrReadOnly, or
// ErrFull where there is no space for the files that SQLite puts beside it. A
// damaged file is moved aside, and what can be read is copied into a new one, see
// Store.Salvaged.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, notWritable(path, err)
	}
	s := newStore(o)
	s.path, s.lock = path, flock.New(path+lockSuffix, flock.SetPermissions(0o600))
	err = s.open(ctx)
	if (errors.Is(err, ErrReadOnly) || errors.Is(err, ErrFull)) && s.openReadOnly(ctx) {
		s.readOnly = err
		return s, nil
	}
	if err != nil {
		return nil, errors.Join(err, s.disconnect(), s.lock.Close())
	}
	return s, nil
}

func newStore(o Options) *Store {
	s := &Store{now: o.Now, wait: cmp.Or(max(0, o.Wait), 10*time.Second), whole: o.ToolsWhole, write: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Erase deletes the memory at path, then the files that mylm made beside it, also
// where there is no space to forget anything. Each file is overwritten first, and
// one that cannot be deleted does not keep the others. It is ErrBusy where other
// processes use the memory for longer than wait.
func Erase(ctx context.Context, path string, wait time.Duration) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	s := &Store{path: path, wait: wait, lock: flock.New(path + lockSuffix)}
	defer s.lock.Close()
	if err := s.acquire(ctx, s.lock.TryLockContext); err != nil {
		return err
	}
	others, err := beside(path)
	for _, file := range append([]string{path, path + "-wal", path + "-shm"}, others...) { // a log that stays would come back
		if failed := wipe(file); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, notWritable(path, failed))
		}
	}
	return err
}

// wipe overwrites a file and deletes it.
func wipe(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = io.CopyN(f, rand.Reader, info.Size())
	}
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
}

// openReadOnly opens a file that cannot be written to, for searching: a backup, or
// one on a disk that is read-only or full. A file with a log beside it is not whole by itself, and
// to read the log SQLite has to write.
func (s *Store) openReadOnly(ctx context.Context) bool {
	if info, err := os.Stat(s.path + "-wal"); exists(s.path+damagedSuffix) || err == nil && info.Size() > 0 {
		return false
	}
	if info, err := os.Stat(s.path); err != nil || !info.Mode().IsRegular() || s.disconnect() != nil {
		return false
	}
	var err error
	if s.db, err = sql.Open("sqlite", location(s.path, url.Values{"mode": {"ro"}, "immutable": {"1"}})); err != nil {
		return false
	}
	_, err = s.version(ctx)
	return err == nil
}

// open tries what is usual first: a file that is there, whole and up to date.
// Everything else is done alone.
func (s *Store) open(ctx context.Context) error {
	if err := s.acquire(ctx, s.lock.TryRLockContext); err != nil {
		return err
	}
	version, err := s.connect(ctx)
	if err == nil && version == len(migrations) {
		return nil
	}
	if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(s.disconnect(), s.lock.Unlock()); err != nil {
		return err
	}
	if err := s.acquire(ctx, s.lock.TryLockContext); err != nil {
		return err
	}
	version, err = s.connect(ctx) // somebody else may have done it
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = create(ctx, s.path, nil)
	case errors.Is(err, ErrDamaged):
		if err = s.disconnect(); err == nil {
			s.saved, err = salvage(ctx, s.path, s.now())
		}
	case err == nil:
		if err = explain(ctx, s.path, migrate(ctx, s.db, version)); err == nil {
			shrink(ctx, s.db)
		}
	}
	if err = errors.Join(err, s.disconnect(), s.lock.Unlock()); err != nil {
		return err
	}
	if err := s.acquire(ctx, s.lock.TryRLockContext); err != nil {
		return err
	}
	_, err = s.connect(ctx)
	return err
}

func (s *Store) disconnect() error {
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// acquire gets the lock in one of its two ways.
func (s *Store) acquire(ctx context.Context, try func(context.Context, time.Duration) (bool, error)) error {
	limited, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	switch ok, err := try(limited, 20*time.Millisecond); {
	case ok:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("%w: %s has to be repaired or brought up to date, but other processes use it: end them, or wait, and try again", ErrBusy, s.path)
	default:
		return notWritable(s.path, err)
	}
}

// connect opens the file if it is there, whole as far as can be seen at once,
// and not from the future; it returns the version of its schema.
func (s *Store) connect(ctx context.Context) (version int, err error) {
	if exists(s.path + damagedSuffix) {
		return 0, ErrDamaged
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return 0, fmt.Errorf("%s is a folder: the memory is a file", s.path)
	}
	if info.Mode().Perm()&0o077 != 0 { // on Windows this changes nothing
		if err := os.Chmod(s.path, 0o600); err != nil {
			return 0, notWritable(s.path, err)
		}
	}
	if s.db, err = sql.Open("sqlite", dsn(s.path)); err != nil {
		return 0, err
	}
	s.db.SetMaxIdleConns(4)
	err = s.patiently(ctx, func() (err error) {
		version, err = s.version(ctx)
		return err
	})
	return version, explain(ctx, s.path, err)
}

// version reads the version of the schema.
func (s *Store) version(ctx context.Context) (version int, err error) {
	var application int
	err = s.db.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&application, &version)
	if err != nil {
		return 0, err
	}
	switch {
	case application == applicationID && version > len(migrations):
		return 0, fmt.Errorf("%w: %s has version %d, this mylm knows %d: install the newer one again", ErrNewer, s.path, version, len(migrations))
	case application == applicationID && version > 0:
		return version, nil
	}
	var ours, tables int
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FILTER (WHERE name = 'documents'), count(*) FROM sqlite_schema").Scan(&ours, &tables)
	if err == nil && ours == 0 && tables > 0 {
		return 0, fmt.Errorf("%s is a database of another program: name another file for the memory", s.path)
	}
	return 0, cmp.Or(err, ErrDamaged) // a memory always has its version: see create
}

// dsn says how each connection is set up. Deleted content is overwritten,
// because what was forgotten must not be found in the file.
func dsn(path string) string {
	return location(path, url.Values{"_txlock": {"immediate"}, "mode": {"rw"}, "_error_rc": {"1"}, "_pragma": {
		"busy_timeout(50)", // patiently waits for longer
		"journal_mode(wal)", "synchronous(full)", "foreign_keys(1)", "secure_delete(1)", "journal_size_limit(4194304)",
	}})
}

func location(path string, options url.Values) string {
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/") // C:/…
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: options.Encode()}).String()
}

// create makes a memory at path, with what fill puts into it. The file is there
// whole or not at all.
func create(ctx context.Context, path string, fill func(*sql.DB) error) (err error) {
	made := path + newSuffix
	// Those of an attempt that was killed, and a log whose file is gone: SQLite would
	// take it for that of the new file.
	for _, old := range []string{made, made + "-wal", made + "-shm", path + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return notWritable(path, err)
		}
	}
	// SQLite gives the files that it puts beside it the same permissions.
	if err := os.WriteFile(made, nil, 0o600); err != nil {
		return notWritable(path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(explain(ctx, path, err), os.Remove(made))
		}
	}()
	db, err := sql.Open("sqlite", dsn(made))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if _, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err == nil {
		err = migrate(ctx, db, 0)
	}
	if err == nil && fill != nil {
		err = fill(db)
	}
	if err == nil { // else what was written would stay in the log
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Rename(made, path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a rename last. Systems that cannot do it need not.
func syncFolder(path string) {
	if d, err := os.Open(path); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

func notWritable(path string, err error) error {
	// The text for a read-only file system is the same on all Unix systems, and the
	// error has no name that all systems share.
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), "read-only") {
		return fmt.Errorf("%w: %s: see who owns the folder, or name another one (%w)", ErrReadOnly, path, err)
	}
	if diskfull.Is(err) {
		return fmt.Errorf("%w: %s: free some space and try again (%w)", ErrFull, path, err)
	}
	return fmt.Errorf("memory %s: %w", path, err)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
