package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Options say how a store is opened. The zero value is what one wants.
type Options struct {
	// Wait is how long to wait for other processes that write, or that repair
	// the file. Zero is 10 seconds.
	Wait time.Duration
	// EmbedWait is how long a search waits for its embedder to answer; one that
	// did not is not asked again. Zero is 10 seconds: it may have to be loaded.
	EmbedWait time.Duration
	// ToolsWhole is for how long what a tool printed is kept as it was recorded.
	// Of older output only the lines remain that share most words with what was
	// asked and answered around it. Zero is for ever.
	ToolsWhole time.Duration
	// Now is the clock for documents without a time, and for how long a search
	// embeds. It is time.Now if nil.
	Now func() time.Time
}

// Errors that a caller may decide on. What is returned wraps them and says more.
var (
	// ErrNotFound: there is no document with this ID.
	ErrNotFound = errors.New("no such memory")
	// ErrDamaged: the file does not hold what was written. Open repairs it.
	ErrDamaged = errors.New("the memory is damaged")
	// ErrBusy: another process held the file for longer than Options.Wait.
	ErrBusy = errors.New("the memory is in use")
	// ErrFull: there is no space left for the file. Nothing of the operation was kept.
	ErrFull = errors.New("no space for the memory")
	// ErrReadOnly: the file or its folder cannot be written to.
	ErrReadOnly = errors.New("the memory cannot be written to")
	// ErrNewer: a later version of mylm made the file.
	ErrNewer = errors.New("the memory was made by a newer version of mylm")
	// ErrEverything is returned by Forget for a filter that selects everything.
	ErrEverything = errors.New("the filter is empty and would forget everything; say what is meant, or All")
)

// Store is a memory in a file. It is safe for concurrent use, and so is the
// file: many processes may have it open.
type Store struct {
	path      string
	db        *sql.DB
	now       func() time.Time
	wait      time.Duration
	whole     time.Duration
	embedWait time.Duration
	lock      *flock.Flock  // shared: whoever replaces the file waits for all
	write     chan struct{} // the writer of this process, so that waiting costs nothing
	saved     *Salvage
	readOnly  bool

	mu    sync.Mutex
	cache *cache
	dense *dense // nil without an embedder
}

// Close releases the file. What was recorded is safe without it.
func (s *Store) Close() error {
	err := s.db.Close()
	return errors.Join(s.explain(context.Background(), err), s.lock.Close())
}

// Salvaged tells what Open had to do because the file was damaged, nil if it
// was not.
func (s *Store) Salvaged() *Salvage { return s.saved }

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// update runs f in a transaction that writes. When it returns nil, what f did
// is on the disk; else nothing of it happened.
func (s *Store) update(ctx context.Context, f func(*sql.Tx) error) error {
	if s.readOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.path)
	}
	select {
	case s.write <- struct{}{}:
		defer func() { <-s.write }()
	case <-ctx.Done():
		return s.waited(ctx)
	}
	var tx *sql.Tx
	err := s.patiently(ctx, func() (err error) {
		tx, err = s.db.BeginTx(ctx, nil) // immediate, see dsn: nothing after it has to wait
		return err
	})
	if err != nil {
		return s.explain(ctx, err)
	}
	defer tx.Rollback() // does nothing after a commit
	if err := f(tx); err != nil {
		return s.explain(ctx, err)
	}
	return s.explain(ctx, tx.Commit())
}

// read runs f in a transaction that sees one state of the file. It may run f
// again.
func (s *Store) read(ctx context.Context, f func(*sql.Tx) error) error {
	return s.explain(ctx, s.patiently(ctx, func() error {
		tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback() // nothing was written
		return f(tx)
	}))
}

// patiently tries again while another process has the file locked. SQLite
// could wait by itself, but would not notice that ctx is done.
func (s *Store) patiently(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(s.wait)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := try()
		if !busy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return s.waited(ctx)
		case <-time.After(pause):
		}
	}
}

// waited is the error for a context that was done before others let go of the
// file.
func (s *Store) waited(ctx context.Context) error {
	return fmt.Errorf("%w: %s: another process is writing to it; try again in a moment (%w)", ErrBusy, s.path, ctx.Err())
}

func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// explain says what an error of SQLite's means, and what to do. Damage is
// written down, so that the next Open repairs it.
func (s *Store) explain(ctx context.Context, err error) error {
	err = explain(ctx, s.path, err)
	if isDamage(err) {
		_ = s.mark() // the error says more
		return fmt.Errorf("%w; %s: what can be read is saved the next time it is opened", err, s.path)
	}
	return err
}

func isDamage(err error) bool { return errors.Is(err, ErrDamaged) }

func explain(ctx context.Context, path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	code := e.Code() & 0xff
	if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // the shared memory beside the file is a file, too
		code = sqlite3.SQLITE_FULL
	}
	switch code {
	case sqlite3.SQLITE_INTERRUPT:
		return cmp.Or(ctx.Err(), err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: %s: another process is writing to it; try again in a moment (%w)", ErrBusy, path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %s: free some space and try again (%w)", ErrFull, path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %s: see who owns the file and its folder, and whether the disk is read-only (%w)", ErrReadOnly, path, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the disk failed while mylm used its memory in %s: see whether it is full or gone (%w)", path, err)
	}
	return fmt.Errorf("memory %s: %w", path, err)
}
