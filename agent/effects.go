package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// Effects is everything a run does that does not follow from its record. The
// requests are plain data: they can be written down, looked up in a record, or
// sent to another process.
type Effects interface {
	// Model asks the model for the next reply.
	Model(context.Context, ModelRequest) iter.Seq2[providers.Chunk, error]
	// Tool runs a call that was looked up, checked and allowed.
	Tool(context.Context, ToolRequest) tools.Outcome
	// Ask decides whether a call may run.
	Ask(context.Context, ApprovalRequest) (Decision, error)
	// Info asks the backend what the model can take. Without an answer the error
	// says why.
	Info(context.Context) (providers.Info, error)
	// Now is the time.
	Now() time.Time
	// Sleep waits before another try. It returns the context's error if that is
	// done first.
	Sleep(context.Context, time.Duration) error
	// NewID is a name that no other run or call has.
	NewID() string
}

// ModelRequest names one call of the model.
type ModelRequest struct {
	Run     string `json:"run"`
	Turn    int    `json:"turn"`
	Attempt int    `json:"attempt"` // from 1
	Through int    `json:"through"` // the last session entry that the model is shown

	Purpose Purpose `json:"purpose,omitempty"`
	Results int     `json:"results,omitempty"` // how much of a tool's result is shown, in estimated tokens; 0: all
	Value   bool    `json:"value,omitempty"`   // the reply can only be the answer, which Options.AnswerSchema describes
	Until   int     `json:"until,omitempty"`   // for a summary: the last entry that should be in it
	Answer  []int   `json:"answer,omitempty"`  // for a judgement: the replies that are the answer together
	State   *State  `json:"state,omitempty"`   // for effects Elsewhere: the run's
}

// Purpose is what a model is asked for.
type Purpose string

// The purposes. Everything but a turn is asked for beside the conversation and
// without tools.
const (
	PurposeTurn     Purpose = ""
	PurposeSummary  Purpose = "summary"   // of what is no longer shown
	PurposeJudge    Purpose = "judge"     // is the answer what was asked for?
	PurposeLastWord Purpose = "last_word" // what there is to say when a limit ends the run
)

