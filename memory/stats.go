package memory

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Stats say how much a memory holds.
type Stats struct {
	Documents, Superseded int
	Projects, Sessions    int
	Kinds                 map[Kind]Share
	Oldest, Newest        time.Time      // of Document.Time, zero without documents
	Vectors               map[string]int // of each embedder
	Bytes                 int64          // of the file, or of the tables of a Backend
}

// Share counts the documents of one kind.
type Share struct {
	Documents      int       `json:"documents"`
	Bytes          int64     `json:"bytes"` // of their texts
	Oldest, Newest time.Time `json:"-"`
}

// Stats counts what there is.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	err := s.read(ctx, func(tx *sql.Tx) error {
		st = Stats{Kinds: map[Kind]Share{}, Vectors: map[string]int{}}
		var oldest, newest int64
		err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(min(time), 0), coalesce(max(time), 0), count(superseded_by), count(DISTINCT project),
			(SELECT count(*) FROM (SELECT DISTINCT session, project FROM documents WHERE session != '') AS all_sessions) FROM documents`).
			Scan(&st.Documents, &oldest, &newest, &st.Superseded, &st.Projects, &st.Sessions)
		if err != nil {
			return err
		}
		if st.Documents > 0 {
			st.Oldest, st.Newest = instant(oldest), instant(newest)
		}
		if s.backend != nil {
			st.Bytes, err = s.backend.Size(ctx, tx)
		} else {
			err = tx.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&st.Bytes)
		}
		if err != nil {
			return err
		}
		err = each(ctx, tx, "SELECT kind, count(*), sum(octet_length(text)), min(time), max(time) FROM documents GROUP BY kind", nil, func(scan func(...any) error) error {
			var kind Kind
			var k Share
			var oldest, newest int64
			err := scan(&kind, &k.Documents, &k.Bytes, &oldest, &newest)
			k.Oldest, k.Newest = instant(oldest), instant(newest)
			st.Kinds[kind] = k
			return err
		})
		if err != nil {
			return err
		}
		return each(ctx, tx, "SELECT name, (SELECT count(*) FROM vectors WHERE embedder = embedders.num) FROM embedders", nil, func(scan func(...any) error) error {
			var name string
			var n int
			err := scan(&name, &n)
			st.Vectors[name] = n
			return err
		})
	})
	return st, err
}

// Aside returns the paths of damaged files that Open moved aside. They may still
// hold what was forgotten since, and stay until somebody deletes them.
func (s *Store) Aside() ([]string, error) {
	if s.backend != nil {
		return nil, nil
	}
	all, err := beside(s.path)
	return slices.DeleteFunc(all, func(path string) bool { return !strings.HasPrefix(path, s.path+damagedSuffix+"-") }), err
}

// beside returns the paths of the files that mylm made beside a memory: the marks of
// damage, the files that were moved aside and databases in the making. Other files
// with the memory's name in theirs are the user's.
func beside(path string) (all []string, err error) {
	made := regexp.MustCompile(`^(\.damaged(\.new|-\d{8}T\d{6}Z(-\d+)?(-wal|-shm)?)?|\.new(-wal|-shm)?)$`)
	folder, err := os.ReadDir(filepath.Dir(path))
	for _, f := range folder {
		if suffix, ok := strings.CutPrefix(f.Name(), filepath.Base(path)); ok && made.MatchString(suffix) {
			all = append(all, filepath.Join(filepath.Dir(path), f.Name()))
		}
	}
	return all, err
}
