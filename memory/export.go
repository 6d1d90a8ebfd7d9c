package memory

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"io"
)

// batch is how many documents are read or written at a time where there may
// be very many.
const batch = 1000

// Export writes what a filter selects, with what was superseded, as JSON
// Lines: one Document a line, in the order in which they were added. It shows
// one state of the memory. Import reads it.
func (s *Store) Export(ctx context.Context, w io.Writer, f Filter) (n int, err error) {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	n, err = s.each(ctx, f, func(_ int, d Document) error { return encoder.Encode(d) })
	return n, cmp.Or(err, out.Flush())
}

// each calls f with the documents that a filter selects and how many came before,
// in one state of the memory. It ends at the first error of f, and returns how many
// there were.
func (s *Store) each(ctx context.Context, f Filter, call func(n int, d Document) error) (n int, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		n = 0
		where, args := f.where()
		return inPortions(ctx, tx, where, args, func(r row) error {
			n++
			return call(n-1, r.Document)
		})
	})
	return n, err
}

// inPortions calls f with the documents that a condition selects, in order. On some
// connections no other statement may begin while rows are still being read.
func inPortions(ctx context.Context, tx *sql.Tx, where string, args []any, f func(row) error) error {
	for after := int64(0); ; {
		all, err := rows(ctx, tx, where+" AND num > ? ORDER BY num LIMIT ?", append(args[:len(args):len(args)], after, batch)...)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, r := range all {
			if err := f(r); err != nil {
				return err
			}
		}
		after = all[len(all)-1].num
	}
}

// inRange is the condition of inPortions for documents with a number from one to another.
const inRange = "num BETWEEN ? AND ?"
