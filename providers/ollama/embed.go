package ollama

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"mylm/providers"
	"mylm/providers/internal/pieces"
	"mylm/providers/internal/wire"
)

// Embedder turns texts into vectors with a model of an Ollama server, by its
// methods Name, EmbedDocuments and EmbedQuery. The name holds the model, the
// digest of its file, and what is put before a text. The server never truncates
// a text silently. It may be used by several goroutines at once.
type Embedder struct{ *pieces.Embedder }

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
	p := promptsOf(l.Name)
	name := fmt.Sprintf("ollama/%s@%.12s", fullName(l.Name), l.Digest)
	if p.scheme != "" {
		name += "+" + p.scheme
	}
	window := usualWindow
	if trained > 0 {
		window = min(window, trained)
	}
	ask := func(ctx context.Context, texts []string) ([][]float32, error) {
		truncate := false // the server would cut a text off silently
		r, err := call(ctx, c, l.Name, func(ctx context.Context) (*api.EmbedResponse, error) {
			return c.api.Embed(ctx, &api.EmbedRequest{Model: l.Name, Input: texts, Truncate: &truncate})
		})
		if err != nil {
			return nil, err
		}
		return r.Embeddings, nil
	}
	return &Embedder{pieces.New(pieces.Options{Name: name, Query: p.query, Document: p.document, Size: window * tokenBytes,
		Ask: ask, Unusable: func(err error) *providers.Error {
			return &providers.Error{Kind: providers.ServerFault, Permanent: true, Err: err, Backend: c.server.Name,
				Message: fmt.Sprintf("Ollama: %q: %v", wire.OneLine(l.Name), err),
				Hint:    fmt.Sprintf("The model's files may be damaged: `ollama pull %s` repairs them. ", wire.OneLine(l.Name)) + c.server.Log}
		}})}
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
