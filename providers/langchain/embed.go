package langchain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tmc/langchaingo/embeddings"

	"mylm/providers"
)

// Embedder makes vectors with one of langchaingo's embedders. It may be used
// by several goroutines at once if the one that it was made of may.
type Embedder struct {
	name  string
	inner embeddings.Embedder
}

// NewEmbedder makes an Embedder of any of langchaingo's. The name tells its
// vectors from those of others; whoever changes the model changes it, too:
// langchaingo cannot say which model it asks.
func NewEmbedder(name string, e embeddings.Embedder) *Embedder {
	return &Embedder{name: "langchain/" + name, inner: e}
}

// Name tells the vectors of this embedder from all others.
func (e *Embedder) Name() string { return e.name }

// EmbedDocuments gives a vector for each text. Errors are *providers.Error or
// those of ctx.
func (e *Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, ctx.Err()
	}
	return e.call(ctx, len(texts), func(ctx context.Context) ([][]float32, error) {
		return e.inner.EmbedDocuments(ctx, texts)
	})
}

// EmbedQuery gives the vector of a question. Its errors are those of
// EmbedDocuments.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.call(ctx, 1, func(ctx context.Context) ([][]float32, error) {
		v, err := e.inner.EmbedQuery(ctx, text)
		return [][]float32{v}, err
	})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// call asks in a goroutine of its own: a client that does not heed its context
// must not hold up the caller, and one that panics over an empty answer must
// not end the process.
func (e *Embedder) call(ctx context.Context, want int, ask func(context.Context) ([][]float32, error)) ([][]float32, error) {
	type answer struct {
		vectors [][]float32
		err     error
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: &panicked{p, debug.Stack()}}
			}
			done <- a
		}()
		a.vectors, a.err = ask(call)
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		cancel()
		patience := time.NewTimer(settling)
		defer patience.Stop()
		select {
		case <-done:
		case <-patience.C:
		}
		return nil, ctx.Err()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if a.err == nil {
		a.err = fits(a.vectors, want)
	}
	if a.err != nil {
		return nil, &providers.Error{Kind: providers.ServerFault, Err: a.err,
			Message: fmt.Sprintf("no vectors from %s: %v", e.name, a.err),
			Hint:    "Check the embedder's key, address and model; searching by words works without it."}
	}
	return a.vectors, nil
}

// fits tells whether an answer has a vector for each text.
func fits(vectors [][]float32, want int) error {
	if len(vectors) != want {
		return fmt.Errorf("%d for %d texts", len(vectors), want)
	}
	for _, v := range vectors {
		if len(v) == 0 {
			return errors.New("one is empty")
		}
		if len(v) != len(vectors[0]) {
			return fmt.Errorf("one has %d numbers, another %d", len(vectors[0]), len(v))
		}
	}
	return nil
}
