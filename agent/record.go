package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// A run goes through entries of its record again in two cases: a resumed one
// through its last turn, a replayed one through all of it. What the record
// holds is taken from run.past, in its order, and nothing is written. Where
// past ends, a resumed run continues with the real effects, and a replayed one
// is over.

// ErrDiverged ends a resumed run whose record does not match how this engine
// interprets the model's reply. Nothing was done again.
var ErrDiverged = errors.New("the record was written by a version that read the reply differently")

// replayEntry takes an entry from the record instead of writing it, if the run goes
// through it again.
func (r *run) replayEntry(e Entry) (done bool, err error) {
	if len(r.toReplay) == 0 {
		if r.replay == nil {
			return false, nil
		}
		return true, r.replay.end()
	}
	was := r.toReplay[0]
	if r.replay != nil && r.replay.differs(&was, &e) || r.replay == nil && !sameStep(&was, &e) {
		r.restoreEntries()
		return true, ErrDiverged
	}
	r.toReplay = r.toReplay[1:]
	r.session.add(was)
	switch p := was.Payload.(type) {
	case ReplyEntry:
		if p.State != nil {
			r.turn.Usage = p.State.Usage
		}
		if p.Usage != nil {
			r.state.Usage = r.turn.Usage.Add(*p.Usage) // as it was counted when it came
		}
	case CallEntry:
		r.replayedCall = &p
	}
	return true, nil
}

// sameStep reports whether two entries record the same step, however it came out.
func sameStep(a, b *Entry) bool {
	nameA, argsA := callOf(a)
	nameB, argsB := callOf(b)
	return a.Kind() == b.Kind() && a.CallID() == b.CallID() && nameA == nameB && canonical(argsA) == canonical(argsB)
}

func callOf(e *Entry) (name string, args json.RawMessage) {
	switch p := e.Payload.(type) {
	case CallEntry:
		return p.Name, p.Args
	case ResultEntry:
		return p.Name, p.Args
	}
	return "", nil
}

// replayCompactions restores from the record what was done to make the next prompt fit.
func (r *run) replayCompactions() {
	for len(r.toReplay) > 0 {
		aside, ok := r.toReplay[0].Payload.(AuxiliaryEntry)
		if _, compacted := r.toReplay[0].Payload.(CompactionEntry); !compacted && (!ok || aside.Purpose != PurposeSummary) {
			return
		}
		if aside.Usage != nil {
			r.addUsage(&calling.Reply{Usage: *aside.Usage})
		}
		r.session.add(r.toReplay[0])
		r.toReplay = r.toReplay[1:]
	}
}

// restoreEntries returns what was not replayed to the session.
func (r *run) restoreEntries() {
	for _, e := range r.toReplay {
		r.session.add(e)
	}
	r.toReplay = nil
}

// finishReplay is called at the end of the run, which by then has replayed all that
// the record holds, unless it was interrupted.
func (r *run) finishReplay() {
	if len(r.toReplay) == 0 || r.replay != nil {
		return
	}
	r.restoreEntries()
	if s := &r.state; s.Stop != StopInterrupted && s.Stop != StopInternal {
		s.Stop, r.err = StopInternal, ErrDiverged
	}
}

// recordedDecision is the next entry of the record about a call that is replayed, or
// nil: the decision about the call is not made again.
func (r *run) recordedDecision() *Entry {
	if len(r.toReplay) > 0 && r.toReplay[0].CallID() != "" {
		return &r.toReplay[0]
	}
	return nil
}

// recorded are effects that answer from the record as far as it goes.
type recorded struct {
	Effects
	run *run
}

// next is the next payload of the record, or nil.
func (m *recorded) next() EntryPayload {
	if past := m.run.toReplay; len(past) > 0 {
		return past[0].Payload
	}
	return nil
}

// nextReply returns the next reply of the record, if it was asked for with this purpose.
// What the last word was asked with comes before it.
func (m *recorded) nextReply(p Purpose) *ReplyEntry {
	for _, e := range m.run.toReplay {
		switch reply := e.Payload.(type) {
		case ReplyEntry:
			if reply.Purpose == p {
				return &reply
			}
			return nil
		case AuxiliaryEntry:
			if reply.Purpose == p {
				return (*ReplyEntry)(&reply)
			}
			return nil
		case UserEntry:
		default:
			return nil
		}
	}
	return nil
}

func (m *recorded) Model(ctx context.Context, q ModelRequest) iter.Seq2[providers.Chunk, error] {
	switch reply := m.nextReply(q.Purpose); {
	case reply != nil:
		return reply.Chunks()
	case m.run.replay != nil && len(m.run.toReplay) > 0:
		return func(yield func(providers.Chunk, error) bool) {
			yield(providers.Chunk{}, m.run.replay.fault(q, &m.run.toReplay[0]))
		}
	}
	return m.Effects.Model(ctx, q)
}

func (m *recorded) NewID() string {
	if len(m.run.toReplay) > 0 {
		if _, begins := m.next().(RunEntry); begins {
			return m.run.toReplay[0].Run
		}
		if id := m.run.toReplay[0].CallID(); id != "" {
			return id
		}
	}
	return m.Effects.NewID()
}

// Ask returns the recorded decision, which the next entry holds.
func (m *recorded) Ask(ctx context.Context, r ApprovalRequest) (Decision, error) {
	switch p := m.next().(type) {
	case CallEntry:
		return Decision{Verdict: Allow, Hold: p.OnlyReads(), Args: changedArgs(r.Args, p.Args)}, nil
	case ResultEntry:
		d := p.decision(r.Args)
		if past := m.run.toReplay; p.Denied && len(past) > 1 {
			if end, ends := past[1].Payload.(EndEntry); ends && end.StopReason == StopDenied {
				d.Verdict = Stop
			}
		}
		return d, nil
	}
	if m.run.replay != nil && len(m.run.toReplay) > 0 {
		return Decision{}, m.run.replay.stopAt(&m.run.toReplay[0], "call of "+r.Name)
	}
	return m.Effects.Ask(ctx, r)
}

// decision derives the approval of a call from its result.
func (p ResultEntry) decision(args json.RawMessage) Decision {
	reason, person := strings.CutPrefix(p.Error, notAllowed)
	switch {
	case p.Denied && person:
		return Decision{Reason: strings.TrimPrefix(reason, ": ")}
	case p.Denied:
		return Decision{Verdict: Forbid, Reason: p.Error}
	case p.DryRun:
		return Decision{Verdict: Rehearse, Args: changedArgs(args, p.Args)}
	}
	return Decision{Verdict: Allow, Args: changedArgs(args, p.Args)}
}

// changedArgs returns the arguments of the record, nil if they are those.
func changedArgs(args, recorded json.RawMessage) json.RawMessage {
	if canonical(args) == canonical(recorded) {
		return nil
	}
	return recorded
}

// notAllowed begins the error of a call that was denied.
const notAllowed = "not allowed"

func (m *recorded) Tool(ctx context.Context, r ToolRequest) tools.Outcome {
	switch p := m.next().(type) {
	case ResultEntry:
		return p.Outcome()
	case CallEntry: // it ran again, with permission for what it was refused
		return tools.Outcome{Result: tools.Result{Refused: p.Refused}}
	}
	if call := m.run.replayedCall; m.run.replay == nil && call != nil && call.ID == r.Call && !call.OnlyReads() {
		text, err := m.run.agent.opts.Prompts.Text(prompts.Unknown)
		if err != nil {
			text = "its outcome is unknown: " + err.Error()
		}
		return tools.Outcome{Error: text, Unknown: true}
	}
	return m.Effects.Tool(ctx, r)
}
