package memory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Report is what Verify found.
type Report struct {
	Documents int
	// Problems are empty if all is well.
	Problems []string
}

// maxProblems is where a list of problems says nothing more.
const maxProblems = 20

// Verify reads the whole file: whether its pages hang together, whether each
// text is the one that was written, and whether the index is what the texts
// make of it. It changes nothing but this: if it finds damage, the next Open
// repairs the file. The error is for a check that could not be made.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	var r Report
	checks := []func(context.Context, *sql.Tx) error{r.pages, r.texts, r.index}
	if s.backend != nil {
		checks = checks[1:] // it looks after its pages
	}
	err := s.read(ctx, func(tx *sql.Tx) error {
		for _, check := range checks {
			if err := check(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if errors.Is(err, ErrDamaged) {
		r.problem("%v", err)
	}
	if len(r.Problems) > 0 { // what a check stumbled over is among them
		err = nil
		if s.backend == nil {
			err = s.mark()
		}
	}
	return r, err
}

// mark has the next Open repair the file.
func (s *Store) mark() error {
	f, err := os.OpenFile(s.path+damagedSuffix, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return notWritable(s.path, err)
	}
	return f.Close()
}

func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

func (r *Report) pages(ctx context.Context, tx *sql.Tx) error {
	found, err := column[string](ctx, tx, `SELECT integrity_check FROM pragma_integrity_check
		UNION ALL SELECT 'a row of ' || "table" || ' belongs to no document' FROM pragma_foreign_key_check`)
	for _, row := range found { // one row of SQLite's can hold several lines, the first of them a title
		for line := range strings.Lines(row) {
			if line = strings.TrimSpace(line); line != "ok" && !strings.HasPrefix(line, "***") {
				r.problem("the file: %s", line)
			}
		}
	}
	return err
}

func (r *Report) texts(ctx context.Context, tx *sql.Tx) error {
	return inPortions(ctx, tx, everything, nil, func(row) error { r.Documents++; return nil })
}

// index analyses the documents of each segment again and compares.
func (r *Report) index(ctx context.Context, tx *sql.Tx) error {
	var version int
	if err := tx.QueryRowContext(ctx, "SELECT analyser FROM state").Scan(&version); err != nil {
		return err
	}
	all, err := segments(ctx, tx)
	if err != nil || version != analyser {
		return err // the next search makes it again
	}
	for _, g := range all {
		if err := r.segment(ctx, tx, g); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) segment(ctx context.Context, tx *sql.Tx, g segment) error {
	b := newBuilder(tx, g.first)
	b.fresh = func(context.Context, string, ...any) (uint32, error) { return 0, nil } // no name has that
	err := inPortions(ctx, tx, inRange, []any{g.first, g.last}, func(d row) error { return b.add(ctx, d) })
	if err != nil {
		return err
	}
	facts, err := column[[]byte](ctx, tx, "SELECT facts FROM segments WHERE num = ?", g.num)
	if err != nil {
		return err
	}
	want, same := chunks(b.index), bytes.Equal(facts[0], b.facts)
	err = each(ctx, tx, "SELECT term, data FROM chunks WHERE segment = ? ORDER BY term", []any{g.num}, func(scan func(...any) error) error {
		var c chunk
		err := scan(&c.first, &c.data)
		if same = same && len(want) > 0 && want[0].first == c.first && bytes.Equal(want[0].data, c.data); same {
			want = want[1:]
		}
		return err
	})
	if err == nil && (!same || len(want) > 0) {
		r.problem("the index of documents %d to %d is not what their texts make of it", g.first, g.last)
	}
	return err
}
