package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// run is one run while it lasts. Only the goroutine that ranges over the events
// touches it.
type run struct {
	agent        *Agent
	session      *Session
	effects      Effects
	state        State
	yield        func(Event, error) bool
	cancel       context.CancelFunc // cancels the current model call or tool when the consumer leaves
	consumerLeft bool               // no event is wanted any more
	yielding     bool               // the consumer is handling an event
	observer     func(Event)        // nil: there is none
	elsewhere    bool               // the effects are Elsewhere
	resumed      bool               // the run continues the session's last one
	toReplay     []Entry            // recorded entries that are still to be replayed
	replay       *replay            // the run is only compared with its record; nil: it happens
	replayedCall *CallEntry         // the last call that was replayed
	turn         State              // as it was when the turn began
	request      int                // the entry of what was asked
	err          error              // why the run did not complete
	view         view               // of the session, as the model is shown it

	switched      bool // the record is of another model
	countsLate    bool // the backend does not report its counts soon after a call
	failedSummary int  // size of the prompt when a summary made it no smaller; the next one waits until it has doubled

	evaluation *Evaluation // of the answer
}

// loop runs turns until one of them, or a limit, ends the run.
func (r *run) loop(ctx context.Context, prompt PromptEntry) {
	s := &r.state
	if hook := r.agent.opts.Hooks.Observe; hook != nil && r.replay == nil {
		ctx, r.observer = hook(ctx, Observed{Session: r.session})
	}
	if err := r.start(ctx, prompt); err != nil {
		r.stop(StopInternal, err)
	}
	r.request = lastOf[PromptEntry](r.session.snapshot()) + 1
	for s.Stop == "" {
		switch {
		case ctx.Err() != nil:
			r.stop(cancelled(ctx))
		case !r.turnsLeft():
			r.turnLimit()
		default:
			r.step(ctx)
			r.verify(ctx)
		}
	}
	r.lastWord(ctx)
	r.end(ctx)
}

// turnLimit ends the run at MaxTurns, its limit of turns, in the middle of an answer if
// the length limit cut the last reply.
func (r *run) turnLimit() {
	e := &LimitError{Reason: StopMaxTurns, Limit: "MaxTurns", Value: r.state.Turn,
		Message: "stopped after " + tools.Count(r.state.Turn, "turn") + " without an answer"}
	if n := len(r.state.Continued); n > 0 {
		replies := strings.TrimPrefix(tools.Count(n, "reply"), "1 ")
		e.Limit, e.Value = "MaxTokens", r.agent.opts.MaxTokens
		e.Message += ": the length limit cut the last " + replies + ", and the answer is not complete"
	}
	r.limit(e)
}

func (r *run) turnsLeft() bool { return r.state.Turn < r.agent.opts.MaxTurns }

// recordStart records the begin of a run. One is tainted from the beginning if its session is: in
// a conversation every message behind foreign text.
func (r *run) recordStart(ctx context.Context, prompt PromptEntry) error {
	if r.session.ID == "" {
		r.session.ID = newID()
	}
	r.state.Tainted = r.agent.opts.Tainted || r.session.Tainted()
	form := r.agent.form(r.session)
	system, err := r.agent.systemPrompt(r.state.Started, form)
	if err != nil {
		return err
	}
	setup := r.agent.setup(form)
	r.limitResults()
	r.carryOver(ctx, setup, system)
	if err := r.record(ctx, RunEntry{System: system, Setup: setup}); err != nil || r.resumed {
		return err
	}
	return r.record(ctx, prompt)
}

// step is one turn: fit, think, then answer or act and observe. What ends the
// run calls stop; a reply that the backend ended for another reason ends it as FinishOther.
func (r *run) step(ctx context.Context) {
	s := &r.state
	s.Turn++
	r.turn = *s
	r.emit(TurnStart{})
	acted := false
	var reply *reply
	err := r.fit(ctx)
	if err == nil {
		reply, err = r.think(ctx, PurposeTurn)
	}
	if err == nil {
		err = r.recordReply(ctx, reply)
	}
	switch {
	case err != nil:
		r.fail(ctx, err)
		r.recordPartial(ctx, reply)
	case reply.Fault != nil:
		r.correct(ctx, reply)
	case reply.Call != nil:
		acted = true
		r.act(ctx, reply)
	case reply.Stop == providers.StopLength:
		r.continueReply(ctx)
	case !calling.EndsByItself(reply.Stop):
		r.stop(StopFinishOther, fmt.Errorf("the backend ended the reply with %q", reply.Stop))
	case s.Denied:
		r.stop(StopDenied, nil)
	default:
		r.stop(StopComplete, nil)
	}
	r.emit(TurnEnd{HasToolCalls: acted})
}

