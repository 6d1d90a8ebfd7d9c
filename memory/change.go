package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/memory/lexical"
)

// Edit replaces the text of a document. Its ID, its place in its session and
// everything else stay; the old text is gone, and so are the vectors made of it.
// To keep the old text, add a document and Supersede.
func (s *Store) Edit(ctx context.Context, id, text string) (Document, error) {
	var d Document
	err := s.update(ctx, func(tx *sql.Tx) error {
		old, err := byID(ctx, tx, id)
		if err != nil {
			return err
		}
		d = old.Document // the rest stays as it is, also where it would be redacted today
		if d.Text, err = cleanText(text); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE documents SET text = ?, hash = ? WHERE num = ?", d.Text, d.checksum(), old.num); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE num = ?", old.num); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE embedders SET through = ?1 WHERE through > ?1", old.num-1); err != nil {
			return err
		}
		return rebuild(ctx, tx, []int64{old.num})
	})
	if err != nil {
		return Document{}, err
	}
	s.erase()
	return d, nil
}

// How much is left of what a tool printed long ago, how many outputs are shortened at a
// time, and after what time a store looks for more: that reads all documents.
const (
	longRemains  = 300
	mostAtOnce   = 1000
	shortenAfter = time.Hour
	gap          = "…"
)

// shorten cuts what tools printed long ago to the call and the lines that share
// most words with what was asked and answered around it.
func (s *Store) shorten(ctx context.Context, tx *sql.Tx) error {
	if s.whole <= 0 || s.now().Sub(s.shortened) < shortenAfter {
		return nil
	}
	old, err := rows(ctx, tx, "kind = ? AND time < ? AND octet_length(text) > ? ORDER BY num LIMIT ?",
		Tool, s.now().Add(-s.whole).UnixMicro(), longRemains, mostAtOnce)
	if err == nil && len(old) < mostAtOnce {
		s.shortened = s.now()
	}
	if err != nil || len(old) == 0 {
		return err
	}
	var nums []int64
	for _, d := range old {
		said, err := rows(ctx, tx, "session = ? AND project = ? AND num BETWEEN ? AND ? AND kind != ?", d.Session, d.Project, d.num-10, d.num+10, Tool)
		if err != nil {
			return err
		}
		d.Text = passages(d.Text, said)
		if _, err := tx.ExecContext(ctx, "UPDATE documents SET text = ?, hash = ? WHERE num = ?", d.Text, d.checksum(), d.num); err != nil {
			return err
		}
		nums = append(nums, d.num)
	}
	return rebuild(ctx, tx, nums)
}

// passages are the first line of a text, which is the call, and those that share
// most words with what was said, in their order, as far as there is room.
func passages(text string, said []row) string {
	words := map[string]bool{}
	for _, d := range said {
		for _, t := range lexical.Analyse(d.Text).Terms {
			words[t.Term] = true
		}
	}
	lines := strings.Split(text, "\n")
	shares, order := make([]int, len(lines)), make([]int, len(lines))
	for i, line := range lines {
		order[i] = i
		for _, t := range lexical.Analyse(line).Terms {
			if words[t.Term] {
				shares[i]++
			}
		}
		if len(line) > longRemains/3 {
			lines[i] = strings.ToValidUTF8(line[:longRemains/3], "") + gap
		}
	}
	slices.SortStableFunc(order[1:], func(a, b int) int { return cmp.Compare(shares[b], shares[a]) })
	room := longRemains
	for _, i := range order {
		size := len(lines[i]) + len("\n"+gap+"\n") // with the mark of a gap behind it
		if size > room || i > 0 && shares[i] == 0 {
			lines[i] = gap
		} else {
			room -= size
		}
	}
	return strings.Join(slices.CompactFunc(lines, func(a, b string) bool { return a == gap && b == gap }), "\n")
}

// All is the filter that Forget takes for everything.
var All = Filter{Everything: true}

