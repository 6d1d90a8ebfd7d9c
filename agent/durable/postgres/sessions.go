package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mylm/agent"
	"mylm/agent/journal"
)

// Sessions are those of a tenant. They are an agent.Recorder: an entry is on the disk
// of the server when Append returns. Errors are those of package journal. It is safe
// for concurrent use by any number of processes.
type Sessions struct {
	db     *DB
	tenant string
}

var _ agent.Recorder = (*Sessions)(nil)

// Sessions returns the sessions of a tenant. Nothing is read before they are used.
func (db *DB) Sessions(tenant string) (*Sessions, error) {
	return &Sessions{db, tenant}, checkTenant(tenant)
}

// Append implements agent.Recorder. Entries come in the order of their numbers: of two
// runs that continue a session the second fails with journal.ErrInUse, before anything
// that its entry announces has happened.
func (s *Sessions) Append(ctx context.Context, e agent.Entry) error {
	if e.Session == "" || len(e.Session) > 100 || strings.ContainsRune(e.Session, 0) || !utf8.ValidString(e.Session) {
		return fmt.Errorf("%w: %.40q is not a valid session id", journal.ErrNotBegun, e.Session)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("session %s: %w", e.Session, err)
	}
	state := journal.Unfinished
	if end, ok := e.Payload.(agent.EndEntry); ok {
		state = string(end.StopReason)
	}
	if new(journal.Header).Fill(e) || len(e.Images()) > 0 {
		return s.appendLocked(ctx, e, string(data), state)
	}
	var added int64 // entries: none if it does not follow the last one
	err = s.db.send(ctx, s.tenant, func(batch *pgx.Batch) {
		batch.Queue(`WITH session AS (UPDATE sessions SET changed = now(), state = $3, size = size + $4, last = $2 WHERE id = $1 AND last = $2 - 1 RETURNING id)
			INSERT INTO entries (session, seq, data) SELECT id, $2, $5 FROM session`, e.Session, e.Seq, state, len(data), string(data)).
			Exec(func(tag pgconn.CommandTag) error {
				added = tag.RowsAffected()
				return nil
			})
	})
	lost := temporary(ctx, err)
	if err == nil && added == 0 || lost {
		again := s.appendLocked(ctx, e, string(data), state) // which says why not
		if !lost || !errors.Is(again, journal.ErrInUse) {
			return again
		}
	} // else the entry there may be this one
	if err != nil {
		err = fmt.Errorf("session %.100s: %w", e.Session, err)
	}
	return err
}

