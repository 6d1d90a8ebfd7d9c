package memory

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mylm/memory/lexical"
)

// cache is what searches share: the facts of all documents, and the postings
// of those that are pending. It holds for one state of the file, whoever
// changes it, and is not changed itself.
type cache struct {
	changes, last int64 // of the state; the number of its last document
	segments      []segment
	facts         *lexical.Facts
	pending       map[string][]lexical.Posting
	scopes        map[any]uint32 // of pending documents, with the names of their speakers

	common sync.Map     // terms to postings that searches read
	size   atomic.Int64 // of them
}

// commonPostings is how many postings are kept for the searches to come: 16 MB. A
// term counts as 32 more.
const commonPostings = 1 << 21

// errAnalyser says that the index was made by another version of the analysis.
var errAnalyser = errors.New("the index is of another version")

// view is the index in one state of the file. It implements lexical.Index.
type view struct {
	tx      *sql.Tx
	backend Backend
	*cache
}

// view gives the index as tx sees it. Most of the time that is the one that
// was loaded before.
func (s *Store) view(ctx context.Context, tx *sql.Tx) (*view, error) {
	c := &cache{pending: map[string][]lexical.Posting{}}
	var version int
	err := tx.QueryRowContext(ctx, "SELECT changes, analyser, (SELECT coalesce(max(num), 0) FROM documents) FROM state").
		Scan(&c.changes, &version, &c.last)
	if err != nil {
		return nil, err
	}
	if known := s.cache.Load(); known != nil && known.changes == c.changes && known.last == c.last {
		return &view{tx, s.backend, known}, nil
	}
	if c.segments, err = segments(ctx, tx); err != nil {
		return nil, err
	}
	if version != analyser && len(c.segments) > 0 {
		if s.readOnly == nil {
			return nil, errAnalyser
		}
		c.segments = nil // all documents are read from their texts
	}
	if err := c.load(ctx, tx); err != nil {
		return nil, err
	}
	s.cache.Store(c)
	return &view{tx, s.backend, c}, nil
}

// indexed is the last document of the segments that count.
func (c *cache) indexed() int64 {
	if n := len(c.segments); n > 0 {
		return c.segments[n-1].last
	}
	return 0
}

