package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"mylm/memory/internal/pages"
)

// Salvage reports what was recovered from a damaged memory.
type Salvage struct {
	Path  string // of the memory
	Aside string // where the damaged file is
	Saved int    // documents that are in the new one
	// Lost is how many documents seem to be lost: their text is not what was
	// written, or only an index speaks of them. There may be more, if what
	// spoke of them is lost, too, and one less for a number that was damaged.
	Lost int
}

// String reports it to a person.
func (s *Salvage) String() string {
	count := func(n int) string {
		if n == 1 {
			return "1 document was"
		}
		return fmt.Sprint(n, " documents were")
	}
	became := count(s.Saved) + " saved into a new one, none is known to be lost."
	if s.Lost > 0 {
		became = count(s.Saved) + " saved into a new one, " + count(s.Lost) + " lost."
	} else if s.Saved == 0 {
		became = "nothing in it can be read, and how many documents it held is unknown. A new one is empty."
	}
	return fmt.Sprintf("the memory %s was damaged: %s The damaged file is %s.", s.Path, became, s.Aside)
}

// salvage moves a damaged memory aside and puts what can be read of it into a
// new one. Whoever calls it has the file for itself. It can be killed at any
// time and goes on when it is called again: until the new file is there the
// mark of damage stands, and says where the old one went.
func salvage(ctx context.Context, path string, now time.Time) (*Salvage, error) {
	aside, err := moveAside(path, now)
	if err != nil {
		return nil, notWritable(path, err)
	}
	s := &Salvage{Path: path, Aside: aside}
	found, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	err = create(ctx, path, func(db *sql.DB) error { return refill(ctx, db, found) })
	if err != nil {
		return nil, fmt.Errorf("saving what can be read of %s, which stays where it is: %w", aside, err)
	}
	s.Saved = len(found)
	return s, os.Remove(path + damagedSuffix)
}

// moveAside renames the file and its log, and writes down the name first.
func moveAside(path string, now time.Time) (aside string, err error) {
	mark := path + damagedSuffix
	name, err := os.ReadFile(mark)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	// The folder may have another name by now.
	aside = filepath.Join(filepath.Dir(path), filepath.Base(string(name)))
	if !strings.HasPrefix(aside, mark+"-") { // none, or cut
		base := fmt.Sprintf("%s-%s", mark, now.UTC().Format("20060102T150405Z"))
		aside = base
		for i := 2; exists(aside) || exists(aside+"-wal"); i++ {
			aside = fmt.Sprintf("%s-%d", base, i)
		}
		if err := maybe.WriteFile(mark, []byte(aside), 0o600); err != nil { // on the disk before anything is moved
			return "", err
		}
		syncFolder(filepath.Dir(path))
	}
	if exists(aside) {
		return aside, nil // an attempt that was killed got further
	}
	for _, suffix := range []string{"-shm", "-wal", ""} { // the file last: it says that all is moved
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// Columns of a document in the file, and of the index of hashes. See migrations.
const (
	documentColumns = 15
	hashColumns     = 2
)

// read gives the documents whose text is what was written.
func (s *Salvage) read(ctx context.Context) ([]kept, error) {
	db, err := os.Open(s.Aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // only the mark was there
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var log pages.Reader
	if wal, err := os.Open(s.Aside + "-wal"); err == nil {
		defer wal.Close()
		log = wal
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err // documents may be in it alone
	}
	found, ids := map[int64]kept{}, map[string]bool{}
	known := map[int64]string{} // by number: the hash in the index, else in the row
	err = pages.Open(db, log).Rows(ctx, documentColumns, hashColumns, func(r pages.Row) {
		if len(r.Values) == hashColumns {
			hash, isHash := r.Values[0].([]byte)
			if num, ok := r.Values[1].(int64); ok && isHash && len(hash) >= hashSize {
				known[num] = string(hash)
			}
			return
		}
		d, ok := fromRow(r)
		if !ok {
			return
		}
		known[r.Num] = cmp.Or(known[r.Num], string(d.hash))
		if d.valid() && !ids[d.ID] {
			found[r.Num], ids[d.ID] = d, true
		}
	})
	if err != nil {
		return nil, err
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b kept) int { return cmp.Compare(a.num, b.num) })
	saved := map[string]bool{}
	for _, d := range all {
		saved[string(d.hash)] = true
	}
	for num, hash := range known {
		if _, ok := found[num]; !ok && !saved[hash] {
			s.Lost++
		}
	}
	return all, nil
}

// kept is a document as it was found.
type kept struct {
	row
	hash         []byte
	supersededBy any
}

// fromRow takes a row for a document if its columns have the right types.
func fromRow(r pages.Row) (d kept, ok bool) {
	v := r.Values
	ok = r.Num > 0 && v[0] == nil
	var tags string
	for column, to := range map[int]*string{1: &d.ID, 3: (*string)(&d.Kind), 4: &d.Role, 5: &d.Speaker, 6: &d.Session, 7: &d.Project, 8: &d.Source, 9: &tags, 14: &d.Text} {
		ok = take(v[column], to) && ok
	}
	var at, last, count int64
	ok = take(v[2], &d.hash) && take(v[10], &at) && take(v[11], &last) && take(v[12], &count) && len(d.hash) >= hashSize && ok
	d.num, d.Time, d.Last, d.Count = r.Num, instant(at), instant(last), int(count)
	if by, is := v[13].(int64); is {
		d.supersededBy = by
	}
	if ok && json.Unmarshal([]byte(tags), &d.Tags) != nil {
		d.Tags = []string{ForeignTag} // the words are worth more than their tags, of which this may have been one
	}
	return d, ok
}

func take[T any](value any, to *T) (ok bool) {
	*to, ok = value.(T)
	return ok
}

// valid tells whether the text is what was written.
func (d kept) valid() bool {
	return d.ID != "" && d.Kind.number() > 0 && d.intact(d.hash) && strings.TrimSpace(d.Text) != ""
}

// refill puts documents into a new file in their order. They are numbered
// again: a number that was damaged might be anything.
func refill(ctx context.Context, db *sql.DB, all []kept) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	in, err := newInserter(ctx, tx)
	if err != nil {
		return err
	}
	defer in.insert.Close()
	nums := map[any]any{} // old to new
	for i, d := range all {
		nums[d.num] = int64(i + 1)
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA defer_foreign_keys = 1"); err != nil { // a correction comes later
		return err
	}
	for i, d := range all {
		if err := in.put(ctx, int64(i+1), &d.Document, nums[d.supersededBy]); err != nil {
			return err
		}
	}
	if err := reindex(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}
