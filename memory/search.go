package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
}

// Hit is a document that was found.
type Hit struct {
	Document
	// Found says which words, dates and speakers it was found by, and how near
	// its vector is to the question's.
	Found lexical.Hit
	// Older is how many documents say the same, or answered the same question,
	// before this one did.
	Older int
}

// MarshalJSON writes the document and, beside its fields, why it was found.
func (h Hit) MarshalJSON() ([]byte, error) {
	corrected := map[string]string{}
	for _, c := range h.Found.Corrected {
		corrected[c.Word] = c.Term
	}
	return json.Marshal(struct {
		Document
		Score     float64           `json:"score"`
		Similar   float32           `json:"similarity,omitempty"` // of the vectors
		Older     int               `json:"older,omitempty"`
		Terms     []string          `json:"terms"`
		Nearby    []string          `json:"nearby,omitempty"`
		Speaker   string            `json:"found_by_speaker,omitempty"`
		Date      string            `json:"found_by_date,omitempty"`
		Corrected map[string]string `json:"corrected,omitempty"`
	}{h.Document, h.Found.Score, h.Found.Similarity, h.Older, append([]string{}, h.Found.Terms...), h.Found.Nearby, h.Found.Speaker, h.Found.Date, corrected})
}

// Search finds the documents that answer a question best, best first. Where
// nothing holds enough of the question's words, words find nothing. With an
// embedder, see Use, what is near to the question comes before what merely holds
// its words, and where words find less than Limit, the nearest follow.
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
	if d != nil && s.readOnly == nil {
		if err := s.catchUp(ctx, d); err != nil && ctx.Err() == nil {
			d.warn(err)
		}
	}
	err = s.read(ctx, func(tx *sql.Tx) error {
		hits = nil
		v, err := s.view(ctx, tx)
		if err != nil {
			return err
		}
		query, ok, err := v.query(ctx, q)
		if err != nil || !ok {
			return err
		}
		near, err := v.nearest(ctx, d, vector)
		if err != nil {
			return err
		}
		if near != nil {
			query.Similarities = near.similarities
		}
		most := q.Limit + 10 // some of them say the same
		found, err := lexical.Default().Rank(ctx, v, query, most)
		if err != nil {
			return err
		}
		if near != nil && len(found) < q.Limit {
			if found, err = near.fill(ctx, q, query, found, most); err != nil {
				return err
			}
		}
		hits, err = unrepeated(ctx, tx, v, found, q)
		return err
	})
	return hits, err
}

// query puts a query in the numbers of the index. It tells whether the scope
// holds anything.
func (v *view) query(ctx context.Context, q Query) (query lexical.Query, holds bool, err error) {
	query = lexical.Query{Text: q.Text, After: q.After, Before: q.Before, History: q.History}
	for _, k := range q.Kinds {
		query.Kinds = append(query.Kinds, k.number())
	}
	if query.Projects, err = v.numbers(ctx, false, q.Projects); err == nil {
		query.Sessions, err = v.numbers(ctx, true, q.Sessions)
	}
	return query, (query.Projects != nil || len(q.Projects) == 0) && (query.Sessions != nil || len(q.Sessions) == 0), err
}

// Why says in a few words why a document was found: the words of the question
// that it or its neighbours hold, the date or the speaker that the question
// names, how near its vector is.
func (h Hit) Why() string {
	var why []string
	list := func(label string, words ...string) {
		if said := strings.Join(words, ", "); said != "" {
			why = append(why, label+": "+said)
		}
	}
	list("words", h.Found.Terms...)
	list("words nearby", h.Found.Nearby...)
	for _, c := range h.Found.Corrected {
		why = append(why, c.Term+" for "+c.Word)
	}
	list("date", h.Found.Date)
	list("speaker", h.Found.Speaker)
	if h.Found.Similarity != 0 {
		why = append(why, fmt.Sprintf("vector: %.2f", h.Found.Similarity))
	}
	if h.Older > 0 {
		why = append(why, fmt.Sprintf("the newest of %d", h.Older+1))
	}
	return strings.Join(why, "; ")
}
