package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Filter selects documents. The zero value of a field selects all; a field
// with several values selects what has one of them.
type Filter struct {
	IDs      []string
	Projects []string
	Sessions []string
	Kinds    []Kind
	Tags     []string
	Source   string
	// After and Before (exclusive) bound Document.Time.
	After, Before time.Time
	// History selects documents that were superseded, too. List leaves them out
	// without it; Forget never does.
	History bool
	// Everything says that a filter without other fields is meant to select
	// all. Forget asks for it; elsewhere it changes nothing.
	Everything bool
}

// columns are what scan reads.
const columns = `d.num, d.id, d.kind, d.role, d.speaker, d.session, d.project, d.source, d.tags, d.time, d.last, d.count,
	coalesce((SELECT id FROM documents WHERE num = d.superseded_by), ''), d.text, d.hash`

// each calls f with each row of a query.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, f func(scan func(...any) error) error) error {
	found, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer found.Close()
	scan := func(dest ...any) error {
		err := found.Scan(dest...)
		if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") { // a value of another type than was written
			return fmt.Errorf("%w (%w)", ErrDamaged, err)
		}
		return err
	}
	for found.Next() {
		if err := f(scan); err != nil {
			return err
		}
	}
	return found.Err()
}

// column reads rows of one value.
func column[T any](ctx context.Context, tx *sql.Tx, query string, args ...any) (all []T, err error) {
	err = each(ctx, tx, query, args, func(scan func(...any) error) error {
		var v T
		err := scan(&v)
		all = append(all, v)
		return err
	})
	return all, err
}

// row is a document and its number.
type row struct {
	num int64
	Document
}

// rows reads what a condition on documents d selects. A text that is not what
// was written is damage: what nobody said must not be remembered.
func rows(ctx context.Context, tx *sql.Tx, where string, args ...any) ([]row, error) {
	var all []row
	err := each(ctx, tx, "SELECT "+columns+" FROM documents d WHERE "+where, args, func(scan func(...any) error) error {
		var r row
		var tags string
		var hash sql.RawBytes
		var at, last int64
		if err := scan(&r.num, &r.ID, &r.Kind, &r.Role, &r.Speaker, &r.Session, &r.Project, &r.Source, &tags,
			&at, &last, &r.Count, &r.SupersededBy, &r.Text, &hash); err != nil {
			return err
		}
		if !r.Document.intact(hash) {
			return fmt.Errorf("%w: document %.80q: the text is not what was written", ErrDamaged, r.ID)
		}
		if tags != "[]" {
			if err := json.Unmarshal([]byte(tags), &r.Tags); err != nil {
				return fmt.Errorf("%w: the tags of %s are %.40q", ErrDamaged, r.ID, tags)
			}
		}
		r.Time, r.Last = instant(at), instant(last)
		all = append(all, r)
		return nil
	})
	return all, err
}

// byID reads a document, and names it if it is not there.
func byID(ctx context.Context, tx *sql.Tx, id string) (row, error) {
	found, err := rows(ctx, tx, "id = ?", id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: %.80q", ErrNotFound, id)
	}
	if err != nil {
		return row{}, err
	}
	return found[0], nil
}

// Get reads one document. An unknown ID is ErrNotFound.
func (s *Store) Get(ctx context.Context, id string) (Document, error) {
	var found row
	err := s.read(ctx, func(tx *sql.Tx) (err error) {
		found, err = byID(ctx, tx, id)
		return err
	})
	return found.Document, err
}

// Around reads a document with up to n before and n after it in its session,
// in the order in which they were added. One without a session has no neighbours.
func (s *Store) Around(ctx context.Context, id string, n int) ([]Document, error) {
	const nearby = "SELECT o.num FROM documents m JOIN documents o USING (session, project) WHERE m.id = ?1 AND session != '' AND o.num "
	all, err := s.list(ctx, "num IN (SELECT num FROM documents WHERE id = ?1 UNION ALL SELECT num FROM ("+nearby+"< m.num ORDER BY o.num DESC LIMIT ?2) AS before "+
		"UNION ALL SELECT num FROM ("+nearby+"> m.num ORDER BY o.num LIMIT ?2) AS rest) ORDER BY num", id, max(0, n))
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w: %.80q", ErrNotFound, id)
	}
	return all, err
}

// List reads what a filter selects, the newest first, at most limit of them; 0
// is all.
func (s *Store) List(ctx context.Context, f Filter, limit int) ([]Document, error) {
	where, args := f.where()
	if !f.History {
		where += " AND superseded_by IS NULL"
	}
	if limit <= 0 {
		limit = math.MaxInt
	}
	return s.list(ctx, where+" ORDER BY num DESC LIMIT ?", append(args, limit)...)
}

func (s *Store) list(ctx context.Context, where string, args ...any) (all []Document, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		all = nil
		found, err := rows(ctx, tx, where, args...)
		for _, r := range found {
			all = append(all, r.Document)
		}
		return err
	})
	return all, err
}

// everything is the condition of a filter that is empty.
const everything = "true"

// where is the condition of a filter, without History and Everything.
func (f Filter) where() (where string, args []any) {
	where = everything
	and := func(condition string, set bool, arg any) {
		if set {
			where, args = where+" AND "+condition, append(args, arg)
		}
	}
	// There may be more names than a statement may have parameters.
	const names = "(SELECT value FROM json_each(?))"
	and("id IN "+names, len(f.IDs) > 0, jsonList(f.IDs))
	and("project IN "+names, len(f.Projects) > 0, jsonList(f.Projects))
	and("session IN "+names, len(f.Sessions) > 0, jsonList(f.Sessions))
	and("kind IN "+names, len(f.Kinds) > 0, jsonList(f.Kinds))
	and("EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN "+names+")", len(f.Tags) > 0, jsonList(f.Tags))
	and("source = ?", f.Source != "", f.Source)
	and("time >= ?", !f.After.IsZero(), f.After.UnixMicro())
	and("time < ?", !f.Before.IsZero(), f.Before.UnixMicro())
	return where, args
}

// jsonList is a list of names as a JSON array, each as documents hold it.
func jsonList[S ~string](names []S) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = valid(string(name))
	}
	list, _ := json.Marshal(all) // strings never fail
	return string(list)
}
