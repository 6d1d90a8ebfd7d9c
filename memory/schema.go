package memory

import (
	"context"
	"database/sql"
	"fmt"
)

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
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, migrations[version]+fmt.Sprintf("\nPRAGMA user_version = %d;", version+1))
		if err != nil {
			_ = tx.Rollback() // the first error says more
			return fmt.Errorf("bringing the memory to version %d: %w", version+1, err)
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("bringing the memory to version %d: %w", version+1, err)
		}
	}
	return nil
}