// recordReply records a reply. A call is kept in the session's form whatever the model
// wrote, and nothing that came after it is kept.
func (r *run) recordReply(ctx context.Context, reply *reply) error {
	s := &r.state
	r.addUsage(&reply.Reply)
	if r.replay != nil {
		r.replay.noteReading(reply)
	}
	e := reply.entry(PurposeTurn)
	e.Answer, e.Whole, e.Error, e.State = reply.Answer, reply.Whole, reply.broken, new(r.turn)
	switch {
	case reply.Call != nil:
		if e.Text = strings.TrimRight(e.Text, " \t\r\n"); e.Text != "" {
			e.Text += "\n"
		}
		e.Text += r.agent.form(r.session).Call(reply.Call.Name, reply.Call.Args)
		s.Continued = nil
	case reply.Fault != nil:
		e.Text += shorten(reply.Fault.Raw, maxUnreadable)
		s.Continued = nil
	case reply.broken != "":
		e.Text = shorten(e.Text, maxPartial)
	default:
		s.Malformed, s.Insisted = 0, false
	}
	if shown := strings.TrimSpace(reply.Text); shown != "" {
		s.Message = shown
	}
	return r.record(ctx, e)
}

// maxUnreadable is what the model is shown, in tokens, of an unreadable call: enough
// to see what it wrote.
const maxUnreadable = 600

// continueReply asks for the rest of a reply that a length limit cut. The answer
// joins both.
func (r *run) continueReply(ctx context.Context) {
	r.state.Continued = append(r.state.Continued, r.session.last())
	if !r.turnsLeft() {
		return
	}
	text, err := r.agent.opts.Prompts.Text("continue")
	if err == nil {
		err = r.record(ctx, UserEntry{text})
	}
	if err != nil {
		r.fail(ctx, err)
		return
	}
	r.emit(Notice{Code: NoticeContinued, Text: "the length limit cut the reply: asking for the rest"})
}

// modelError is an error that came from the model.
type modelError struct{ err error }

func (e *modelError) Error() string { return e.err.Error() }
func (e *modelError) Unwrap() error { return e.err }

