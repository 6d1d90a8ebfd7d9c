package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"mylm/memory/lexical"
)

// builder makes segments of documents that come in order.
type builder struct {
	tx      *sql.Tx
	numbers map[any]uint32 // of each scope, and of each speaker's name
	// fresh gives a number to a scope or a speaker that the file has none for.
	fresh func(ctx context.Context, insert string, args ...any) (uint32, error)

	segment // in the making
	size    int64
	index   map[string]*postings
	facts   []byte
}

// scope is a session, or a project if the session is empty.
type scope struct{ session, project string }

// newBuilder makes a builder that begins with a document.
func newBuilder(tx *sql.Tx, first int64) *builder {
	b := &builder{tx: tx, numbers: map[any]uint32{}, fresh: func(ctx context.Context, insert string, args ...any) (uint32, error) {
		var num uint32
		err := tx.QueryRowContext(ctx, insert, args...).Scan(&num)
		return num, err
	}}
	b.begin(first)
	return b
}

func (b *builder) begin(first int64) {
	b.segment = segment{first: first, last: first - 1}
	b.size, b.index, b.facts = 0, map[string]*postings{}, b.facts[:0]
}

// voice is whose words a document has, as far as the ranking asks.
func (d Document) voice() lexical.Flags {
	switch {
	case d.Kind == Tool:
		return lexical.FromTool
	case d.Kind == Exchange && slices.Contains(assistants, strings.ToLower(d.Role)):
		return lexical.FromAssistant
	}
	return 0
}

// assistants are what the files of other programs call a model.
var assistants = []string{"assistant", "ai", "model", "bot", "chatgpt", "gpt"}

// read adds a range of documents from their texts, and writes segments of them.
func (b *builder) read(ctx context.Context, last int64) error {
	err := inPortions(ctx, b.tx, inRange, []any{b.first, last}, func(d row) error {
		if err := b.add(ctx, d); err != nil {
			return err
		}
		b.size += int64(len(d.Text))
		if b.weight++; b.weight+b.size/textWeight < full || d.num == last {
			return nil
		}
		b.last = d.num
		err := b.write(ctx)
		b.begin(d.num + 1)
		return err
	})
	if err != nil {
		return err
	}
	b.last = last
	return b.write(ctx)
}

// add adds a document to the segment in the making.
func (b *builder) add(ctx context.Context, d row) error {
	a := lexical.Analyse(d.Text)
	for _, t := range a.Terms {
		p := b.index[t.Term]
		if p == nil {
			p = &postings{last: uint32(b.first)}
			b.index[t.Term] = p
		}
		p.add(uint32(d.num), t.Count)
	}
	f := lexical.Fact{Kind: d.Kind.number(), Time: d.Time.Unix(), Length: uint32(a.Length), Flags: a.Flags | d.voice()}
	var err error
	if f.Project, err = b.scope(ctx, scope{"", d.Project}); err != nil {
		return err
	}
	if d.Session != "" {
		if f.Session, err = b.scope(ctx, scope{d.Session, d.Project}); err != nil {
			return err
		}
	}
	if f.Speaker, err = b.speaker(ctx, d.Speaker); err != nil {
		return err
	}
	for int64(len(b.facts)) < (d.num-b.first)*factSize { // of documents that were deleted
		b.facts = appendFact(b.facts, lexical.Fact{Flags: lexical.Deleted})
	}
	b.facts = appendFact(b.facts, f)
	return nil
}

func (b *builder) scope(ctx context.Context, s scope) (uint32, error) {
	return b.number(ctx, s, "SELECT num FROM scopes WHERE session = ? AND project = ?", "INSERT INTO scopes (num, session, project) SELECT coalesce(max(num), 0) + 1, ?, ? FROM scopes RETURNING num", s.session, s.project)
}

// speaker numbers a name. Nobody is 0, and so is everybody behind the 65,535th.
func (b *builder) speaker(ctx context.Context, name string) (uint16, error) {
	if name == "" {
		return 0, nil
	}
	n, err := b.number(ctx, name, "SELECT num FROM speakers WHERE name = ?", "INSERT INTO speakers (num, name) SELECT coalesce(max(num), 0) + 1, ? FROM speakers RETURNING num", name)
	if n > math.MaxUint16 {
		n = 0
	}
	return uint16(n), err
}

// number finds the number of a scope or a speaker, or gives it one.
func (b *builder) number(ctx context.Context, key any, find, add string, args ...any) (n uint32, err error) {
	if n, ok := b.numbers[key]; ok {
		return n, nil
	}
	if err = b.tx.QueryRowContext(ctx, find, args...).Scan(&n); errors.Is(err, sql.ErrNoRows) {
		n, err = b.fresh(ctx, add, args...)
	}
	b.numbers[key] = n
	return n, err
}

// write stores the segment in the making, if it holds anything.
func (b *builder) write(ctx context.Context) error {
	if b.weight == 0 {
		return nil
	}
	var num int64
	err := b.tx.QueryRowContext(ctx, "INSERT INTO segments (first, last, weight, facts) VALUES (?, ?, ?, ?) RETURNING num",
		b.first, b.last, b.weight+b.size/textWeight, b.facts).Scan(&num)
	if err != nil {
		return err
	}
	insert, err := b.tx.PrepareContext(ctx, "INSERT INTO chunks VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, c := range chunks(b.index) {
		if _, err := insert.ExecContext(ctx, num, c.first, c.data); err != nil {
			return err
		}
	}
	return nil
}

// factSize is the size of a fact in a segment.
const factSize = 24

func appendFact(b []byte, f lexical.Fact) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(le.AppendUint32(b, f.Project), f.Session)
	b = le.AppendUint16(append(b, f.Kind, uint8(f.Flags)), f.Speaker)
	return le.AppendUint32(le.AppendUint64(b, uint64(f.Time)), f.Length)
}

func readFact(b []byte) lexical.Fact {
	le := binary.LittleEndian
	return lexical.Fact{Project: le.Uint32(b), Session: le.Uint32(b[4:]), Kind: b[8], Flags: lexical.Flags(b[9]), Speaker: le.Uint16(b[10:]),
		Time: int64(le.Uint64(b[12:])), Length: le.Uint32(b[20:])}
}
