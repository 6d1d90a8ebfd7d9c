package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Embedder turns texts into vectors, so that texts which mean much the same are
// near to each other. It is safe for concurrent use.
type Embedder interface {
	// Name tells the embedder's vectors from all others. It changes with
	// whatever changes them: the model, its version, what is put before a text.
	Name() string
	// EmbedDocuments gives a vector for each text. All vectors of an embedder
	// have the same length. A text is never empty, but may be very long.
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
	// EmbedQuery gives the vector of a question, to be compared with those of
	// documents.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// Wordy is what an Embedder is, too, that knows words and nothing of what they
// mean. It adds nothing where words find enough, and so only fills up what they
// leave free.
type Wordy interface {
	// Floor is how near to a question a document has to be, as the cosine of the
	// angle between the two vectors: what is not nearer is so by chance.
	Floor(document []float32) float32
}

const (
	portion  = 32                     // texts that a search embeds, and writes, at once
	portions = 256                    // that Embed does: it waits for the disk less often
	patience = 250 * time.Millisecond // how long a search goes on to embed before it searches
)

// Use makes Search look at the vectors of an embedder, too, and embed a few of
// the documents that have none each time, the oldest first. Nil goes back to
// words alone.
//
// A search does not fail because its embedder does: it finds what words find,
// and warn is told. Warn is called during Search, also by several at once.
func (s *Store) Use(e Embedder, warn func(error)) {
	var d *dense
	if e != nil {
		d = newDense(e, warn)
	}
	s.mu.Lock()
	s.dense = d
	s.mu.Unlock()
}

// Embed makes the vectors that documents lack of an embedder, and then deletes
// those of other embedders. It can be stopped at any time and goes on where it
// was. Progress, if it is not nil, is called with the number of documents that
// have a vector and of all. Everything else can be done with the store meanwhile.
//
// Vectors of another length under the same name are thrown away first: the
// model behind it has changed.
func (s *Store) Embed(ctx context.Context, e Embedder, progress func(done, total int)) error {
	st, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	for done := st.Vectors[e.Name()]; ; {
		n, err := s.embedBatch(ctx, e, portions)
		if errors.Is(err, ErrDimension) {
			done = 0
			if err = s.DropVectors(ctx, e.Name()); err == nil {
				n, err = s.embedBatch(ctx, e, portions)
			}
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if done += n; progress != nil {
			progress(done, max(done, st.Documents))
		}
	}
	for name := range st.Vectors {
		if name != e.Name() {
			if err := s.DropVectors(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// embedBatch embeds the oldest documents without a vector, at most limit. It
// tells how many.
func (s *Store) embedBatch(ctx context.Context, e Embedder, limit int) (int, error) {
	documents, err := s.Missing(ctx, e.Name(), limit)
	if err != nil || len(documents) == 0 {
		return 0, err
	}
	texts := make([]string, len(documents))
	for i, d := range documents {
		texts[i] = d.Text
	}
	values, err := e.EmbedDocuments(ctx, texts)
	if err == nil && len(values) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(values), len(texts))
	}
	if err != nil {
		return 0, embedding(e, err)
	}
	vectors := make([]Vector, len(documents))
	for i, d := range documents {
		if !finite(values[i]) { // or this text would be tried for ever
			values[i] = make([]float32, len(values[i]))
		}
		vectors[i] = Vector{ID: d.ID, Values: values[i], Text: d.Text}
	}
	return len(vectors), s.PutVectors(ctx, e.Name(), vectors...)
}

// embedding says whose error it is.
func embedding(e Embedder, err error) error {
	return fmt.Errorf("the memory's embedder %s: %w", e.Name(), err)
}

func finite(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) })
}

// prepare does what a search needs from its embedder before the search begins:
// some of the missing vectors, and that of the question.
func (s *Store) prepare(ctx context.Context, q Query) (*dense, []float32) {
	s.mu.Lock()
	d := s.dense
	s.mu.Unlock()
	if d == nil || strings.TrimSpace(q.Text) == "" {
		return nil, nil
	}
	if err := s.catchUp(ctx, d); err != nil && ctx.Err() == nil {
		d.warn(err)
	}
	vector, err := d.embedder.EmbedQuery(ctx, q.Text)
	if err == nil && !finite(vector) {
		err = errors.New("a vector that is none")
	}
	if err != nil {
		if ctx.Err() == nil {
			d.warn(fmt.Errorf("searched by words alone: %w", embedding(d.embedder, err)))
		}
		return nil, nil
	}
	return d, vector
}

// catchUp embeds for a while, so that whoever only ever searches gets there,
// too.
func (s *Store) catchUp(ctx context.Context, d *dense) error {
	made := 0
	for end := s.now().Add(patience); ; {
		n, err := s.embedBatch(ctx, d.embedder, portion)
		if errors.Is(err, ErrDimension) {
			err = fmt.Errorf("%w: `mylm memory reindex` does that", err)
		}
		if made += n; err != nil || n < portion {
			return err
		}
		if s.now().After(end) {
			return d.sayBehind(ctx, s, made)
		}
	}
}