// fail ends the run with an error: of the backend, by its kind, or of the
// engine's own, which is its record, its templates, a hook, or the function that
// approves.
func (r *run) fail(ctx context.Context, err error) {
	var model *modelError
	var limit *LimitError
	fromModel := errors.As(err, &model)
	switch kind := providers.KindOf(err); {
	case ctx.Err() != nil && (fromModel || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		r.stop(cancelled(ctx))
	case fromModel && kind == "" && errors.As(err, &limit):
		r.stop(limit.Reason, limit)
	case !fromModel:
		r.emit(Error{Source: "engine", Message: err.Error()})
		r.stop(StopInternal, err)
	case kind == providers.Overflow:
		r.stop(StopContextFull, model.err)
	case kind == providers.Stalled:
		r.stop(StopTimeout, model.err)
	default:
		r.emit(Error{Source: "model", Message: err.Error()})
		r.stop(StopModelError, model.err)
	}
}

// stop ends the run after this turn. The first reason counts.
func (r *run) stop(reason StopReason, err error) {
	if r.state.Stop == "" {
		r.state.Stop, r.err = reason, err
	}
}

// end closes the record and hands over the result.
func (r *run) end(ctx context.Context) {
	s := &r.state
	r.finishReplay()
	if r.session.last() >= s.First { // else the record has no run to end
		// The end is recorded even if the context is done: a reader should see why
		// the run stopped.
		recorded := r.record(context.WithoutCancel(ctx), EndEntry{StopReason: s.Stop, Error: message(r.err), State: s.backendState()})
		if recorded != nil && s.Stop.Status() != Failed {
			s.Stop, r.err = StopInternal, recorded
		}
	}
	result := r.result()
	r.session.setResult(result)
	r.emit(FinalResponse{Result: result})
	if r.consumerLeft {
		return
	}
	switch {
	case result.Status == Failed, s.Stop == StopInterrupted:
		r.yield(Event{}, result.Err)
	}
}

// result is what the run has to show. Without an answer or a last word that is its last text.
func (r *run) result() Result {
	s := &r.state
	result := Result{
		Run: s.Run, Session: r.session.ID, Status: s.Stop.Status(), StopReason: s.Stop, Turns: s.Turn,
		Response: s.Message, Calls: []CallRecord{}, Usage: s.Usage, UsagePartial: s.UsagePartial,
		Duration: r.effects.Now().Sub(s.Started), Err: r.err, Evaluation: r.evaluation, Tainted: s.Tainted,
	}
	if r.replay == nil { // else each run of a session would copy all before it
		result.Messages = r.session.Messages()
	}
	entries := r.session.snapshot()
	var last []int
	for _, e := range entries[min(s.First-1, len(entries)):] {
		switch p := e.Payload.(type) {
		case ResultEntry:
			result.Calls = append(result.Calls, CallRecord{Name: p.Name, Args: p.Args, Success: p.Success, Denied: p.Denied, Skipped: p.Skipped, DryRun: p.DryRun, Blocked: p.Blocked})
		case ReplyEntry:
			last = []int{e.Seq}
		}
	}
	switch {
	case s.Stop == StopComplete && r.agent.answer != nil:
		value, _ := r.agent.answer.Read(answerIn(entries, slices.Concat(s.Continued, last)...))
		result.Response = string(value)
	case s.Closing > 0:
		result.Response = strings.TrimSpace(answerIn(entries, s.Closing))
	case s.Stop == StopComplete, s.Stop == StopDenied, s.Stop == StopFinishOther, s.Stop == StopNotVerified:
		result.Response = strings.TrimSpace(answerIn(entries, slices.Concat(s.Continued, last)...))
	default:
		if text := strings.TrimSpace(answerIn(entries, s.Continued...)); text != "" || s.Stop == StopInterrupted || s.Stop == StopModelError || s.Stop == StopContextFull {
			result.Response = text
		}
	}
	return result
}

// answerIn is the answer in the replies with these sequence numbers, each of which
// continues the one before it.
func answerIn(entries []Entry, replies ...int) string {
	answer := ""
	for _, seq := range replies {
		reply, _ := entries[seq-1].Payload.(ReplyEntry)
		if answer += reply.Answer; reply.Whole != "" {
			answer = reply.Whole
		}
	}
	return answer
}

// record writes an entry, after all those before it, and adds it to
// the session.
func (r *run) record(ctx context.Context, p EntryPayload) error {
	e := Entry{Session: r.session.ID, Seq: r.session.last() + 1, Time: r.effects.Now(), Run: r.state.Run, Turn: r.state.Turn, Payload: p}
	if again, err := r.replayEntry(e); again {
		return err
	}
	for _, earlier := range r.session.unrecorded() {
		if err := r.write(ctx, earlier); err != nil {
			return err
		}
	}
	if err := r.write(ctx, e); err != nil {
		return err
	}
	r.session.add(e)
	return nil
}

// write hands an entry to the recorder.
func (r *run) write(ctx context.Context, e Entry) error {
	e.Session = r.session.ID
	if rec := r.agent.opts.Recorder; rec != nil {
		if err := rec.Append(ctx, e); err != nil {
			return fmt.Errorf("the session could not be recorded: %w", err)
		}
	}
	r.session.markRecorded(e.Seq)
	return nil
}

// emit hands an event to who observes the run, and to the consumer unless it has left.
func (r *run) emit(p Payload) {
	if r.consumerLeft && r.observer == nil || len(r.toReplay) > 0 { // what is replayed was shown
		return
	}
	r.state.Events++
	ev := Event{Run: r.state.Run, Seq: r.state.Events, Turn: r.state.Turn, Time: r.effects.Now(), Payload: p}
	if r.observer != nil {
		r.observer(ev)
	}
	if r.consumerLeft {
		return
	}
	r.yielding = true
	more := r.yield(ev, nil)
	if r.yielding = false; !more {
		r.consumerLeft = true
		r.cancel()
	}
}
