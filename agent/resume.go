package agent

import (
	"context"
	"errors"
	"iter"
	"slices"

	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// ErrComplete is returned by Resume for a session whose last run answered its
// prompt, or which has no run.
var ErrComplete = errors.New("the last question of the session was answered: there is nothing to go on with")

// ErrDiverged ends a resumed run whose record does not fit what this engine
// makes of the model's reply. Nothing was done again.
var ErrDiverged = errors.New("the record was written by an engine that read the reply in another way; go on with a question of your own")

// Resume goes on with the last run of a session, without a prompt.
//
// A run whose end was never recorded, since the process died, goes on in its
// place: no reply that the record holds is asked for again, and no call that has
// a result there is run again. A call without a result is run again if it only
// reads; of any other the model is told that its outcome is unknown.
//
// A run that ended early (at a limit, interrupted, for a fault of the model) is
// followed by one of its own limits, to which the conversation is handed as it
// stands. The events, the result and the errors are those of Run.
func (a *Agent) Resume(ctx context.Context, s *Session) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s == nil || !s.Unfinished() {
			yield(Event{}, ErrComplete)
			return
		}
		a.drive(ctx, &run{agent: a, session: s, yield: yield, resumed: true}, "")
	}
}

// start sets up the state and what the session has to hold before a turn.
func (r *run) start(ctx context.Context, prompt string) error {
	if r.resumed && r.restore(ctx) {
		return nil
	}
	r.state = State{Run: r.effects.NewID(), Started: r.effects.Now(), First: r.session.last() + 1}
	if err := r.settle(ctx); err != nil {
		return err
	}
	r.state.First = r.session.last() + 1
	if err := r.begin(ctx, prompt); err != nil || !r.resumed {
		return err
	}
	r.look()
	if m := r.view.messages; m[len(m)-1].Role != providers.Assistant {
		return nil
	}
	text, err := r.agent.opts.Prompts.Text(prompts.Resume)
	if err != nil {
		return err
	}
	return r.record(ctx, Entry{Kind: EntryUser, Text: text})
}

// restore takes the state from the last reply of a run that has no end, and
// puts that turn aside, to be gone through again. It reports whether there is
// such a run.
func (r *run) restore(ctx context.Context) bool {
	entries := r.session.all()
	first, reply := lastOf(entries, EntryRun), -1
	for i := first; i < len(entries); i++ {
		switch {
		case entries[i].Kind == EntryEnd:
			return false
		case entries[i].Kind == EntryReply && entries[i].State != nil:
			reply = i
		}
	}
	began, last := entries[first], entries[len(entries)-1]
	r.state = State{Run: began.Run, Started: began.Time, First: first + 1}
	if reply >= 0 {
		r.state = *entries[reply].State
		r.state.Turn-- // the turn begins anew
		r.past = r.session.rewind(reply)
	}
	if was := r.state; began.Setup.counts(r.agent.setup()) {
		r.relearn(ctx, was)
	} else {
		r.switched = true
		r.state.Window, r.state.Guessed, r.state.Scale, r.state.Prompt = 0, false, 0, 0
	}
	// The time between the death of the process and now is not the run's.
	r.state.Started = r.effects.Now().Add(-last.Time.Sub(r.state.Started))
	r.state.Tainted = r.state.Tainted || r.agent.opts.Tainted || tainted(entries)
	return true
}

// carry takes over what the session's last run learned of the backend, if that
// was the same model.
func (r *run) carry(ctx context.Context, setup *Setup, system string) {
	entries := r.session.all()
	first := lastOf(entries, EntryRun)
	if first < 0 || !entries[first].Setup.counts(setup) {
		return
	}
	for _, e := range slices.Backward(entries[first:]) {
		if e.State == nil {
			continue
		}
		was := *e.State
		was.Prompt -= was.Prompt / 8       // an update of the server may have changed the template
		if entries[first].Text != system { // the prompt does not only grow
			was.Prompt = 0
		}
		r.state.Scale = was.Scale
		r.relearn(ctx, was)
		return
	}
}

// relearn looks the window up again that was known once: since then it may have
// become another, and what an overflow made of it may have been too little. If it
// is the same, the prompt goes on as it was.
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