// ToolRequest names one run of a tool.
type ToolRequest struct {
	Run  string          `json:"run"`
	Call string          `json:"call"` // the call's id
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`

	Effect  tools.Effect    `json:"effect"`            // with which it was allowed; see tools.Granted
	Permits []tools.Refusal `json:"permits,omitempty"` // what it was refused before, and may do now
	Tainted bool            `json:"tainted,omitempty"` // the run has read text from outside the workspace
}

// ApprovalRequest is a call that needs a decision.
type ApprovalRequest struct {
	Run     string          `json:"run"`
	Call    string          `json:"call"` // the call's id
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Effect  tools.Effect    `json:"effect"`
	Preview string          `json:"preview"`           // what it would do, for a person
	Tainted bool            `json:"tainted"`           // the run has read text from outside the workspace
	Foreign string          `json:"foreign,omitempty"` // the call that returned it first: its name and arguments; "" if that is unknown

	// Refused is what the call was refused when it ran: it is asked whether it
	// runs again, from the start, with the permissions that it lacked.
	Refused []tools.Refusal `json:"refused,omitempty"`
}

// Verdict is what was decided about a call.
type Verdict string

// The verdicts. The zero value denies.
const (
	Deny   Verdict = ""
	Allow  Verdict = "allow"
	Stop   Verdict = "stop"   // deny, and end the run
	Forbid Verdict = "forbid" // deny by a rule, not by a person: the model gets Reason as it is

	Rehearse Verdict = "rehearse" // do not run it: the model learns what it would have done
)

// Decision is an answer to an ApprovalRequest.
type Decision struct {
	Verdict Verdict         `json:"verdict"`
	Reason  string          `json:"reason,omitempty"` // for the model, when denied
	Args    json.RawMessage `json:"args,omitempty"`   // run with these instead; nil: as asked

	// Hold allows no more than reading, of a tool that keeps itself to what it was
	// granted, as a command in a sandbox does. It is asked about what it lacks.
	Hold bool `json:"hold,omitempty"`
}

// Approve decides whether a call may run. It is asked about every call,
// harmless ones too, and returns soon after ctx is done. An error ends the run.
type Approve func(ctx context.Context, r ApprovalRequest) (Decision, error)

// AllowAll is an Approve that allows every call.
func AllowAll(context.Context, ApprovalRequest) (Decision, error) {
	return Decision{Verdict: Allow}, nil
}

// AllowReads is an Approve that allows what only reads. It is the default.
func AllowReads(_ context.Context, r ApprovalRequest) (Decision, error) {
	if r.Effect.OnlyReads() {
		return Decision{Verdict: Allow}, nil
	}
	return Decision{Reason: "only reading is allowed here"}, nil
}

// realEffects is the Effects of a run that really happens.
type realEffects struct {
	agent   *Agent
	session *Session
	view    *view // of the session; what is not in it yet is taken in

	looked, blind bool // whether the model was asked if it sees, and that it does not
	loose         bool // the server does not take the schema of the answer
}

func (w *realEffects) Model(ctx context.Context, q ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		messages, err := w.messages(q)
		if err != nil {
			yield(providers.Chunk{}, &engineError{err})
			return
		}
		if hook := w.agent.opts.Hooks.TransformContext; hook != nil && q.Purpose == PurposeTurn {
			if messages, err = hook(ctx, slices.Clone(messages)); err != nil {
				yield(providers.Chunk{}, &engineError{hookFailed("TransformContext", err)})
				return
			}
		}
		request := w.agent.request(messages)
		if request.HasImages() {
			request.Messages = w.visible(ctx, w.session.snapshot()[:q.Through], request)
		}
		if q.Value && !w.loose {
			request.Format = w.agent.answer.Constraint()
		}
		reports := reportsOf(ctx)
		request.Status, request.Notice = reports.status, reports.notice
		if request.Format == nil {
			w.agent.opts.Model.Generate(ctx, request)(yield)
			return
		}
		begun := false
		for c, err := range w.agent.opts.Model.Generate(ctx, request) {
			if !begun && refusesSchema(err) {
				w.loose = true // servers know different parts of JSON Schema
				if request.Format = nil; reports.notice != nil {
					reports.notice(fmt.Sprintf("the server does not constrain the answer by this schema (%v); what the model writes is checked all the same", err))
				}
				w.agent.opts.Model.Generate(ctx, request)(yield)
				return
			}
			if begun = true; !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// engineError is a failure of the engine's own where errors of the model come
// from.
type engineError struct{ err error }

func (e *engineError) Error() string { return e.err.Error() }
func (e *engineError) Unwrap() error { return e.err }

// refusesSchema reports whether an error may mean that the server does not take a
// schema: the request is wrong, or fails for good.
func refusesSchema(err error) bool {
	var e *providers.Error
	return errors.As(err, &e) && (e.Kind == providers.BadRequest || e.Kind == providers.ServerFault && !e.Temporary())
}

func (w *realEffects) Tool(ctx context.Context, r ToolRequest) tools.Outcome {
	inv := tools.Invocation{Tool: w.agent.opts.Tools.Lookup(r.Name), Args: r.Args, Effect: r.Effect, Permits: r.Permits, Tainted: r.Tainted}
	outcome := inv.Run(ctx, w.agent.timeout(&inv))
	if len(outcome.Images) > 0 {
		if info, err := w.Info(ctx); err != nil || info.Sees != providers.Able {
			outcome.Images = nil
		}
	}
	return outcome
}

func (w *realEffects) Ask(ctx context.Context, r ApprovalRequest) (Decision, error) {
	return w.agent.opts.Approve(ctx, r)
}

func (w *realEffects) Info(ctx context.Context) (providers.Info, error) {
	informer, ok := w.agent.opts.Model.(providers.Informer)
	if !ok {
		return providers.Info{}, errors.ErrUnsupported
	}
	return informer.Info(ctx)
}

func (w *realEffects) Now() time.Time { return time.Now() }

func (w *realEffects) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (w *realEffects) NewID() string { return newID() }

// newID is short enough to type and long enough (65 bits) that two never meet.
func newID() string { return strings.ToLower(rand.Text()[:13]) }

type reportsKey struct{}

// reports are functions that a model call may report to. They reach it through the
// context: a request that can be written down cannot hold one.
type reports struct{ status, notice func(string) }

func (r reports) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, reportsKey{}, r)
}

func reportsOf(ctx context.Context) reports {
	r, _ := ctx.Value(reportsKey{}).(reports)
	return r
}

// Hooks are functions of the embedding program. They are called by the goroutine
// that ranges over the run, nil ones not at all, and return soon after ctx is
// done. An error of one ends the run as failed, with StopInternal.
type Hooks struct {
	// BeforeToolCall is asked about every call that could be read and fits its
	// tool, before anybody approves it. Allow passes the call on to approval,
	// with other arguments if the Decision has some; they must fit the tool.
	// Rehearse answers it at once. Anything else refuses it as an Approve would.
	BeforeToolCall Approve

	// AfterToolCall is given what a call that ran came to, and returns what is
	// recorded and shown to the model.
	AfterToolCall func(ctx context.Context, call ToolRequest, o tools.Outcome) (tools.Outcome, error)

	// TransformContext is given the messages of a turn and returns those that
	// are sent. It may change its argument; the session is not affected. What
	// it returns should fit the window: nothing is cut after it. It is called
	// again when a passing fault is retried.
	TransformContext func(ctx context.Context, messages []providers.Message) ([]providers.Message, error)

	// Observe is called when a run begins or is resumed, not when it is replayed. The
	// run goes on with the context that it returns, which is to be made from the one that
	// it is given, and which reaches the model and the tools. The function that it
	// returns, which may be nil, is given every event of the run before the consumer is,
	// and also after the consumer has left; the last is a FinalResponse. A plan is
	// observed as well: its own events, one at a time, and each run of its tasks, with a
	// context made from that of the plan. Tasks that run at once are observed at once.
	Observe func(ctx context.Context, of Observed) (context.Context, func(Event))
}

// Observed is what a hook observes.
type Observed struct {
	Session *Session
	Plan    bool   // it is a plan, whose tasks are runs
	Task    string // of the plan that a run belongs to; "": it belongs to none, or is about the plan
}

// hookFailed is the error of a hook that failed, or that asked for the impossible.
func hookFailed(hook string, err error) error { return fmt.Errorf("the hook %s: %w", hook, err) }

// approval is the question whether a call may run.
func (r *run) approval(a *attempt) ApprovalRequest {
	q := ApprovalRequest{
		Run: r.state.Run, Call: a.id, Name: a.call.Name, Args: a.inv.Args, Effect: a.inv.Effect, Preview: a.inv.Preview, Tainted: r.state.Tainted,
	}
	if !q.Tainted {
		return q
	}
	if p := r.session.foreign(); p != nil {
		q.Foreign = p.Name + " " + string(p.Args)
	}
	return q
}

// beforeHook asks the hook about a call and reports whether the call continues.
func (r *run) beforeHook(ctx context.Context, a *attempt) (allowed bool, err error) {
	hook := r.agent.opts.Hooks.BeforeToolCall
	if hook == nil || r.recordedDecision() != nil {
		return true, nil
	}
	d, err := hook(ctx, r.approval(a))
	if err != nil {
		return false, hookFailed("BeforeToolCall", err)
	}
	allowed, bad := r.apply(a, d)
	if bad != nil {
		return false, hookFailed("BeforeToolCall", fmt.Errorf("its arguments for %s do not fit: %w", a.call.Name, bad))
	}
	return allowed, nil
}

// afterHook lets the hook change a call's outcome. If it fails, the result is
// withheld: it may be there to take something out.
func (r *run) afterHook(ctx context.Context, a *attempt, call ToolRequest) error {
	hook := r.agent.opts.Hooks.AfterToolCall
	if hook == nil || r.recordedDecision() != nil {
		return nil
	}
	o, err := hook(ctx, call, a.outcome)
	if err != nil {
		a.outcome = tools.Outcome{Error: "the call was run, but its result is withheld", Duration: a.outcome.Duration}
		return hookFailed("AfterToolCall", err)
	}
	a.outcome = o
	return nil
}

// isDryRun reports whether a call would change something or use the network in a
// dry run.
func (r *run) isDryRun(a *attempt) bool {
	e := a.inv.Effect
	return r.agent.opts.DryRun && r.recordedDecision() == nil && (e.Sensitive() || e&tools.Network != 0)
}

// rehearse answers a call of a dry run with what it would do.
func (a *attempt) rehearse() {
	a.dryRun = true
	a.outcome.Text = fmt.Sprintf("Dry run: nothing was done. This call (%s) would have done:\n%s", a.inv.Effect, a.inv.Preview)
}

// notes inform the model about arguments that are not its own, and about
// permissions that the call did not get.
func (a *attempt) notes() string {
	note := a.note
	if a.rewritten && !a.denied {
		note = joinLines(note, "The call ran with different arguments: "+protocol.Neutralise(string(a.inv.Args)))
	}
	if lacked := joinRefusals(a.refused); lacked != "" {
		note = joinLines(note, "It ran in a sandbox, which refused: "+protocol.Neutralise(lacked)+".")
	}
	return note
}
