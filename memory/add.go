package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Add records documents, all or none, and returns them as they are stored:
// with an ID, in valid UTF-8, without secrets (see Redact). When it returns
// without an error they are on the disk.
//
// A text without an ID that was recorded before in the same session, with the same
// kind, role, speaker and project, and that no other corrects, is that document
// once more: its Count goes up and its Last is set. A Note is so in any session. A document with an ID that exists is
// the same document, and what is stored stays as it is.
func (s *Store) Add(ctx context.Context, documents ...Document) ([]Document, error) {
	return s.add(ctx, documents, nil)
}

// add adds documents and does something with them, or neither.
func (s *Store) add(ctx context.Context, documents []Document, then func(*sql.Tx, []Document) error) ([]Document, error) {
	now, stored := s.now(), make([]Document, len(documents))
	for i, d := range documents {
		if d.SupersededBy != "" {
			return nil, fmt.Errorf("document %d: SupersededBy is set with Supersede", i+1)
		}
		var err error
		if stored[i], err = d.clean(now); err != nil && len(documents) > 1 {
			err = fmt.Errorf("document %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := s.insert(ctx, stored, then); err != nil {
		return nil, err
	}
	return stored, nil
}

// insert records documents that are fit to be stored, and does something with them
// unless then is nil, all in one transaction. It returns which of them were not there.
func (s *Store) insert(ctx context.Context, stored []Document, then func(*sql.Tx, []Document) error) (added []bool, err error) {
	if len(stored) == 0 {
		return nil, nil
	}
	size, due := 0, false
	err = s.update(ctx, func(tx *sql.Tx) error {
		in, err := newInserter(ctx, tx)
		if err != nil {
			return err
		}
		defer in.insert.Close()
		for i := range stored {
			size += len(stored[i].Text)
			isNew, err := in.record(ctx, &stored[i], s.now())
			if err != nil {
				return err
			}
			added = append(added, isNew)
		}
		due = in.due(ctx, size)
		if then == nil {
			return nil
		}
		return then(tx, stored)
	})
	if err == nil && due {
		s.fold(ctx)
	}
	return added, err
}

// inserter adds documents within one transaction.
type inserter struct {
	tx      *sql.Tx
	insert  *sql.Stmt
	num     int64  // of the last document
	lastID  string // of the last document
	indexed int64  // up to this document
}

func newInserter(ctx context.Context, tx *sql.Tx) (*inserter, error) {
	in := &inserter{tx: tx}
	err := tx.QueryRowContext(ctx, `SELECT coalesce((SELECT max(num) FROM documents), 0), coalesce((SELECT id FROM documents ORDER BY num DESC LIMIT 1), ''),
		coalesce((SELECT max(last) FROM segments), 0)`).Scan(&in.num, &in.lastID, &in.indexed)
	if err != nil {
		return nil, err
	}
	in.num = max(in.num, in.indexed) // numbers in the index are not used again
	in.insert, err = tx.PrepareContext(ctx, `INSERT INTO documents
		(num, id, hash, kind, role, speaker, session, project, source, tags, time, last, count, superseded_by, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	return in, err
}

// due tells whether the documents that wait for the index weigh enough to become a
// segment. To weigh them each time would take longer than to record one.
func (in *inserter) due(ctx context.Context, size int) bool {
	waiting := in.num - in.indexed
	due := waiting >= pendingLimit
	if !due && (waiting%16 == 0 || size >= textWeight*64) {
		err := in.tx.QueryRowContext(ctx, "SELECT "+weightOf+" >= ? FROM documents WHERE num > ?", pendingLimit, in.indexed).Scan(&due)
		due = due || err != nil // what is damaged is found when they are read
	}
	return due
}

// record adds a document, or counts it if it is there.
func (in *inserter) record(ctx context.Context, d *Document, now time.Time) (added bool, err error) {
	where, args := "id = ?", []any{d.ID}
	if d.ID == "" {
		where, args = repeats, d.asRepeats()
		if d.Kind != Note { // the same question may get another answer
			where, args = where+" AND session || '' = ?", append(args, d.Session)
		}
	}
	found, err := rows(ctx, in.tx, where+" ORDER BY num + 0 LIMIT 1", args...)
	if err != nil {
		return false, err
	}
	if len(found) == 0 {
		if d.ID == "" {
			d.ID, err = in.newID(ctx, now)
		}
		if err == nil {
			err = in.put(ctx, in.num+1, d, nil)
		}
		return true, err
	}
	there := found[0]
	if d.ID == "" {
		there.Count += d.Count
		if d.Last.After(there.Last) {
			there.Last = d.Last
		}
		_, err = in.tx.ExecContext(ctx, "UPDATE documents SET count = ?, last = ? WHERE id = ?", there.Count, there.Last.UnixMicro(), there.ID)
	}
	*d = there.Document
	return false, err
}

// newID makes an ID that nothing has: an import may have brought those that
// would come next.
func (in *inserter) newID(ctx context.Context, now time.Time) (string, error) {
	for last := in.lastID; ; {
		id := nextID(now, last)
		var taken bool
		if err := in.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM documents WHERE id = ?)", id).Scan(&taken); err != nil || !taken {
			return id, err
		}
		last = id
	}
}

// put writes a row.
func (in *inserter) put(ctx context.Context, num int64, d *Document, supersededBy any) error {
	tags, _ := json.Marshal(append([]string{}, d.Tags...)) // strings never fail; none are []
	_, err := in.insert.ExecContext(ctx, num, d.ID, d.checksum(), string(d.Kind), d.Role, d.Speaker, d.Session, d.Project, d.Source,
		string(tags), d.Time.UnixMicro(), d.Last.UnixMicro(), d.Count, supersededBy, d.Text)
	if err == nil {
		in.num, in.lastID = max(in.num, num), d.ID
	}
	return err
}
