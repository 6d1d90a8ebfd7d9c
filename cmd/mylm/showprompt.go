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
func (r *run) showPrompt(in input) error {
	o := r.Options
	o.Model = unasked{}
	ag, err := agent.New(o)
	if err != nil {
		return err
	}
	request, err := ag.Request(r.Session, in.prompt())
	if err != nil {
		return err
	}
	r.out.printed = true
	if r.out.form != formText {
		return term.PrintJSON(r.out.screen, request)
	}
	for i, m := range request.Messages {
		if i > 0 {
			r.out.screen.Answer("\n")
		}
		r.out.screen.Answer("=== " + string(m.Role) + " ===\n" + m.Text + "\n")
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
