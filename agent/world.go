package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"mylm/providers"
	"mylm/tools"
)

// world is the Effects of a run that really happens.
type world struct {
	agent   *Agent
	session *Session
	view    *view // of the session; what is not in it yet is taken in
}

func (w *world) Model(ctx context.Context, q ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		messages, err := w.messages(q)
		if err != nil {
			yield(providers.Chunk{}, &engineError{err})
			return
		}
		if hook := w.agent.opts.Hooks.TransformContext; hook != nil && q.Purpose == PurposeTurn {
			if messages, err = hook(ctx, slices.Clone(messages)); err != nil {
				yield(providers.Chunk{}, &engineError{&hookError{"TransformContext", err}})
				return
			}
		}
		request := w.agent.request(messages)
		request.Status = statusOf(ctx)
		w.agent.opts.Model.Generate(ctx, request)(yield)
	}
}

// engineError is a failure of the engine's own where errors of the model come
// from.
type engineError struct{ err error }

func (e *engineError) Error() string { return e.err.Error() }
func (e *engineError) Unwrap() error { return e.err }

func (w *world) Tool(ctx context.Context, r ToolRequest) tools.Outcome {
	inv := tools.Invocation{Tool: w.agent.opts.Tools.Lookup(r.Name), Args: r.Args, Effect: r.Effect, Permits: r.Permits}
	return inv.Run(ctx, w.agent.timeout(&inv))
}

func (w *world) Ask(ctx context.Context, r ApprovalRequest) (Decision, error) {
	return w.agent.opts.Approve(ctx, r)
}

func (w *world) Info(ctx context.Context) (providers.Info, error) {
	informer, ok := w.agent.opts.Model.(providers.Informer)
	if !ok {
		return providers.Info{}, errors.ErrUnsupported
	}
	return informer.Info(ctx)
}

func (w *world) Now() time.Time { return time.Now() }

func (w *world) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (w *world) NewID() string { return newID() }

// newID is short enough to type and long enough (65 bits) that two never meet.
func newID() string { return strings.ToLower(rand.Text()[:13]) }

type statusKey struct{}

// withStatus hands a function that reports what the backend is doing down to
// the model call: a request that can be written down cannot hold one.
func withStatus(ctx context.Context, report func(string)) context.Context {
	return context.WithValue(ctx, statusKey{}, report)
}

func statusOf(ctx context.Context) func(string) {
	report, _ := ctx.Value(statusKey{}).(func(string))
	return report
}
