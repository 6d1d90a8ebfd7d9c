package agent

import (
	"context"
	"errors"
	"iter"

	"mylm/providers"
)

// Elsewhere is implemented by Effects that have models and tools called in other
// processes, such as the activities of a workflow engine. The loop is then
// deterministic: it starts no goroutine, reads no clock and sets no alarm, so that it
// can be run again from what the effects returned. FirstTokenTimeout, TokenTimeout,
// StepTimeout, ToolTimeout and the patience with Info are kept by the other process,
// see Agent.Effects. Two options are left to whoever makes such an agent: Tries is to
// be 1, since the pause before another try is random, and MaxTime 0. A session has an
// ID before its run, and hooks are to be as deterministic as the loop.
type Elsewhere interface {
	Effects
	Elsewhere()
}

// Effects returns the effects of a run whose loop is in another process, on what the
// session holds here. Model keeps the time limits of replies, ends with the piece that
// makes a call complete, and stops a reply without end: its last error may be a
// *LimitError. Requests have a State. Tools keep their time limit.
func (a *Agent) Effects(s *Session) Effects {
	c := &carrier{agent: a, session: s}
	c.Effects = &realEffects{agent: a, session: s, view: &c.view}
	if a.opts.Effects != nil {
		c.Effects = a.opts.Effects(s, c.Effects)
	}
	return c
}

// carrier carries out the effects of a loop elsewhere.
type carrier struct {
	Effects
	agent   *Agent
	session *Session
	view    view
}

func (c *carrier) Model(ctx context.Context, q ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if q.State == nil {
			yield(providers.Chunk{}, errors.New("the request of a model call has no state"))
			return
		}
		heard := &heard{Effects: c.Effects, yield: yield}
		r := &run{agent: c.agent, session: c.session, effects: heard, state: *q.State, yield: func(Event, error) bool { return true }}
		r.syncView()
		l := &listener{run: r, quiet: q.Purpose == PurposeSummary || q.Purpose == PurposeJudge}
		l.reader = r.reader(q.Purpose, l.part)
		if _, err := l.listen(ctx, q); err != nil && !heard.left {
			yield(providers.Chunk{}, err)
		}
	}
}

// heard are effects whose replies are passed on as they come.
type heard struct {
	Effects
	yield func(providers.Chunk, error) bool
	left  bool // no piece is wanted any more
}

func (h *heard) Model(ctx context.Context, q ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for c, err := range h.Effects.Model(ctx, q) {
			if err == nil {
				if h.left = !h.yield(c, nil); h.left {
					return
				}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