// appendLocked is Append in three messages, for an entry that changes more of the session than
// its end, or that cannot be appended.
func (s *Sessions) appendLocked(ctx context.Context, e agent.Entry, data, state string) error {
	return s.within(ctx, e.Session, func(tx pgx.Tx) error {
		last, header, err := s.lock(ctx, tx, e)
		switch {
		case err != nil:
			return err
		case last != e.Seq-1:
			return fmt.Errorf("%w, or was: entry %d does not follow entry %d; open it again", journal.ErrInUse, e.Seq, last)
		}
		header.Fill(e)
		batch := &pgx.Batch{}
		batch.Queue("UPDATE sessions SET changed = now(), title = $2, labels = $3, state = $4, size = size + $5, last = $6 WHERE id = $1",
			e.Session, text(header.Title), labels(header.Labels), state, len(data), e.Seq)
		batch.Queue("INSERT INTO entries (session, seq, data) VALUES ($1, $2, $3)", e.Session, e.Seq, data)
		for _, i := range e.Images() {
			if i.Data != nil {
				batch.Queue("INSERT INTO pictures (session, hash, data) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", e.Session, i.SHA256, i.Data)
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// lock takes the session of an entry until the end of the transaction, and makes it for
// the first one. Of a session that has a title only that is returned.
func (s *Sessions) lock(ctx context.Context, tx pgx.Tx, e agent.Entry) (last int, h journal.Header, err error) {
	if e.Seq == 1 {
		made, err := tx.Exec(ctx, `INSERT INTO sessions (id, created, changed, title, labels, state, size, last, version)
			VALUES ($1, $2, now(), '', '{}', $3, 0, 0, $4) ON CONFLICT DO NOTHING`, e.Session, e.Time, journal.Unfinished, journal.Version)
		if err == nil && made.RowsAffected() == 0 {
			err = fmt.Errorf("%w, or was: there is one of this id", journal.ErrInUse)
		}
		return 0, h, err
	}
	err = tx.QueryRow(ctx, "SELECT last, title, labels, created FROM sessions WHERE id = $1 FOR UPDATE", e.Session).
		Scan(&last, &h.Title, &h.Labels, &h.Created)
	return last, h, err
}

// text and labels are without NUL, which PostgreSQL has no text with; entries keep it.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

func labels(all map[string]string) map[string]string {
	clean := map[string]string{}
	for k, v := range all {
		clean[text(k)] = text(v)
	}
	return clean
}

// Open returns what a session holds, to resume it. Nobody is kept from doing the same,
// see Append.
func (s *Sessions) Open(ctx context.Context, id string) (*agent.Session, error) {
	_, entries, err := s.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	session, err := agent.LoadSession(id, entries)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", journal.ErrDamaged, err)
	}
	return session, nil
}

// Load reads a session.
func (s *Sessions) Load(ctx context.Context, id string) (h journal.Header, entries []agent.Entry, err error) {
	err = s.within(ctx, id, func(tx pgx.Tx) error {
		h = journal.Header{Format: journal.Format, ID: id}
		err := tx.QueryRow(ctx, "SELECT created, title, labels, version FROM sessions WHERE id = $1 FOR SHARE", id).
			Scan(&h.Created, &h.Title, &h.Labels, &h.Version)
		if err == nil && h.Version > journal.Version {
			err = fmt.Errorf("%w (format %d; this one reads up to %d)", journal.ErrNewer, h.Version, journal.Version)
		}
		if err != nil {
			return err
		}
		entries, err = after(ctx, tx, id, 0)
		return cmp.Or(err, putBack(ctx, tx, id, entries))
	})
	return h, entries, err
}

// After returns the entries of a session that follow a number, without pictures, for who
// follows a run. Of a session that is not there, or not yet, there are none.
func (s *Sessions) After(ctx context.Context, id string, seq int) (entries []agent.Entry, err error) {
	err = s.within(ctx, id, func(tx pgx.Tx) error {
		entries, err = after(ctx, tx, id, seq)
		return err
	})
	return entries, err
}

// End returns the end of the last run in a session, none if that is under way.
func (s *Sessions) End(ctx context.Context, id string) (end agent.EndEntry, err error) {
	err = s.within(ctx, id, func(tx pgx.Tx) error {
		var last int
		if err := tx.QueryRow(ctx, "SELECT last FROM sessions WHERE id = $1", id).Scan(&last); err != nil {
			return err
		}
		entries, err := after(ctx, tx, id, last-1)
		for _, e := range entries {
			end, _ = e.Payload.(agent.EndEntry)
		}
		return err
	})
	return end, err
}

func after(ctx context.Context, tx pgx.Tx, id string, seq int) ([]agent.Entry, error) {
	rows, err := tx.Query(ctx, "SELECT data::text FROM entries WHERE session = $1 AND seq > $2 ORDER BY seq", id, seq)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e agent.Entry, err error) {
		var data string
		if err := row.Scan(&data); err != nil {
			return e, err
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return e, fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
		return e, nil
	})
}

// whole is true of sessions that are no part of a plan, see journal.LabelPlan.
const whole = "coalesce(labels->>'plan', id) = id"

// Count returns how many sessions there are in each state, as List has them.
func (s *Sessions) Count(ctx context.Context) (states map[string]int, err error) {
	states = map[string]int{}
	err = s.db.inTenant(ctx, s.tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT state, count(*) FROM sessions WHERE "+whole+" GROUP BY state")
		if err != nil {
			return err
		}
		var state string
		var n int
		_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error {
			states[state] = n
			return nil
		})
		return err
	})
	return states, err
}

// putBack fills in the pictures of entries that were read.
func putBack(ctx context.Context, tx pgx.Tx, id string, entries []agent.Entry) error {
	for _, e := range entries {
		images := e.Images()
		for i := range images {
			err := tx.QueryRow(ctx, "SELECT data FROM pictures WHERE session = $1 AND hash = $2", id, images[i].SHA256).Scan(&images[i].Data)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
	}
	return nil
}

// List lists sessions, the last changed first. One whose run is under way is
// journal.Unfinished, as is one whose process died. The sessions of a plan's tasks are listed
// if the filter has the label journal.LabelPlan, and only then.
func (s *Sessions) List(ctx context.Context, f journal.Filter) (all []journal.Info, err error) {
	err = s.db.inTenant(ctx, s.tenant, func(tx pgx.Tx) error {
		var before *time.Time
		if !f.Before.IsZero() {
			before = &f.Before
		}
		rows, err := tx.Query(ctx, `SELECT id, created, title, labels, version, changed, size, state FROM sessions
			WHERE labels @> $1 AND ($1::jsonb ? 'plan' OR `+whole+`) AND ($2::timestamptz IS NULL OR changed < $2) ORDER BY changed DESC, id LIMIT nullif($3, 0)`,
			labels(f.Labels), before, f.Limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i journal.Info, err error) {
			i.Format = journal.Format
			err = row.Scan(&i.ID, &i.Created, &i.Title, &i.Labels, &i.Version, &i.Changed, &i.Size, &i.State)
			return i, err
		})
		return err
	})
	return all, err
}

// Remove deletes a session, with those of its tasks if it is a plan's. A run of it that is
// under way fails at its next entry.
func (s *Sessions) Remove(ctx context.Context, id string) error {
	return s.within(ctx, id, func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, "DELETE FROM sessions WHERE id = $1 OR labels ->> 'plan' = $1", id)
		if err == nil && gone.RowsAffected() == 0 {
			err = pgx.ErrNoRows
		}
		return err
	})
}

// within runs f for a session, whose name errors begin with. PostgreSQL has no text with a
// NUL, and so no session of such a name.
func (s *Sessions) within(ctx context.Context, id string, f func(pgx.Tx) error) error {
	if strings.ContainsRune(id, 0) || !utf8.ValidString(id) {
		return fmt.Errorf("session %.100q: %w", id, journal.ErrNotFound)
	}
	err := s.db.inTenant(ctx, s.tenant, f)
	if errors.Is(err, pgx.ErrNoRows) {
		err = journal.ErrNotFound
	}
	if err != nil {
		err = fmt.Errorf("session %.100s: %w", id, err)
	}
	return err
}
