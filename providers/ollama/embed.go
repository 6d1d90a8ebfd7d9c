package ollama

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"mylm/providers"
	"mylm/providers/internal/pieces"
	"mylm/providers/internal/wire"
)

// Embedder turns texts into vectors with a model of an Ollama server. It may be
// used by several goroutines at once.
type Embedder struct {
	client  *Client
	model   string
	name    string
	prompts prompts
	pieces  *pieces.Splitter
}

const (
	tokenBytes  = 3    // of English are at least one token, by and large
	usualWindow = 2048 // tokens; servers may load a model with no more
)

// Embedder finds an embedding model among those that are installed; nothing is
// pulled. Without a name it is the one that was installed or changed first, so
// that installing another one changes nothing, and never one that runs on
// another server; an error of the kind providers.ModelMissing means that there
// is none.
func (c *Client) Embedder(ctx context.Context, name string) (*Embedder, error) {
	list, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return c.firstEmbedder(ctx, list)
	}
	i := slices.IndexFunc(list, func(l api.ListModelResponse) bool { return fullName(l.Name) == fullName(name) })
	if i < 0 {
		return nil, &providers.Error{Kind: providers.ModelMissing, Backend: c.server.Name,
			Param: providers.ParamModel, Hint: c.installHint(ctx, name),
			Message: fmt.Sprintf("Ollama: model %q not found", wire.OneLine(name))}
	}
	f, err := c.show(ctx, name)
	if err != nil {
		return nil, err
	}
	if !f.embeds && !f.silent {
		return nil, &providers.Error{Kind: providers.BadRequest, Permanent: true, Backend: c.server.Name,
			Param:   providers.ParamModel,
			Message: fmt.Sprintf("Ollama: model %q is not an embedding model", wire.OneLine(name)),
			Hint:    "`ollama pull nomic-embed-text` installs one."}
	}
	return c.newEmbedder(list[i], f.trained), nil
}

func (c *Client) firstEmbedder(ctx context.Context, list []api.ListModelResponse) (*Embedder, error) {
	first, all := -1, c.factsOf(ctx, list, false)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, f := range all {
		if f.embeds && list[i].RemoteHost == "" && (first < 0 || list[i].ModifiedAt.Before(list[first].ModifiedAt)) {
			first = i
		}
	}
	if first < 0 {
		return nil, &providers.Error{Kind: providers.ModelMissing, Backend: c.server.Name,
			Message: "Ollama has no embedding model",
			Hint:    "`ollama pull nomic-embed-text` installs one."}
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
	e.pieces = pieces.New(window * tokenBytes)
	return e
}

// Name distinguishes the vectors of this embedder from all others: by the model, the
// contents of its file, and what is put before a text.
func (e *Embedder) Name() string { return e.name }

// EmbedDocuments gives a vector for each text. A text that is longer than the
// model takes is split; its vector is the mean of those of its parts, of which
// the first 16 count. The server never truncates a text silently. Errors are
// *providers.Error or those of ctx.
func (e *Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.prompts.document, texts)
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

func (e *Embedder) embed(ctx context.Context, prompt string, texts []string) ([][]float32, error) {
	v, err := e.pieces.Embed(ctx, prompt, texts, e.request)
	if errors.Is(err, pieces.ErrUnusable) {
		return nil, &providers.Error{Kind: providers.ServerFault, Backend: e.client.server.Name,
			Hint:      "The model's files may be damaged: `ollama pull` repairs them. " + e.client.server.Log,
			Permanent: true, Err: err,
			Message: fmt.Sprintf("Ollama: %q: %v", wire.OneLine(e.model), err)}
	}
	return v, err
}

func (e *Embedder) request(ctx context.Context, texts []string) ([][]float32, error) {
	truncate := false // the server would cut a text off and not say so
	var r *api.EmbedResponse
	err := e.client.call(ctx, e.model, func(ctx context.Context) (err error) {
		r, err = e.client.api.Embed(ctx, &api.EmbedRequest{Model: e.model, Input: texts, Truncate: &truncate})
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.Embeddings, nil
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
