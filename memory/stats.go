package memory

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Stats say how much a memory holds.
type Stats struct {
	Documents, Superseded int
	Projects, Sessions    int
	Kinds                 map[Kind]int
	Oldest, Newest        time.Time      // of Document.Time, zero without documents
	Pending               int            // documents that the index does not cover yet; a search reads them
	Vectors               map[string]int // of each embedder
	Bytes                 int64          // of the file
}

// Stats counts what there is.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	err := s.read(ctx, func(tx *sql.Tx) error {
		st = Stats{Kinds: map[Kind]int{}, Vectors: map[string]int{}}
		var oldest, newest sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT count(*), count(superseded_by), count(DISTINCT project),
			(SELECT count(*) FROM (SELECT DISTINCT session, project FROM documents WHERE session != '')), min(time), max(time),
			count(*) FILTER (WHERE num > (SELECT coalesce(max(last), 0) FROM segments)),
			(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size) FROM documents`).
			Scan(&st.Documents, &st.Superseded, &st.Projects, &st.Sessions, &oldest, &newest, &st.Pending, &st.Bytes)
		if err != nil {
			return err
		}
		if oldest.Valid {
			st.Oldest, st.Newest = instant(oldest.Int64), instant(newest.Int64)
		}
		if err := counts(ctx, tx, "SELECT kind, count(*) FROM documents GROUP BY kind", func(name string, n int) { st.Kinds[Kind(name)] = n }); err != nil {
			return err
		}
		return counts(ctx, tx, "SELECT name, (SELECT count(*) FROM vectors WHERE embedder = embedders.num) FROM embedders",
			func(name string, n int) { st.Vectors[name] = n })
	})
	return st, err
}

// Aside are the files beside the memory that were damaged once and moved aside by
// Open: what they hold is forgotten by nobody but who deletes them.
func (s *Store) Aside() ([]string, error) {
	all, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		return nil, err
	}
	var aside []string
	for _, f := range all {
		if strings.HasPrefix(f.Name(), filepath.Base(s.path)+damagedSuffix+"-") {
			aside = append(aside, filepath.Join(filepath.Dir(s.path), f.Name()))
		}
	}
	return aside, nil
}

// counts gives the rows of a name and a number.
func counts(ctx context.Context, tx *sql.Tx, query string, each func(name string, n int)) error {
	found, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var name string
		var n int
		if err := found.Scan(&name, &n); err != nil {
			return err
		}
		each(name, n)
	}
	return found.Err()
}
