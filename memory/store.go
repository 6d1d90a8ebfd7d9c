package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Options configure a store. The zero value is a good default.
type Options struct {
	// Wait is how long to wait for other processes that write, or that repair
	// the file. Zero is 10 seconds.
	Wait time.Duration
	// ToolsWhole is the age at which the output of a tool is reduced to the lines
	// that share most words with the questions and answers around it. Zero is never.
	ToolsWhole time.Duration
	// Now is the clock for documents without a time, and for the time that a search
	// spends on embedding. Nil is time.Now.
	Now func() time.Time
}

// Errors that callers can test for with errors.Is. Returned errors wrap them with
// details.
var (
	// ErrNotFound: there is no document with this ID.
	ErrNotFound = errors.New("no such memory")
	// ErrDamaged: the file's content is not what was written. The next Open repairs it.
	ErrDamaged = errors.New("the memory is damaged")
	// ErrBusy: another process held the file for longer than Options.Wait.
	ErrBusy = errors.New("the memory is in use")
	// ErrFull: there is no space left on the disk. The operation had no effect.
	ErrFull = errors.New("no space for the memory")
	// ErrReadOnly: the file or its folder cannot be written to.
	ErrReadOnly = errors.New("the memory cannot be written to")
	// ErrNewer: a later version of mylm made the file.
	ErrNewer = errors.New("the memory was made by a newer version of mylm")
	// ErrEverything is returned by Forget for a filter that selects everything.
	ErrEverything = errors.New("the filter is empty and would forget everything; say what is meant, or All")
)

// Store is a memory in a file. It is safe for concurrent use, and several processes
// may have the file open.
type Store struct {
	path      string
	backend   Backend // nil: the file at path
	db        *sql.DB
	now       func() time.Time
	wait      time.Duration
	whole     time.Duration
	shortened time.Time     // when outputs of tools were; for the writer
	lock      *flock.Flock  // shared: whoever replaces the file waits for all
	write     chan struct{} // the writer of this process, so that waiting costs nothing
	saved     *Salvage
	readOnly  error // why it can be searched only; nil: it is not so

	cache atomic.Pointer[cache]
	dense atomic.Pointer[dense] // nil without an embedder
}

// Close releases the file. Recorded documents are on the disk before that.
func (s *Store) Close() error {
	err := s.db.Close()
	if s.backend != nil {
		return err
	}
	return errors.Join(s.explain(context.Background(), err), s.lock.Close())
}

// Salvaged reports what Open recovered from a damaged file, nil if the file was
// intact.
func (s *Store) Salvaged() *Salvage { return s.saved }

// Path returns the path of the file, "" for a memory in a database.
func (s *Store) Path() string { return s.path }