// Forget deletes what a filter selects, with every trace in the index, and
// says how many that were. A document that one of them superseded counts
// again. A filter that selects everything is ErrEverything: All is the one
// that may.
func (s *Store) Forget(ctx context.Context, f Filter) (int, error) {
	where, args := f.where()
	if where == everything && !f.Everything {
		return 0, ErrEverything
	}
	var nums []int64
	err := s.update(ctx, func(tx *sql.Tx) (err error) {
		nums, err = column[int64](ctx, tx, "DELETE FROM documents WHERE "+where+" RETURNING num", args...)
		if err != nil || len(nums) == 0 {
			return err
		}
		slices.Sort(nums)
		if err := rebuild(ctx, tx, nums); err != nil {
			return err
		}
		for _, statement := range afterForgetting {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(nums) == 0 {
		return 0, err
	}
	s.erase()
	return len(nums), nil
}

// afterForgetting deletes the names of scopes and speakers that no document has. The
// number of the last document may be used again, by one without a vector.
var afterForgetting = []string{
	"UPDATE embedders SET through = (SELECT coalesce(max(num), 0) FROM documents) WHERE through > (SELECT coalesce(max(num), 0) FROM documents)",
	"DELETE FROM scopes WHERE (session, project) NOT IN (SELECT session, project FROM documents UNION SELECT '', project FROM documents)",
	"DELETE FROM speakers WHERE name NOT IN (SELECT speaker FROM documents)",
}

// erase takes what was deleted out of the log, too. If somebody reads just now
// it stays until the log is written over.
func (s *Store) erase() {
	if s.backend != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
}

// Supersede says that one document corrects another, which is then found with
// its history only. An empty replacement takes it back.
func (s *Store) Supersede(ctx context.Context, old, replacement string) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		was, err := byID(ctx, tx, old)
		if err != nil {
			return err
		}
		return supersede(ctx, tx, was, replacement)
	})
}

// Correct adds a document that corrects another one, which is then found with its
// history only: both or neither. It is an error if it says what the old one does.
func (s *Store) Correct(ctx context.Context, old string, d Document) (Document, error) {
	all, err := s.add(ctx, []Document{d}, func(tx *sql.Tx, added []Document) error {
		was, err := byID(ctx, tx, old)
		if err != nil {
			return err
		}
		if was.Text == added[0].Text {
			return fmt.Errorf("%s says that already, word for word", was.ID)
		}
		return supersede(ctx, tx, was, added[0].ID)
	})
	if err != nil {
		return Document{}, err
	}
	return all[0], nil
}

func supersede(ctx context.Context, tx *sql.Tx, was row, replacement string) error {
	var by any
	if replacement != "" {
		is, err := byID(ctx, tx, replacement)
		if err != nil {
			return err
		}
		// If the corrections of is led back to was, neither would be found. UNION ends
		// also in a file that holds a circle.
		var circle bool
		err = tx.QueryRowContext(ctx, `WITH RECURSIVE corrections(num) AS (VALUES (CAST(?1 AS bigint)) UNION
				SELECT superseded_by FROM documents JOIN corrections USING (num) WHERE superseded_by IS NOT NULL)
			SELECT EXISTS (SELECT 1 FROM corrections WHERE num = ?2)`, is.num, was.num).Scan(&circle)
		if err == nil && circle {
			err = fmt.Errorf("%w: %s cannot correct %s, which corrects it already", errCircle, is.ID, was.ID)
		}
		if err != nil {
			return err
		}
		by = is.num
	}
	_, err := tx.ExecContext(ctx, "UPDATE documents SET superseded_by = ? WHERE num = ?", by, was.num)
	return cmp.Or(err, changed(ctx, tx))
}

var errCircle = errors.New("corrections in a circle")

// changed tells all caches that more than the number of documents changed.
func changed(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "UPDATE state SET changes = changes + 1")
	return err
}
