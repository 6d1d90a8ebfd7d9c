package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"mylm/agent"
	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// Verify carries out the scripts of every task: the right run must pass, and each
// wrong one, of which there are two at least, must fail. It returns every task of
// which that is not so. more are tools that tasks name beside the suite's.
func (s *Suite) Verify(ctx context.Context, more *tools.Registry) error {
	if err := s.prepare(); err != nil {
		return err
	}
	var all []error
	for _, t := range s.Tasks {
		if err := s.verify(ctx, t, more); err != nil {
			all = append(all, fmt.Errorf("task %s: %w", t.ID, err))
		}
	}
	return errors.Join(all...)
}

func (s *Suite) verify(ctx context.Context, t *Task, more *tools.Registry) error {
	if len(t.Right) == 0 || len(t.Wrong) < 2 {
		return errors.New("it needs one right script and two wrong ones")
	}
	o, err := s.try(ctx, t, t.Right, more)
	switch {
	case err != nil:
		return fmt.Errorf("the right script: %w", err)
	case !o.Passed && o.Refusals["unknown_tool"] > 0:
		return errors.New("the right script fails: it calls a tool that the task does not have")
	case !o.Passed:
		return fmt.Errorf("the right script fails: %s (%s)", o.Detail, o.Cause)
	}
	for i, wrong := range t.Wrong {
		if o, err = s.try(ctx, t, wrong, more); err != nil {
			return fmt.Errorf("wrong script %d: %w", i+1, err)
		}
		if o.Passed {
			return fmt.Errorf("wrong script %d passes", i+1)
		}
	}
	return nil
}

// Try asks one task of a model that follows a script.
func (s *Suite) try(ctx context.Context, t *Task, script Script, more *tools.Registry) (*Outcome, error) {
	model := script.Model()
	x := &exam{Options: Options{Suite: s, Agent: agent.Options{Model: model, Tries: 1}, Tools: more, Runs: 1}}
	o, err := x.outcome(ctx, job{t, 1})
	if err == nil && model.overrun.Load() {
		err = errors.New("the model is asked for more replies than the script has")
	}
	return o, err
}

// Scripted is a model that follows a Script. It may be used for one run.
type Scripted struct {
	script  Script
	next    atomic.Int64
	overrun atomic.Bool
}

// Model is a model that writes the replies of the script in their order, each of its
// calls in mylm's own form.
func (s Script) Model() *Scripted { return &Scripted{script: s} }

// Generate implements providers.Model.
func (m *Scripted) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		i := int(m.next.Add(1)) - 1
		if i >= len(m.script) {
			m.overrun.Store(true)
			yield(providers.Chunk{}, &providers.Error{Kind: providers.BadRequest, Message: "the script has no more replies"})
			return
		}
		yield(providers.Chunk{Text: m.script[i].Reply(), Stop: providers.StopEnd}, nil)
	}
}

// Reply is the step as a model writes it.
func (s Step) Reply() string {
	if s.Call == "" {
		return s.Text
	}
	call := protocol.EncodeCall(s.Call, s.Args)
	if s.Text != "" {
		return s.Text + "\n" + call
	}
	return call
}