// settle gives every call that has no result one that says so, before another
// run begins.
func (r *run) settle(ctx context.Context) error {
	for _, e := range open(r.session.all()) {
		text, err := r.agent.opts.Prompts.Text(prompts.Unknown)
		if err == nil {
			err = r.record(ctx, Entry{Kind: EntryResult, Call: e.Call, Name: e.Name, Args: e.Args, Error: text, Unknown: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open returns the calls that have no result.
func open(entries []Entry) (calls []Entry) {
	for _, e := range entries {
		switch n := len(calls); {
		case e.Kind == EntryCall && n > 0 && calls[n-1].Call == e.Call: // it ran again, with more permissions
			calls[n-1] = e
		case e.Kind == EntryCall:
			calls = append(calls, e)
		case e.Kind == EntryResult && n > 0 && calls[n-1].Call == e.Call:
			calls = calls[:n-1]
		}
	}
	return calls
}

// again takes an entry from the record instead of writing it, if the turn is
// gone through again.
func (r *run) again(e Entry) (done bool, err error) {
	if len(r.past) == 0 {
		return false, nil
	}
	was := r.past[0]
	same := was.Kind == e.Kind && was.Call == e.Call && was.Name == e.Name && canonical(was.Args) == canonical(e.Args)
	if !same {
		r.putBack()
		return true, ErrDiverged
	}
	r.past = r.past[1:]
	r.session.add(was)
	switch {
	case was.Kind == EntryReply && was.Usage != nil:
		r.state.Usage = r.turn.Usage.Add(*was.Usage) // as it was counted when it came
	case was.Kind == EntryCall:
		r.repeats = &was
	}
	return true, nil
}

// refitted takes back from the record what was done to make the next prompt fit.
func (r *run) refitted() {
	for len(r.past) > 0 {
		e := r.past[0]
		if e.Kind != EntryCompaction && (e.Kind != EntryAside || e.Purpose != PurposeSummary) {
			return
		}
		r.past = r.past[1:]
		r.session.add(e)
	}
}

// putBack returns what was not gone through again to the session.
func (r *run) putBack() {
	for _, e := range r.past {
		r.session.add(e)
	}
	r.past = nil
}

// caughtUp is called at the end of the run, which by then has gone through all
// that the record holds, unless it was interrupted.
func (r *run) caughtUp() {
	if len(r.past) == 0 {
		return
	}
	r.putBack()
	if s := &r.state; s.Stop != StopInterrupted && s.Stop != StopInternal {
		s.Stop, r.err = StopInternal, ErrDiverged
	}
}

// abandoned closes the record of a run whose consumer panicked, or ended its
// goroutine, with an event in hand.
func (r *run) abandoned(ctx context.Context) {
	if !r.inside {
		return
	}
	r.inside, r.gone = false, true
	r.cancel()
	r.stop(StopInterrupted, errors.New("the consumer of the events failed"))
	r.end(ctx)
}

// remembered are effects that answer from the record as far as it goes.
type remembered struct {
	Effects
	run *run
}

// next is the next entry of the record, nil if there is none.
func (m *remembered) next() *Entry {
	if past := m.run.past; len(past) > 0 {
		return &past[0]
	}
	return nil
}

// said is the next reply of the record, if it was asked for with this purpose.
// What the last word was asked with stands before it.
func (m *remembered) said(p Purpose) *Entry {
	for i := range m.run.past {
		e := &m.run.past[i]
		switch {
		case (e.Kind == EntryReply || e.Kind == EntryAside) && e.Purpose == p:
			return e
		case e.Kind != EntryUser:
			return nil
		}
	}
	return nil
}

func (m *remembered) Model(ctx context.Context, r ModelRequest) iter.Seq2[providers.Chunk, error] {
	e := m.said(r.Purpose)
	if e == nil {
		return m.Effects.Model(ctx, r)
	}
	return e.Chunks()
}

func (m *remembered) NewID() string {
	if e := m.next(); e != nil && e.Call != "" {
		return e.Call
	}
	return m.Effects.NewID()
}

func (m *remembered) Ask(ctx context.Context, r ApprovalRequest) (Decision, error) {
	e := m.next()
	if e == nil {
		return m.Effects.Ask(ctx, r)
	}
	return e.Decision(r.Args), nil
}

func (m *remembered) Tool(ctx context.Context, r ToolRequest) tools.Outcome {
	if e := m.next(); e != nil && (e.Kind == EntryResult || e.Kind == EntryCall) {
		return e.Outcome()
	}
	if call := m.run.repeats; call != nil && call.Call == r.Call && !call.Effect.OnlyReads() {
		text, err := m.run.agent.opts.Prompts.Text(prompts.Unknown)
		if err != nil {
			text = "its outcome is unknown: " + err.Error()
		}
		return tools.Outcome{Error: text, Unknown: true}
	}
	return m.Effects.Tool(ctx, r)
}
