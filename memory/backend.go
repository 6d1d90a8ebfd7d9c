package memory

import (
	"context"
	"database/sql"
	"fmt"

	"mylm/memory/lexical"
)

// Backend is what a database does in its own way that holds a memory in place of a
// file of SQLite's, see OpenBackend. It is safe for concurrent use.
//
// Everything else is done by the statements of this package, which keep to the SQL that
// SQLite and PostgreSQL share. They take these from SQLite, which the driver or the
// schema of the database has to supply: parameters are ? and ?N, and json_each is a
// function whose column value has the strings of a JSON array. The tables and columns
// are those of a file, but for the data and the order of vectors. Numbers of segments
// and embedders are made by the database. Texts are compared by their bytes.
type Backend interface {
	// Explain says what an error of the database means, with the errors of this
	// package; the error may be nil, or not the database's.
	Explain(ctx context.Context, err error) error
	// Size is how many bytes the tables take.
	Size(ctx context.Context, tx *sql.Tx) (int64, error)
	// PutVector stores the vector of the document with a number, in place of one that
	// is there. All vectors of an embedder have the same length.
	PutVector(ctx context.Context, tx *sql.Tx, embedder, document int64, vector []float32) error
	// Similarities compares a vector of length 1 with those of documents: the cosine,
	// or 0 if it is less. Documents without a vector are left out.
	Similarities(ctx context.Context, tx *sql.Tx, embedder int64, vector []float32, documents []uint32) (map[uint32]float32, error)
	// Nearest returns up to k documents with their Similarity, which is above 0, the
	// nearest first: of those that a condition on the table documents selects.
	Nearest(ctx context.Context, tx *sql.Tx, embedder int64, vector []float32, where string, args []any, k int) ([]lexical.Hit, error)
}

// OpenBackend opens the memory that a database holds, whose tables are there. A
// read-only transaction of the database sees one state of it, and any other one is the
// only writer until it ends. The store closes db.
//
// What is said of files does not apply: damage is reported and not repaired, Forget
// leaves it to the database when the space of deleted rows is overwritten, and how
// long a writer waits for others is the database's to say. ErrNewer says that a later
// version of mylm made the index.
func OpenBackend(ctx context.Context, db *sql.DB, b Backend, o Options) (*Store, error) {
	s := newStore(o)
	s.db, s.backend = db, b
	err := s.read(ctx, func(tx *sql.Tx) error {
		var version int
		err := tx.QueryRowContext(ctx, "SELECT analyser FROM state").Scan(&version)
		if err == nil && version > analyser {
			err = fmt.Errorf("%w: its index has version %d, this mylm knows %d", ErrNewer, version, analyser)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}
