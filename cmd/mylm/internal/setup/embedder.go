package setup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
	"mylm/providers"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
)

// Embedders that are not names of models.
const (
	autoEmbedder = "auto"     // an embedding model of the Ollama on this machine, else none
	noEmbedder   = "none"     // memories are found by their words alone
	oldEmbedder  = "built-in" // an embedder of earlier versions, which found nothing that words did not
)

// embedderPatience is how long a search waits for Ollama's list of models. The
// server is on this machine and answers at once.
const embedderPatience = 2 * time.Second

// Embedder opens the embedder that the settings name, nil for none. The store
// reports which one was used before; fallback is what the user should know about
// it, or nil.
func Embedder(ctx context.Context, c *config.Config, store *memory.Store) (e memory.Embedder, fallback, err error) {
	name := config.Embedder.Of(c.Settings)
	switch name {
	case "", autoEmbedder:
		return autoEmbed(ctx, c, store)
	case noEmbedder, oldEmbedder:
		return nil, nil, nil
	}
	en, ok := config.EntryFor(c.Models, name)
	if !ok {
		en.Provider, en.Model = config.SplitModel(name)
	}
	switch en.Provider {
	case "demo", "scripted":
		return nil, nil, failure.Usage("%s makes no vectors", term.Echoed(name)).WithHint("--embedder takes auto, none, or an embedding model.")
	case config.Ollama:
		client, err := OllamaClient(append(config.Settings{en.Layer()}, c.Settings...))
		if err != nil {
			return nil, nil, err
		}
		e, err = ofOllama(ctx, client, en.Model)
		return e, nil, err
	default:
		e, err = openEmbedder(en)
	}
	return e, nil, err
}

// autoEmbed is an embedding model that is installed on this machine, or else none.
// Nobody else's machine is sent what is remembered unless the user names it.
func autoEmbed(ctx context.Context, c *config.Config, store *memory.Store) (memory.Embedder, error, error) {
	client, err := ollama.New(ollama.Options{Host: config.Host.Of(c.Settings), HTTP: &http.Client{Transport: ollama.Transport(), CheckRedirect: staysOnThisMachine}})
	if err != nil {
		return nil, nil, nil // what is wrong with the address is said when a model is asked
	}
	if at, err := url.Parse(client.Host()); err != nil || !config.Loopback(at.Hostname()) {
		return nil, nil, nil
	}
	e, err := ofOllama(ctx, client, "")
	if err == nil || ctx.Err() != nil {
		return e, nil, ctx.Err()
	}
	used, storeErr := store.Embedders(ctx)
	if storeErr != nil {
		return nil, nil, storeErr
	}
	for _, name := range used {
		if strings.HasPrefix(name, config.Ollama+"/") {
			return nil, fmt.Errorf("searched without %s: %w", name, err), nil
		}
	}
	return nil, nil, nil
}

// staysOnThisMachine follows no redirect to another one.
func staysOnThisMachine(req *http.Request, via []*http.Request) error {
	if !config.Loopback(req.URL.Hostname()) || req.Method != via[0].Method || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

func ofOllama(ctx context.Context, client *ollama.Client, name string) (memory.Embedder, error) {
	limited, cancel := context.WithTimeout(ctx, embedderPatience)
	defer cancel()
	e, err := client.Embedder(limited, name)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("no answer from Ollama at %s within %v", client.Host(), embedderPatience)
	}
	if err != nil {
		return nil, err // not e: an interface that holds a nil is none
	}
	return e, nil
}

// openEmbedder opens an embedder that is not Ollama's.
func openEmbedder(e config.Entry) (memory.Embedder, error) {
	c, err := e.Complete()
	if err != nil {
		return nil, entryError(e, err)
	}
	inner, err := langchain.OpenEmbedder(e.Provider, c)
	if err != nil {
		return nil, entryError(e, err)
	}
	return &redactedEmbedder{inner, newRedactor(c)}, nil
}

// redactedEmbedder removes secrets from the errors of an embedder.
type redactedEmbedder struct {
	*langchain.Embedder
	errorRedactor
}

// EmbedDocuments implements memory.Embedder.
func (d *redactedEmbedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	v, err := d.Embedder.EmbedDocuments(ctx, texts)
	return v, d.hide(err)
}

// EmbedQuery implements memory.Embedder.
func (d *redactedEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := d.Embedder.EmbedQuery(ctx, text)
	return v, d.hide(err)
}

// redactedModel removes secrets from the errors of a model.
type redactedModel struct {
	*langchain.Model
	errorRedactor
}

// newRedactedModel keeps the secrets of the configuration that m was opened with.
func newRedactedModel(m *langchain.Model, c langchain.Config) *redactedModel {
	return &redactedModel{m, newRedactor(c)}
}

// errorRedactor removes the secrets of a configuration from errors: servers repeat
// what they were sent, and a key may also be in a header.
type errorRedactor struct{ secrets []string }

func newRedactor(c langchain.Config) (h errorRedactor) {
	for _, s := range config.Secrets(c) {
		h.secrets = append(h.secrets, s, config.Mask)
	}
	return h
}

// Generate implements providers.Model.
func (d *redactedModel) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for c, err := range d.Model.Generate(ctx, r) {
			if !yield(c, d.hide(err)) {
				return
			}
		}
	}
}

// Models implements providers.Lister.
func (d *redactedModel) Models(ctx context.Context) ([]providers.ModelInfo, error) {
	models, err := d.Model.Models(ctx)
	return models, d.hide(err)
}

func (h errorRedactor) hide(err error) error {
	var e *providers.Error
	if !errors.As(err, &e) {
		return err
	}
	hidden := *e
	r := strings.NewReplacer(h.secrets...)
	hidden.Message, hidden.Hint = r.Replace(e.Message), r.Replace(e.Hint)
	return &hidden
}
