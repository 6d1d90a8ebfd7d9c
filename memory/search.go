package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"mylm/memory/lexical"
)

// Query is a question and where its answer may be. The zero value of a field
// does not narrow it down.
type Query struct {
	// Text is the question in any words.
	Text string
	// Limit is how many hits are wanted at most, 5 if it is zero.
	Limit int
	// Projects and Sessions are the scope. A name that nothing was recorded
	// under holds nothing.
	Projects, Sessions []string
	// Kinds, After and Before (exclusive) are what is wanted within the scope.
	Kinds         []Kind
	After, Before time.Time
	// History finds documents that were superseded, too.
	History bool
	// Ranking says what counts for how much, lexical.Default if it is nil.
	Ranking *lexical.Ranking
}

// Hit is a document that was found.
type Hit struct {
	Document
	// Found says which words, dates and speakers it was found by, and how well.
	// It is empty for one that only its vector found.
	Found lexical.Hit `json:"-"`
	// Similarity is how near its vector is to the question's, at most 1. It is
	// 0 if it is not among the nearest, or if there is no embedder.
	Similarity float32 `json:"-"`
}

// Search finds the documents that answer a question best, best first. A
// question without a word that can be looked for finds nothing by words. With
// an embedder, see Use, the nearest document is always among the hits unless the
// embedder is Wordy, and where words find less than Limit, what is near comes
// after them.
func (s *Store) Search(ctx context.Context, q Query) ([]Hit, error) {
	hits, err := s.search(ctx, q)
	if errors.Is(err, errAnalyser) {
		if err = s.Reindex(ctx); err == nil {
			hits, err = s.search(ctx, q)
		}
	}
	return hits, err
}

// Reindex makes the index of words again from the texts. Search does it by
// itself after an update of mylm that needs it.
func (s *Store) Reindex(ctx context.Context) error {
	return s.update(ctx, func(tx *sql.Tx) error { return reindex(ctx, tx) })
}

func (s *Store) search(ctx context.Context, q Query) (hits []Hit, err error) {
	if q.Limit <= 0 {
		q.Limit = 5
	}
	d, vector := s.prepare(ctx, q)
	ranking := lexical.Default()
	if q.Ranking != nil {
		ranking = *q.Ranking
	}
	err = s.read(ctx, func(tx *sql.Tx) error {
		v, err := s.view(ctx, tx)
		if err != nil {
			return err
		}
		query, ok, err := v.query(ctx, q)
		if err != nil || !ok {
			return err
		}
		found, err := ranking.Rank(ctx, v, query, q.Limit)
		if err != nil {
			return err
		}
		near, err := s.near(ctx, d, v, query, vector, q.Limit)
		if err != nil {
			return err
		}
		hits, err = fetch(ctx, tx, join(found, near, q.Limit, d != nil && d.wordy != nil))
		for i := range hits {
			hits[i].Similarity = similarity(near, hits[i].Found.Doc)
		}
		return err
	})
	return hits, err
}

// query puts a query in the numbers of the index. It tells whether the scope
// holds anything.
func (v *view) query(ctx context.Context, q Query) (lexical.Query, bool, error) {
	query := lexical.Query{Text: q.Text, After: q.After, Before: q.Before, History: q.History}
	for _, k := range q.Kinds {
		query.Kinds = append(query.Kinds, k.number())
	}
	var err error
	if len(q.Projects) > 0 {
		query.Projects, err = v.numbers(ctx, func(s scope) bool { return s.session == "" && slices.Contains(q.Projects, s.project) },
			"session = '' AND project IN (?"+strings.Repeat(", ?", len(q.Projects)-1)+")", arguments(q.Projects)...)
		if err != nil || len(query.Projects) == 0 {
			return query, false, err
		}
	}
	if len(q.Sessions) > 0 {
		query.Sessions, err = v.numbers(ctx, func(s scope) bool { return s.session != "" && slices.Contains(q.Sessions, s.session) },
			"session != '' AND session IN (?"+strings.Repeat(", ?", len(q.Sessions)-1)+")", arguments(q.Sessions)...)
		if err != nil || len(query.Sessions) == 0 {
			return query, false, err
		}
	}
	return query, true, nil
}

func arguments(values []string) (args []any) {
	for _, v := range values {
		args = append(args, v)
	}
	return args
}

// fetch reads the documents that were found, in their order.
func fetch(ctx context.Context, tx *sql.Tx, found []lexical.Hit) ([]Hit, error) {
	var hits []Hit
	for _, h := range found {
		d, err := one(ctx, tx, "num = ?", h.Doc)
		if errors.Is(err, ErrNotFound) {
			return nil, ErrDamaged // a view has one state of documents and index
		}
		if err != nil {
			return nil, err
		}
		hits = append(hits, Hit{Document: d, Found: h})
	}
	return hits, nil
}