// load reads the facts of segments, and makes those of pending documents.
func (c *cache) load(ctx context.Context, tx *sql.Tx) error {
	f := &lexical.Facts{Docs: make([]lexical.Fact, max(c.last, c.indexed())+1)}
	c.facts = f
	for i := range f.Docs {
		f.Docs[i].Flags = lexical.Deleted // until a document is there
	}
	err := each(ctx, tx, "SELECT first, facts FROM segments WHERE first <= ?", []any{c.indexed()}, func(scan func(...any) error) error {
		var first int64
		var facts sql.RawBytes
		if err := scan(&first, &facts); err != nil {
			return err
		}
		if len(facts)%factSize != 0 || first < 1 || first+int64(len(facts)/factSize) > int64(len(f.Docs)) {
			return errChunk
		}
		for ; len(facts) > 0; facts = facts[factSize:] {
			f.Docs[first] = readFact(facts)
			first++
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.Speakers = []string{""} // nobody
	err = each(ctx, tx, "SELECT num, name FROM speakers WHERE num < 65536 ORDER BY num", nil, func(scan func(...any) error) error {
		var num int
		var name string
		err := scan(&num, &name)
		f.Speakers = append(append(f.Speakers, make([]string, max(0, num-len(f.Speakers)))...), name)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.loadPending(ctx, tx); err != nil {
		return err
	}
	nums, err := column[int64](ctx, tx, "SELECT num FROM documents WHERE superseded_by IS NOT NULL")
	for _, n := range nums {
		f.Docs[n].Flags |= lexical.Superseded
	}
	return err
}

// loadPending indexes the documents that no segment covers. Scopes and speakers
// that the file has no number for get one that holds for this cache.
func (c *cache) loadPending(ctx context.Context, tx *sql.Tx) error {
	b := newBuilder(tx, c.indexed()+1)
	b.fresh = func(_ context.Context, _ string, args ...any) (uint32, error) {
		if len(args) > 1 {
			return 1<<30 | uint32(len(b.numbers)), nil
		}
		c.facts.Speakers = append(c.facts.Speakers, args[0].(string))
		return uint32(len(c.facts.Speakers) - 1), nil
	}
	if err := inPortions(ctx, tx, inRange, []any{b.first, c.last}, func(d row) error { return b.add(ctx, d) }); err != nil {
		return err
	}
	for i := 0; i < len(b.facts); i += factSize {
		c.facts.Docs[b.first+int64(i/factSize)] = readFact(b.facts[i:])
	}
	for term, p := range b.index {
		c.pending[term], _ = decode(nil, p.data, uint32(b.first)) // it was made just now
	}
	c.scopes = b.numbers
	return nil
}

// numbers finds the scopes of projects, or of sessions whatever their project: nil if
// there are none.
func (v *view) numbers(ctx context.Context, ofSessions bool, names []string) ([]uint32, error) {
	if len(names) == 0 {
		return nil, nil
	}
	where := "session = '' AND project"
	if ofSessions {
		where = "session != '' AND session"
	}
	all, err := column[uint32](ctx, v.tx, "SELECT num FROM scopes WHERE "+where+" IN (SELECT value FROM json_each(?))", jsonList(names))
	for key, n := range v.scopes {
		s, ok := key.(scope)
		if name := cmp.Or(s.session, s.project); ok && ofSessions == (s.session != "") && slices.ContainsFunc(names, func(s string) bool { return valid(s) == name }) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, err
}

// Facts implements lexical.Index.
func (v *view) Facts() *lexical.Facts { return v.facts }

// Postings implements lexical.Index.
func (v *view) Postings(ctx context.Context, term string) ([]lexical.Posting, error) {
	if known, ok := v.common.Load(term); ok {
		return known.([]lexical.Posting), nil
	}
	var all []lexical.Posting
	err := each(ctx, v.tx, `SELECT first, (SELECT data FROM chunks WHERE segment = segments.num AND term <= ?
		ORDER BY term DESC LIMIT 1) FROM segments WHERE first <= ? ORDER BY first`, []any{term, v.indexed()}, func(scan func(...any) error) error {
		var first uint32
		var data sql.RawBytes
		if err := scan(&first, &data); err != nil {
			return err
		}
		stored, err := find(data, term)
		if err == nil {
			all, err = decode(all, stored, first)
		}
		return err
	})
	if n := len(all); err == nil && n > 0 && int64(all[n-1].Doc) >= int64(len(v.facts.Docs)) {
		err = errChunk
	}
	all = append(all, v.pending[term]...)
	if size := int64(cap(all)) + 32; err == nil && v.size.Load()+size <= commonPostings {
		v.size.Add(size)
		v.common.Store(term, all)
	}
	return all, err
}

// Terms implements lexical.Index.
func (v *view) Terms(ctx context.Context, first string, f func(term string)) error {
	given := map[string]bool{}
	for t := range v.pending {
		if strings.HasPrefix(t, first) {
			given[t] = true
			f(t)
		}
	}
	return each(ctx, v.tx, `SELECT data FROM segments JOIN chunks ON segment = segments.num WHERE first <= ?3 AND term < ?2 AND
		term >= coalesce((SELECT max(term) FROM chunks WHERE segment = segments.num AND term <= ?1), '')`, []any{first, first + "\U0010FFFF", v.indexed()}, func(scan func(...any) error) error {
		var data sql.RawBytes
		err := scan(&data)
		for t := range entries(data, &err) {
			if bytes.HasPrefix(t, []byte(first)) && !given[string(t)] {
				given[string(t)] = true
				f(string(t))
			}
		}
		return err
	})
}
