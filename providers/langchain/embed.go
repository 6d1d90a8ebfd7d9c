package langchain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/embeddings"

	"mylm/providers"
	"mylm/providers/internal/pieces"
	"mylm/providers/internal/wire"
)

// Embedder makes vectors with one of langchaingo's embedders. It may be used
// by several goroutines at once if the one that it was made of may.
type Embedder struct {
	name   string
	inner  embeddings.Embedder
	model  *Model // classifies failures
	pieces *pieces.Splitter
}

// pieceSize is how many bytes of a text are sent as one, to begin with: 8,192
// tokens is what OpenAI's models take, and 3 bytes of English are at least one.
const pieceSize = 8192 * 3

// longestVector is far more than a vector takes as JSON.
const longestVector = 256 << 10

// NewEmbedder makes an Embedder of any of langchaingo's. The name
// distinguishes its vectors from those of others, and has to change with the
// model: langchaingo cannot report which model it asks.
func NewEmbedder(name string, e embeddings.Embedder) *Embedder {
	return newEmbedder("langchain/"+name, e, New(nil, Options{Name: name}))
}

func newEmbedder(name string, e embeddings.Embedder, m *Model) *Embedder {
	return &Embedder{name: name, inner: e, model: m, pieces: pieces.New(pieceSize)}
}

// OpenEmbedder makes an Embedder of a provider that speaks OpenAI's wire. Like
// Open, it sends nothing and reads neither environment nor files.
func OpenEmbedder(provider string, c Config) (*Embedder, error) {
	if b, ok := backends()[provider]; ok && !b.embeds {
		return nil, badConfig(b.Title+" makes no vectors here",
			"Name an embedding model of Ollama's, or of a provider that speaks OpenAI's wire.")
	}
	m, err := Open(provider, c)
	if err != nil {
		return nil, err
	}
	client, ok := m.llm.(embeddings.EmbedderClient)
	if !ok || m.config.Model == "" {
		return nil, badConfig("no embedding model is named", "")
	}
	inner, err := embeddings.NewEmbedder(client, embeddings.WithStripNewLines(false))
	if err != nil {
		return nil, badConfig(m.back.Title+": "+wire.OneLine(err.Error()), "")
	}
	return newEmbedder(provider+"/"+m.config.Model, inner, m), nil
}

// Name distinguishes the vectors of this embedder from all others.
func (e *Embedder) Name() string { return e.name }

// Close drops idle connections. The embedder remains usable.
func (e *Embedder) Close() { e.model.Close() }

// EmbedDocuments gives a vector for each text. A text that is longer than the
// model takes is split; its vector is the mean of those of its parts, of which
// the first 16 count. Errors are *providers.Error or those of ctx.
func (e *Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, texts, e.inner.EmbedDocuments)
}

// EmbedQuery gives the vector of a question. Its errors are those of
// EmbedDocuments.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.embed(ctx, []string{text}, func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors := make([][]float32, len(texts))
		for i, text := range texts { // one, unless the question is very long
			v, err := e.inner.EmbedQuery(ctx, text)
			if err != nil {
				return nil, err
			}
			vectors[i] = v
		}
		return vectors, nil
	})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

func (e *Embedder) embed(ctx context.Context, texts []string, ask pieces.Ask) ([][]float32, error) {
	v, err := e.pieces.Embed(ctx, "", texts, func(ctx context.Context, texts []string) ([][]float32, error) {
		return e.call(ctx, texts, ask)
	})
	if errors.Is(err, pieces.ErrUnusable) {
		return nil, &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err,
			Message: fmt.Sprintf("%s: %v", e.name, err),
			Hint:    "Check the embedder's address and model; searching by words works without it."}
	}
	return v, err
}

// call asks in a goroutine of its own: a client that ignores its context
// must not hold up the caller, and one that panics over an empty answer must
// not end the process.
func (e *Embedder) call(ctx context.Context, texts []string, ask pieces.Ask) ([][]float32, error) {
	type answer struct {
		vectors [][]float32
		err     error
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &wire.Exchange{Server: &e.model.server, Edit: e.model.edit(asked{}, nil),
		Limit: wire.LongestBody + int64(len(texts))*longestVector}
	bound := x.Bind(call)
	done := make(chan answer, 1)
	guarded(func() ([][]float32, error) { return ask(bound, texts) },
		func(v [][]float32, err error) { done <- answer{v, err} })
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
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if fault := e.model.failure(x, a.err); fault != nil {
		fault.Message = "no vectors from " + e.name + ": " + fault.Message
		return nil, fault
	}
	return a.vectors, nil
}
