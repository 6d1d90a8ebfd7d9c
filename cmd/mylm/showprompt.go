package main

import (
	"context"
	"errors"
	"iter"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
)

// showPrompt prints the messages that would be sent.
func (a *asking) showPrompt(o agent.Options, in input) error {
	o.Model = unasked{}
	ag, err := agent.New(o)
	if err != nil {
		return err
	}
	r, err := ag.Request(a.session, in.prompt())
	if err != nil {
		return err
	}
	a.printed = true
	if a.form != formText {
		return term.PrintJSON(a.screen, r)
	}
	for i, m := range r.Messages {
		if i > 0 {
			a.screen.Answer("\n")
		}
		a.screen.Answer("=== " + string(m.Role) + " ===\n" + m.Text + "\n")
	}
	return nil
}

// unasked is a model that is never asked: --show-prompt needs none.
type unasked struct{}

// Generate implements providers.Model.
func (unasked) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, errors.New("this model cannot be asked"))
	}
}
