package ollama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/types/model"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// Embedder turns texts into vectors with a model of an Ollama server. It may be
// used by several goroutines at once.
type Embedder struct {
	client  *Client
	model   string
	name    string
	prompts prompts
	piece   atomic.Int64 // bytes of a text that are sent as one
}

const (
	batchSize   = 32   // texts in a request: enough to keep a server busy, few enough to cancel
	maxPieces   = 16   // of a text; what is behind them does not count
	tokenBytes  = 3    // of English are at least one token, by and large
	usualWindow = 2048 // tokens; servers may load a model with no more
	leastPiece  = 32   // bytes; a model that takes less takes nothing
)

// Embedder finds an embedding model among those that are installed; nothing is
// pulled. Without a name it is the one that was installed or changed first, so
// that installing another one changes nothing; an error of the kind
// providers.ModelMissing says that there is none.
func (c *Client) Embedder(ctx context.Context, name string) (*Embedder, error) {
	var list *api.ListResponse
	err := c.call(ctx, "", func(a *api.Client) (err error) {
		list, err = a.List(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if name == "" {
		return c.firstEmbedder(ctx, list.Models)
	}
	i := slices.IndexFunc(list.Models, func(l api.ListModelResponse) bool { return fullName(l.Name) == fullName(name) })
	if i < 0 {
		return nil, &providers.Error{Kind: providers.ModelMissing, Hint: c.pullHint(ctx, name),
			Message: fmt.Sprintf("Ollama: model %q not found", httpfault.OneLine(name))}
	}
	var s *api.ShowResponse
	err = c.call(ctx, name, func(a *api.Client) (err error) {
		s, err = a.Show(ctx, &api.ShowRequest{Model: name})
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.Capabilities != nil && !slices.Contains(s.Capabilities, model.CapabilityEmbedding) {
		return nil, &providers.Error{Kind: providers.BadRequest, Permanent: true,
			Message: fmt.Sprintf("Ollama: model %q makes no vectors", httpfault.OneLine(name)),
			Hint:    "Choose an embedding model: `mylm models` lists what is installed, `ollama pull nomic-embed-text` installs one."}
	}
	arch, _ := s.ModelInfo["general.architecture"].(string)
	trained, _ := s.ModelInfo[arch+".context_length"].(float64)
	return c.newEmbedder(list.Models[i], int(trained)), nil
}

func (c *Client) firstEmbedder(ctx context.Context, list []api.ListModelResponse) (*Embedder, error) {
	first, all := -1, c.factsOf(ctx, list)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, f := range all {
		if f.embeds && (first < 0 || list[i].ModifiedAt.Before(list[first].ModifiedAt)) {
			first = i
		}
	}
	if first < 0 {
		return nil, &providers.Error{Kind: providers.ModelMissing, Message: "Ollama has no embedding model",
			Hint: "`ollama pull nomic-embed-text` installs one."}
	}
	return c.newEmbedder(list[first], all[first].trained), nil
}

func (c *Client) newEmbedder(l api.ListModelResponse, trained int) *Embedder {
	e := &Embedder{client: c, model: l.Name, prompts: promptsOf(l.Name)}
	e.name = fmt.Sprintf("ollama/%s@%.12s", fullName(l.Name), l.Digest)
	if e.prompts.scheme != "" {
		e.name += "+" + e.prompts.scheme
	}
	window := usualWindow
	if trained > 0 {
		window = min(window, trained)
	}
	e.piece.Store(int64(max(leastPiece, window*tokenBytes)))
	return e
}

// Name tells the vectors of this embedder from all others: by the model, the
// contents of its file, and what is put before a text.
func (e *Embedder) Name() string { return e.name }

// EmbedDocuments gives a vector for each text. A text that is longer than the
// model takes is split; its vector is the mean of those of its parts, of which
// the first 16 count. Nothing is cut off in silence by the server. Errors are
// *providers.Error or those of ctx.
func (e *Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, batchSize) {
		v, err := e.embed(ctx, e.prompts.document, some)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v...)
	}
	return vectors, nil
}

// EmbedQuery gives the vector of a question, to be compared with those of
// documents. Its errors are those of EmbedDocuments.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.embed(ctx, e.prompts.query, []string{text})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// embed gives a vector for each text. How many bytes a model takes depends on
// the text, so that the length of a piece is found out by trying.
func (e *Embedder) embed(ctx context.Context, prompt string, texts []string) ([][]float32, error) {
	for {
		size := e.piece.Load()
		v, err := e.try(ctx, prompt, texts, int(size))
		var fault *providers.Error
		if !errors.As(err, &fault) || fault.Kind != providers.Overflow || size <= leastPiece {
			return v, err
		}
		e.piece.CompareAndSwap(size, max(leastPiece, size/2))
	}
}

func (e *Embedder) try(ctx context.Context, prompt string, texts []string, size int) ([][]float32, error) {
	var pieces []string
	var of []int // the text of each piece
	for i, text := range texts {
		for _, p := range split(text, size, maxPieces) {
			pieces, of = append(pieces, prompt+p), append(of, i)
		}
	}
	vectors := make([][]float32, len(texts))
	at := 0
	for some := range slices.Chunk(pieces, batchSize) {
		got, err := e.request(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, v := range got {
			t := of[at]
			if err := sum(&vectors[t], v, len(some[i])); err != nil {
				return nil, e.unusable(err.Error())
			}
			at++
		}
	}
	return vectors, nil
}

func (e *Embedder) request(ctx context.Context, texts []string) ([][]float32, error) {
	truncate := false // the server would cut a text off and not say so
	var r *api.EmbedResponse
	err := e.client.call(ctx, e.model, func(a *api.Client) (err error) {
		r, err = a.Embed(ctx, &api.EmbedRequest{Model: e.model, Input: texts, Truncate: &truncate})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(r.Embeddings) != len(texts) {
		return nil, e.unusable(fmt.Sprintf("%d vectors for %d texts", len(r.Embeddings), len(texts)))
	}
	return r.Embeddings, nil
}

func (e *Embedder) unusable(what string) error {
	return &providers.Error{Kind: providers.ServerFault, Hint: hintReload, Permanent: true,
		Message: fmt.Sprintf("Ollama: the vectors of %q cannot be used: %s", httpfault.OneLine(e.model), what)}
}

// sum adds a vector to the others of its text: each counts by the length of its
// piece, whatever its own.
func sum(to *[]float32, v []float32, weight int) error {
	if len(v) == 0 {
		return errors.New("one is empty")
	}
	if *to == nil {
		*to = make([]float32, len(v))
	}
	if len(*to) != len(v) {
		return fmt.Errorf("one has %d numbers, another %d", len(*to), len(v))
	}
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return nil
	}
	scale := float64(weight) / math.Sqrt(square)
	for i, x := range v {
		(*to)[i] += float32(float64(x) * scale)
	}
	return nil
}

// split cuts a text into at most n pieces of at most size bytes, at white space
// if there is some in the second half of a piece.
func split(text string, size, n int) []string {
	var pieces []string
	for len(text) > size && len(pieces) < n-1 {
		end := size
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if space := strings.LastIndexAny(text[:end], " \t\r\n"); space > size/2 {
			end = space + 1
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	if len(text) > size {
		text = strings.ToValidUTF8(text[:size], "")
	}
	return append(pieces, text)
}

// prompts are what a model was trained to find before a text.
type prompts struct{ scheme, query, document string }

// known prompts, by how the names of models begin; the first that fits holds.
// Each is from the card of the model: nomic-ai, mixedbread-ai, Snowflake, BAAI
// (none for bge-m3), intfloat, Qwen and Google on Hugging Face.
var knownPrompts = []struct {
	model string
	prompts
}{
	{"nomic-embed-text", prompts{"nomic", "search_query: ", "search_document: "}},
	{"mxbai-embed", represent},
	{"snowflake-arctic-embed2", prompts{"query", "query: ", ""}},
	{"snowflake-arctic-embed", represent},
	{"bge-m3", prompts{}},
	{"bge-", represent},
	{"multilingual-e5-large-instruct", instruct},
	{"qwen3-embedding", instruct},
	{"multilingual-e5", passages},
	{"e5-", passages},
	{"embeddinggemma", prompts{"gemma", "task: search result | query: ", "title: none | text: "}},
}

var (
	represent = prompts{"represent", "Represent this sentence for searching relevant passages: ", ""}
	instruct  = prompts{"instruct", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""}
	passages  = prompts{"e5", "query: ", "passage: "}
)

func promptsOf(name string) prompts {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	for _, k := range knownPrompts {
		if strings.HasPrefix(name, k.model) {
			return k.prompts
		}
	}
	return prompts{}
}