// update runs f in a transaction that writes. When it returns nil, what f did
// is on the disk; else nothing of it happened.
func (s *Store) update(ctx context.Context, f func(*sql.Tx) error) error {
	if s.readOnly != nil {
		return s.readOnly
	}
	select {
	case s.write <- struct{}{}:
		defer func() { <-s.write }()
	case <-ctx.Done():
		return errBusy(s.path, ctx.Err())
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
	if err = f(tx); err == nil {
		err = tx.Commit()
	}
	return s.explain(ctx, err)
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
		if !errors.Is(explain(ctx, s.path, err), ErrBusy) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errBusy(s.path, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// errBusy is the error for a file that others write to.
func errBusy(path string, err error) error {
	return fmt.Errorf("%w: %s: another process is writing to it; try again in a moment (%w)", ErrBusy, path, err)
}

// explain says what an error of SQLite's means, and what to do. Damage is
// written down, so that the next Open repairs it.
func (s *Store) explain(ctx context.Context, err error) error {
	if s.backend != nil {
		return s.backend.Explain(ctx, err)
	}
	err = explain(ctx, s.path, err)
	if errors.Is(err, ErrDamaged) && s.readOnly == nil { // what was opened as read-only may be in use again
		_ = s.mark() // the error says more
		return fmt.Errorf("%w; %s: what can be read is saved the next time it is opened", err, s.path)
	}
	return err
}

func explain(ctx context.Context, path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if err != nil && ctx.Err() != nil && strings.HasPrefix(err.Error(), "sql: ") { // database/sql has ended the transaction itself
			return ctx.Err()
		}
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
		return errBusy(path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %s: free some space and try again (%w)", ErrFull, path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %s: see who owns the file and its folder, and whether the disk is read-only (%w)", ErrReadOnly, path, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the disk failed while mylm used its memory in %s: see whether it is full or gone (%w)", path, err)
	}
	return fmt.Errorf("memory %s: %w", path, err)
}

// migrations lead from each version of the schema to the next; PRAGMA
// user_version says how many were made. One that was released never changes.
//
// The columns of documents up to the text are read from the pages of damaged
// files by their order, see salvage.go.
var migrations = []string{
	// The truth: what cannot be made again.
	`CREATE TABLE documents (
		num           INTEGER PRIMARY KEY, -- the order of recording, and the name in the index
		id            TEXT    NOT NULL UNIQUE,
		hash          BLOB    NOT NULL,
		kind          TEXT    NOT NULL,
		role          TEXT    NOT NULL,
		speaker       TEXT    NOT NULL,
		session       TEXT    NOT NULL,
		project       TEXT    NOT NULL,
		source        TEXT    NOT NULL,
		tags          TEXT    NOT NULL, -- JSON
		time          INTEGER NOT NULL, -- microseconds since 1970
		last          INTEGER NOT NULL,
		count         INTEGER NOT NULL,
		superseded_by INTEGER REFERENCES documents ON DELETE SET NULL,
		text          TEXT    NOT NULL
	);
	CREATE INDEX documents_hash ON documents(hash);
	CREATE INDEX documents_session ON documents(session);
	CREATE INDEX documents_superseded ON documents(superseded_by) WHERE superseded_by IS NOT NULL;`,

	// The index: segments of documents in order, each made from their texts.
	`CREATE TABLE state (
		one      INTEGER PRIMARY KEY CHECK (one = 1),
		changes  INTEGER NOT NULL, -- goes up with every change but a document more
		analyser INTEGER NOT NULL  -- the version of the analysis that the segments hold
	);
	INSERT INTO state VALUES (1, 0, 0);
	CREATE TABLE scopes (
		num     INTEGER PRIMARY KEY,
		session TEXT NOT NULL, -- '' for the project itself
		project TEXT NOT NULL,
		UNIQUE (session, project)
	);
	CREATE TABLE speakers (
		num  INTEGER PRIMARY KEY,
		name TEXT NOT NULL UNIQUE
	);
	CREATE TABLE segments (
		num    INTEGER PRIMARY KEY,
		first  INTEGER NOT NULL, -- document
		last   INTEGER NOT NULL,
		weight INTEGER NOT NULL,
		facts  BLOB    NOT NULL
	);
	CREATE TABLE chunks (
		segment INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
		term    TEXT    NOT NULL, -- the first in it
		data    BLOB    NOT NULL,
		PRIMARY KEY (segment, term)
	) WITHOUT ROWID;`,

	// Vectors, which an embedder makes.
	`CREATE TABLE embedders (
		num       INTEGER PRIMARY KEY,
		name      TEXT    NOT NULL UNIQUE,
		dimension INTEGER NOT NULL,
		through   INTEGER NOT NULL -- every document up to here has its vector
	);
	CREATE TABLE vectors (
		seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that a reader sees what changed
		num      INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
		embedder INTEGER NOT NULL REFERENCES embedders ON DELETE CASCADE,
		data     BLOB    NOT NULL,
		UNIQUE (embedder, num)
	);
	CREATE INDEX vectors_num ON vectors(num);`,

	// The vectors of an embedder that was built in, and found nothing that words
	// did not. Their space is given back by shrink.
	`DELETE FROM embedders WHERE name LIKE 'hashed/%';`,

	// From here on a vector has a byte for each number, see pack; those that exist
	// stay as they are.
	``,

	// From here on a hash is followed by four bytes for the ID, see checksum; those
	// that exist stay as they are.
	``,
}

// shrink gives the space of deleted rows back to the file system, if it is worth
// it. That it fails, because it needs as much space meanwhile, is no harm.
func shrink(ctx context.Context, db *sql.DB) {
	var free, all int
	err := db.QueryRowContext(ctx, "SELECT (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_count FROM pragma_page_count)").Scan(&free, &all)
	if err == nil && free > all/4 {
		_, _ = db.ExecContext(ctx, "VACUUM")
	}
}

// migrate brings the schema up to date, each step in a transaction of its own.
// Whoever calls it has the database for itself.
func migrate(ctx context.Context, db *sql.DB, version int) error {
	for ; version < len(migrations); version++ {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			_, err = tx.ExecContext(ctx, migrations[version]+fmt.Sprintf("\nPRAGMA user_version = %d;", version+1))
			if err == nil {
				err = tx.Commit()
			}
			_ = tx.Rollback() // does nothing after a commit
		}
		if err != nil {
			return fmt.Errorf("bringing the memory to version %d: %w", version+1, err)
		}
	}
	return nil
}
