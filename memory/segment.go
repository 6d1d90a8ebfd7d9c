package memory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// analyser is the version of the index. It goes up when the terms of a text or the
// facts of a document change; the index is then built again.
const analyser = 2

// The index is a row of segments, each of which covers a range of documents
// and is written in one go; there is no other way to change it. Documents
// behind the last segment are pending: a search reads them itself.
//
// A document weighs one, and one more for each 512 bytes. Pending documents
// become a segment at the first of these weights; segments that are lighter
// than one of the others become one when together they reach it. So the index
// of a document is written three times, and there are few segments.
const (
	textWeight   = 512
	pendingLimit = 512
	middle       = 4096
	full         = 16384
)

const weightOf = "count(*) + coalesce(sum(octet_length(text)), 0) / 512"

// segment is a segment, or one that is to be.
type segment struct {
	num, first, last, weight int64
}

// mayMiss is how many numbers may belong to no document: they are what was
// forgotten. A search takes 24 bytes for each.
const mayMiss = 1 << 22

// segments gives the index as the file has it, in order. A segment or a number
// that no memory can have is damage: whoever counts on them would ask for more
// memory than there is.
func segments(ctx context.Context, tx *sql.Tx) (all []segment, err error) {
	var before, known int64
	err = each(ctx, tx, "SELECT num, first, last, weight, octet_length(facts) FROM segments ORDER BY first", nil, func(scan func(...any) error) error {
		var g segment
		var size int64
		if err := scan(&g.num, &g.first, &g.last, &g.weight, &size); err != nil {
			return err
		}
		if g.first <= before || g.last < g.first {
			return fmt.Errorf("%w: a segment of %d to %d follows one that ends at %d", ErrDamaged, g.first, g.last, before)
		}
		before, known = g.last, known+size/factSize
		all = append(all, g)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var first, last, pending int64
	err = tx.QueryRowContext(ctx, `SELECT coalesce((SELECT min(num) FROM documents), 1), coalesce((SELECT max(num) FROM documents), 0),
		(SELECT count(*) FROM documents WHERE num > ?)`, before).Scan(&first, &last, &pending)
	if err == nil && (first < 1 || max(last, before) > known+pending+mayMiss) {
		err = fmt.Errorf("%w: it has %d documents with the numbers %d to %d, and segments up to %d", ErrDamaged, known+pending, first, last, before)
	}
	return all, err
}

// fold makes a segment of the documents that wait for it. They are recorded already: if
// this fails they wait for the next time, and searches read them meanwhile. So do old
// outputs of tools, which are shortened at the same time.
func (s *Store) fold(ctx context.Context) {
	_ = s.update(ctx, func(tx *sql.Tx) error { return fold(ctx, tx) })
	_ = s.update(ctx, func(tx *sql.Tx) error { return s.shorten(ctx, tx) }) // what it cannot do must not undo the fold
}

// fold makes a segment of what is pending, and of lighter ones before it.
func fold(ctx context.Context, tx *sql.Tx) error {
	if _, err := renew(ctx, tx); err != nil {
		return err
	}
	all, err := segments(ctx, tx)
	if err != nil {
		return err
	}
	pending := segment{first: 1}
	if len(all) > 0 {
		pending.first = all[len(all)-1].last + 1
	}
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(num), 0), "+weightOf+" FROM documents WHERE num >= ?", pending.first).
		Scan(&pending.last, &pending.weight)
	if err != nil || pending.last == 0 {
		return err
	}
	all = append(all, pending)
	return index(ctx, tx, all[merged(all)].first, pending.last)
}

// index makes segments of a range of documents, in place of those that begin in
// it, and tells all caches.
func index(ctx context.Context, tx *sql.Tx, first, last int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM segments WHERE first BETWEEN ? AND ?", first, last); err != nil {
		return err
	}
	if err := newBuilder(tx, first).read(ctx, last); err != nil {
		return err
	}
	return changed(ctx, tx)
}

// merged tells from which segment on all are to become one with the last.
func merged(all []segment) (from int) {
	from = len(all) - 1
	for _, limit := range []int64{middle, full} {
		start, sum := len(all), int64(0)
		for start > from || start > 0 && all[start-1].weight < limit {
			start--
			sum += all[start].weight
		}
		if sum >= limit {
			from = start
		}
	}
	return from
}

// renew drops an index that another version of the analysis made.
func renew(ctx context.Context, tx *sql.Tx) (dropped bool, err error) {
	old, err := column[int](ctx, tx, "UPDATE state SET analyser = ?1 WHERE analyser != ?1 RETURNING changes", analyser)
	if err == nil && len(old) > 0 {
		_, err = tx.ExecContext(ctx, "DELETE FROM segments")
	}
	return len(old) > 0, err
}

// rebuild makes the segments again that hold one of the documents, which are
// in ascending order: they are gone, or have another text.
func rebuild(ctx context.Context, tx *sql.Tx, nums []int64) error {
	dropped, err := renew(ctx, tx)
	if err != nil { // SQLite may have ended the transaction: nothing may follow
		return err
	}
	if dropped {
		return fold(ctx, tx)
	}
	all, err := segments(ctx, tx)
	if err != nil {
		return err
	}
	for _, g := range all {
		if i, _ := slices.BinarySearch(nums, g.first); i < len(nums) && nums[i] <= g.last {
			if err := index(ctx, tx, g.first, g.last); err != nil {
				return err
			}
		}
	}
	return changed(ctx, tx)
}

// reindex makes the whole index again.
func reindex(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM segments"); err != nil {
		return err
	}
	return fold(ctx, tx)
}
