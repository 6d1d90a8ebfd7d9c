package agent

import (
	"context"
	"errors"
	"iter"
	"slices"

	"mylm/prompts"
	"mylm/providers"
)

// Errors of Resume for a session that it does not continue.
var (
	// ErrComplete: the last run answered its prompt.
	ErrComplete = errors.New("the last question of the session was answered: there is nothing to resume")
	// ErrNoQuestion: there is no run, or its record ends before the prompt.
	ErrNoQuestion = errors.New("the session ends before its question was recorded")
)

// Resume continues the last run of a session, without a prompt.
//
// A run whose end was never recorded, since the process died, is continued: no
// recorded reply is asked for again, and no call with a recorded result runs
// again. A call without a result runs again if it only reads; for any other the
// model learns that its outcome is unknown.
//
// A run that ended early (at a limit, interrupted, by a fault of the model) is
// followed by a run with limits of its own, on the same conversation. The events, the result and the errors are those of Run.
func (a *Agent) Resume(ctx context.Context, s *Session) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := ErrNoQuestion
		if s != nil {
			err = s.Resumable()
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		r := &run{agent: a, session: s, yield: yield, resumed: true}
		a.drive(ctx, r, func(ctx context.Context) { r.loop(ctx, PromptEntry{}) })
	}
}

// start sets up the state and what the session has to hold before a turn.
func (r *run) start(ctx context.Context, prompt PromptEntry) error {
	if r.resumed && r.replay == nil && r.restore(ctx) {
		return nil
	}
	r.state = State{Run: r.effects.NewID(), Started: r.effects.Now(), First: r.session.last() + 1}
	if err := r.closeOpenCalls(ctx); err != nil {
		return err
	}
	r.state.First = r.session.last() + 1
	if err := r.recordStart(ctx, prompt); err != nil || !r.resumed {
		return err
	}
	r.syncView()
	if m := r.view.messages; m[len(m)-1].Role != providers.Assistant {
		return nil
	}
	text, err := r.agent.opts.Prompts.Text(prompts.Resume)
	if err != nil {
		return err
	}
	return r.record(ctx, UserEntry{text})
}

// restore takes the state from the last reply of a run that has no end, and
// takes that turn back, to be replayed. It reports whether there is
// such a run.
func (r *run) restore(ctx context.Context) bool {
	entries := r.session.snapshot()
	first, reply := lastOf[RunEntry](entries), -1
	for i := first; i < len(entries); i++ {
		switch p := entries[i].Payload.(type) {
		case EndEntry:
			return false
		case ReplyEntry:
			if p.State != nil {
				reply = i
			}
		}
	}
	began, last := entries[first], entries[len(entries)-1]
	r.state = State{Run: began.Run, Started: began.Time, First: first + 1}
	if reply >= 0 {
		r.state = *entries[reply].Payload.(ReplyEntry).State
		r.state.Turn-- // the turn starts again
		r.toReplay = r.session.rewind(reply)
	}
	if was := r.state; began.Payload.(RunEntry).Setup.sameBackend(r.agent.setup(r.agent.form(r.session))) {
		r.relearn(ctx, was)
	} else {
		r.switched = true
		r.state.Window, r.state.Guessed, r.state.Scale, r.state.Prompt = 0, false, 0, 0
	}
	// The time between the death of the process and now is not the run's.
	r.state.Started = r.effects.Now().Add(-last.Time.Sub(r.state.Started))
	r.state.Tainted = r.state.Tainted || r.agent.opts.Tainted || r.session.Tainted()
	return true
}

// carryOver takes over what the session's last run learned of the backend, if that
// was the same model.
func (r *run) carryOver(ctx context.Context, setup *Setup, system string) {
	entries := r.session.snapshot()
	first := lastOf[RunEntry](entries)
	if first < 0 {
		return
	}
	began := entries[first].Payload.(RunEntry)
	if !began.Setup.sameBackend(setup) {
		return
	}
	for _, e := range slices.Backward(entries[first:]) {
		state := e.state()
		if state == nil {
			continue
		}
		was := *state
		was.Prompt -= was.Prompt / 8 // an update of the server may have changed the template
		if began.System != system {  // the prompt does not only grow
			was.Prompt = 0
		}
		r.state.Scale = was.Scale
		r.relearn(ctx, was)
		return
	}
}

// relearn looks the window up again that was known once: since then it may have
// become another, and what an overflow made of it may have been too little. If
// it is the same, the prompt is unchanged.
func (r *run) relearn(ctx context.Context, was State) {
	s := &r.state
	s.Window, s.Guessed = 0, false
	if was.Window > 0 {
		r.learnWindow(ctx, true)
	}
	if s.Window == was.Window {
		s.Results, s.Prompt, s.PromptCut, s.Counted = was.Results, was.Prompt, was.PromptCut, was.Counted
	}
}

// closeOpenCalls gives every call without a result one that states that, before another run begins.
func (r *run) closeOpenCalls(ctx context.Context) error {
	for _, call := range OpenCalls(r.session.snapshot()) {
		text, err := r.agent.opts.Prompts.Text(prompts.Unknown)
		if err == nil {
			err = r.record(ctx, ResultEntry{ID: call.ID, Name: call.Name, Args: call.Args, Error: text, Unknown: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenCalls returns the calls that have no result.
func OpenCalls(entries []Entry) (calls []CallEntry) {
	for _, e := range entries {
		n := len(calls)
		switch p := e.Payload.(type) {
		case CallEntry:
			if n > 0 && calls[n-1].ID == p.ID { // it ran again, with more permissions
				calls = calls[:n-1]
			}
			calls = append(calls, p)
		case ResultEntry:
			if n > 0 && calls[n-1].ID == p.ID {
				calls = calls[:n-1]
			}
		}
	}
	return calls
}

// abandoned closes the record of a run whose consumer panicked, or ended its
// goroutine, with an event in hand.
func (r *run) abandoned(ctx context.Context) {
	if !r.yielding {
		return
	}
	r.yielding, r.consumerLeft = false, true
	r.cancel()
	r.stop(StopInterrupted, errors.New("the consumer of the events failed"))
	r.end(ctx)
}
