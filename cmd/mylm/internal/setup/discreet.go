package setup

import (
	"context"
	"errors"
	"iter"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/providers"
	"mylm/providers/langchain"
)

// discreet is a model whose errors hold no secrets.
type discreet struct {
	*langchain.Model
	hider
}

// newDiscreet keeps the secrets of the configuration that m was opened with.
func newDiscreet(m *langchain.Model, c langchain.Config) *discreet { return &discreet{m, newHider(c)} }

// hider takes the secrets of a configuration out of errors: servers repeat what
// they were sent, and a key may also stand in a header.
type hider struct{ secrets []string }

func newHider(c langchain.Config) (h hider) {
	for _, s := range config.Secrets(c) {
		h.secrets = append(h.secrets, s, config.Mask)
	}
	return h
}

// Generate implements providers.Model.
func (d *discreet) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for c, err := range d.Model.Generate(ctx, r) {
			if !yield(c, d.hide(err)) {
				return
			}
		}
	}
}

// Models implements providers.Lister.
func (d *discreet) Models(ctx context.Context) ([]providers.ModelInfo, error) {
	models, err := d.Model.Models(ctx)
	return models, d.hide(err)
}

func (h hider) hide(err error) error {
	var e *providers.Error
	if !errors.As(err, &e) {
		return err
	}
	hidden := *e
	r := strings.NewReplacer(h.secrets...)
	hidden.Message, hidden.Hint = r.Replace(e.Message), r.Replace(e.Hint)
	return &hidden
}
