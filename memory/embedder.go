package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

const (
	portion  = 32                     // texts that a search embeds, and writes, at once; it begins with one
	portions = 256                    // that Embed does: it waits for the disk less often
	patience = 250 * time.Millisecond // how long a search goes on to embed
	longest  = 2 * time.Second        // how long one portion of a search may take

	embedWait = 10 * time.Second // for a question: long enough to load a model; after that it is not asked again
)

// Use makes Search look at the vectors of an embedder, too, and embed a few of
// the documents that have none each time, the oldest first. Nil goes back to
// words alone.
//
// A search does not fail because its embedder does, nor wait for one that does
// not answer within ten seconds: it finds what words find, and warn is told.
// Warn is called during Search, also by several at once.
func (s *Store) Use(e Embedder, warn func(error)) {
	if e == nil {
		s.dense.Store(nil)
		return
	}
	s.dense.Store(&dense{embedder: e, warn: warn})
}

// Embed makes the vectors that documents lack of an embedder, and then deletes
// those of other embedders. It can be stopped at any time and goes on where it
// was. Progress, if it is not nil, is called with the number of documents that
// have a vector and of all. Everything else can be done with the store meanwhile.
//
// Vectors of another length under the same name are thrown away first: the
// model behind it has changed. Texts that the embedder refuses, and they alone,
// are left to words: then the error is ErrRefused, after all others are done.
func (s *Store) Embed(ctx context.Context, e Embedder, progress func(done, total int)) error {
	st, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	var refused []error
	refuse := func(err error) { refused = append(refused, err) }
	for done := st.Vectors[e.Name()]; ; {
		n, err := s.embedBatch(ctx, e, portions, refuse)
		if errors.Is(err, ErrDimension) {
			done = 0
			if err = s.DropVectors(ctx, e.Name()); err == nil {
				n, err = s.embedBatch(ctx, e, portions, refuse)
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
	delete(st.Vectors, e.Name())
	if err := s.DropVectors(ctx, slices.Collect(maps.Keys(st.Vectors))...); err != nil {
		return err
	}
	if len(refused) > 0 {
		return fmt.Errorf("%w: %d of them; the first: %w", ErrRefused, len(refused), refused[0])
	}
	return nil
}

// ErrRefused is returned by Embed for texts that an embedder takes none of, while
// it takes others.
var ErrRefused = errors.New("the embedder refuses texts, which only their words find")

// embedBatch embeds the oldest documents without a vector, at most limit. It
// tells how many. Refuse is told of texts that the embedder does not take.
func (s *Store) embedBatch(ctx context.Context, e Embedder, limit int, refuse func(error)) (int, error) {
	documents, err := s.missing(ctx, e.Name(), limit)
	if err != nil || len(documents) == 0 {
		return 0, err
	}
	vectors, err := embedAll(ctx, e, documents, refuse)
	if err != nil {
		return 0, err
	}
	return len(vectors), s.putVectors(ctx, e.Name(), documents, vectors)
}

// probe is a text that every embedder takes.
const probe = "hello"

// embedAll makes the vectors of documents. If they are not to be had together
// they are tried in halves, down to the one that is refused: that gets a vector
// of zeros, which is near to nothing, or it would be tried again each time.
func embedAll(ctx context.Context, e Embedder, documents []Document, refuse func(error)) ([][]float32, error) {
	texts := make([]string, len(documents))
	for i, d := range documents {
		texts[i] = d.Text
	}
	vectors, err := embedTexts(ctx, e, texts)
	switch half := len(documents) / 2; {
	case err == nil || ctx.Err() != nil:
	case half > 0:
		if vectors, err = embedAll(ctx, e, documents[:half], refuse); err == nil {
			var rest [][]float32
			rest, err = embedAll(ctx, e, documents[half:], refuse)
			vectors = append(vectors, rest...)
		}
	default:
		taken, probeErr := embedTexts(ctx, e, []string{probe})
		if probeErr != nil {
			return nil, err // it takes nothing at all
		}
		refuse(fmt.Errorf("%s: %w", documents[0].ID, err))
		vectors, err = [][]float32{make([]float32, len(taken[0]))}, nil
	}
	return vectors, err
}

func embedTexts(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	values, err := e.EmbedDocuments(ctx, texts)
	if err == nil && len(values) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(values), len(texts))
	}
	if err != nil {
		return nil, embedding(e, err)
	}
	for _, v := range values {
		if !finite(v) {
			clear(v)
		}
	}
	return values, nil
}

// embedding says whose error it is.
func embedding(e Embedder, err error) error {
	return fmt.Errorf("the memory's embedder %s: %w", e.Name(), err)
}

func finite(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) })
}

// prepare does what a search needs from its embedder before the search begins.
func (s *Store) prepare(ctx context.Context, q Query) (*dense, []float32) {
	d := s.dense.Load()
	if d == nil || d.silent.Load() || strings.TrimSpace(q.Text) == "" {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, embedWait)
	defer cancel()
	values, err := d.embedder.EmbedQuery(limited, q.Text)
	switch {
	case ctx.Err() != nil:
		return nil, nil
	case limited.Err() != nil: // or each search would wait as long
		d.silent.Store(true)
		err = fmt.Errorf("no answer within %v", embedWait)
	case err == nil && !finite(values):
		err = errors.New("a vector that is none")
	}
	if err != nil {
		d.warn(fmt.Errorf("searched by words alone: %w", embedding(d.embedder, err)))
		return nil, nil
	}
	return d, values
}

// catchUp embeds for a while, so that whoever only ever searches gets there,
// too. It begins with one text, since a slow machine may need seconds for 32. That
// it takes too long is no error: the search goes on without them.
func (s *Store) catchUp(ctx context.Context, d *dense) error {
	refuse := func(err error) { d.warn(fmt.Errorf("%w: %w", ErrRefused, err)) }
	for end, n := s.now().Add(patience), 1; ; n = min(2*n, portion) {
		limited, cancel := context.WithTimeout(ctx, longest)
		done, err := s.embedBatch(limited, d.embedder, n, refuse)
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			done, err = 0, nil
		}
		cancel()
		if err != nil || done < n || s.now().After(end) {
			return err
		}
	}
}
