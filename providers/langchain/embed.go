package langchain

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"

	"mylm/providers"
	"mylm/providers/internal/pieces"
	"mylm/providers/internal/wire"
)

// Embedder makes vectors with one of langchaingo's embedders, by its methods
// Name, EmbedDocuments and EmbedQuery. It may be used by several goroutines at
// once if langchaingo's may.
type Embedder struct {
	*pieces.Embedder
	inner embeddings.Embedder
	model *Model // classifies failures
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

func newEmbedder(name string, inner embeddings.Embedder, m *Model) *Embedder {
	e := &Embedder{inner: inner, model: m}
	e.Embedder = pieces.New(pieces.Options{Name: name, Size: pieceSize,
		Ask: func(ctx context.Context, texts []string) ([][]float32, error) {
			return e.call(ctx, texts, inner.EmbedDocuments)
		},
		AskQuery: func(ctx context.Context, texts []string) ([][]float32, error) {
			return e.call(ctx, texts, e.queries)
		},
		Unusable: func(err error) *providers.Error {
			return &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err,
				Message: fmt.Sprintf("%s: %v", name, err),
				Hint:    "Check the embedder's address and model; searching by words works without it."}
		}})
	return e
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

// Close drops idle connections. The embedder remains usable.
func (e *Embedder) Close() { e.model.Close() }

// queries embeds the parts of a question: one, unless it is very long.
func (e *Embedder) queries(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	for _, text := range texts {
		v, err := e.inner.EmbedQuery(ctx, text)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

// call asks in a goroutine of its own: a client that ignores its context
// must not hold up the caller, and one that panics over an empty answer must
// not end the process.
func (e *Embedder) call(ctx context.Context, texts []string, ask pieces.Ask) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &wire.Exchange{Server: &e.model.server, Edit: e.model.edit(asked{}, nil),
		Limit: wire.LongestBody + int64(len(texts))*longestVector}
	bound := x.Bind(call)
	done := guarded(func() ([][]float32, error) { return ask(bound, texts) })
	var o outcome[[][]float32]
	select {
	case o = <-done:
	case <-ctx.Done():
		settle(cancel, done, settling)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if fault := e.model.failure(x, o.err); fault != nil {
		fault.Message = "no vectors from " + e.Name() + ": " + fault.Message
		return nil, fault
	}
	return o.value, nil
}
