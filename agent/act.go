package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers/calling"
	"mylm/tools"
)

// attempt is one call of the model on its way: looked up, perhaps refused,
// perhaps run.
type attempt struct {
	id      string
	call    *protocol.ToolCall
	inv     *tools.Invocation // nil: it could not be looked up
	outcome tools.Outcome
	denied  bool
	skipped bool
	dryRun  bool   // not run: the result says what it would do
	note    string // added below the result for the model

	rewritten bool // the arguments are not the model's own

	permits []tools.Refusal // what it was refused, and then allowed
	refused []tools.Refusal // what it was refused for good
}

// args are those that ran, or would have run.
func (a *attempt) args() json.RawMessage {
	if a.inv != nil {
		return a.inv.Args
	}
	return a.call.Args
}

// act runs the call of a reply, if it may, and records what came of it.
func (r *run) act(ctx context.Context, reply *reply) {
	r.state.Malformed, r.state.Insisted = 0, false
	a := &attempt{id: r.effects.NewID(), call: reply.Call}
	if reply.Dropped {
		var err error
		if a.note, err = r.agent.opts.Prompts.Text(prompts.OnlyFirst); err != nil {
			r.fail(ctx, err)
			return
		}
	}
	inv, bad := r.agent.opts.Tools.Prepare(a.call.Name, a.call.Args)
	a.inv = inv
	switch {
	case r.repeated(a):
		a.skipped = true
		a.outcome.Error = "not run: the same call was just made"
	case bad != nil:
		text, err := r.corrections().Refused(bad)
		if err != nil {
			r.fail(ctx, err)
			return
		}
		var form string
		a.outcome.Error, form = calling.SplitForm(text)
		a.note = joinLines(a.note, form)
	default:
		if err := r.attempt(ctx, a); err != nil {
			r.fail(ctx, err)
			return
		}
	}
	if err := r.observe(ctx, a); err != nil {
		r.fail(ctx, err)
		return
	}
	r.updateBreakers(a)
}

// attempt has the call approved and runs it. A refusal becomes a failed
// outcome for the model; an error is the engine's.
func (r *run) attempt(ctx context.Context, a *attempt) error {
	allowed, err := r.beforeHook(ctx, a)
	if !allowed {
		return err
	}
	decision := Decision{Verdict: Rehearse}
	if !r.isDryRun(a) {
		if decision, err = r.effects.Ask(ctx, r.approval(a)); err != nil {
			return err
		}
	}
	allowed, bad := r.apply(a, decision)
	if bad != nil {
		a.outcome.Error = bad.Error()
	}
	if !allowed {
		return nil
	}
	if decision.Hold {
		a.inv.Effect = tools.Reads
	}
	var lacked []tools.Refusal
	for {
		codes := repairs(a.call, a.inv)
		effect := a.inv.Effect
		if err := r.record(ctx, CallEntry{ID: a.id, Name: a.call.Name, Args: a.inv.Args, Effect: &effect, Repairs: codes, Refused: lacked}); err != nil {
			return err
		}
		r.emit(ToolCall{ID: a.id, Name: a.call.Name, Args: a.inv.Args, Effect: effect, Preview: a.inv.Preview, Repairs: codes, Refused: lacked})
		call := ToolRequest{Run: r.state.Run, Call: a.id, Name: a.call.Name, Args: a.inv.Args, Effect: effect, Permits: a.permits, Tainted: r.state.Tainted}
		a.outcome = r.runTool(ctx, a.inv, call)
		var err error
		if lacked, err = r.permit(ctx, a); err != nil {
			return err
		}
		if lacked != nil {
			continue
		}
		if err := r.afterHook(ctx, a, call); err != nil {
			r.fail(ctx, err) // what was done is recorded all the same
		}
		return nil
	}
}

// maxPermits bounds how many permissions a call is given: after so many runs from
// the start it is refused what it lacks.
const maxPermits = 20

// permit asks whether a call that was refused something runs again with
// permission for it, and returns what that is; nil if it does not. Each
// permission is asked for once, so that this ends.
func (r *run) permit(ctx context.Context, a *attempt) (lacked []tools.Refusal, err error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	question := r.approval(a)
	for _, f := range a.outcome.Refused {
		had := question.Effect&f.Effect&(tools.Writes|tools.Runs|tools.Network) != 0 // the others are about one path each
		if !had && !slices.Contains(a.permits, f) && !slices.Contains(lacked, f) && len(a.permits)+len(lacked) < maxPermits {
			lacked = append(lacked, f)
		}
	}
	if lacked == nil {
		return nil, nil
	}
	for _, f := range lacked {
		question.Effect |= f.Effect
	}
	question.Refused = lacked
	d, err := r.effects.Ask(ctx, question)
	if err != nil {
		return nil, err
	}
	if d.Verdict != Allow {
		a.refused = lacked
		r.refuse(a, d)
		return nil, nil
	}
	a.inv.Effect, a.permits = question.Effect, append(a.permits, lacked...)
	return lacked, nil
}

// joinRefusals joins the permissions that a call which ran had not got.
func joinRefusals(refused []tools.Refusal) string {
	var all []string
	for _, f := range refused {
		if f.Effect != 0 {
			all = append(all, f.String())
		}
	}
	return strings.Join(all, "; ")
}

// apply carries out a decision about a call and reports whether the call may run.
// The error is that its other arguments do not fit the tool.
func (r *run) apply(a *attempt, d Decision) (allowed bool, bad error) {
	if d.Verdict != Allow && d.Verdict != Rehearse {
		r.refuse(a, d)
		return false, nil
	}
	if d.Args != nil {
		inv, bad := r.agent.opts.Tools.Prepare(a.call.Name, d.Args)
		if bad != nil {
			return false, bad
		}
		a.inv, a.rewritten = inv, true
	}
	if d.Verdict == Rehearse {
		a.rehearse()
	}
	return d.Verdict == Allow, nil
}

// refuse turns a decision against a call (a rule, or the answer n or s) into its result
// for the model; s ends the run.
func (r *run) refuse(a *attempt, d Decision) {
	a.denied = true
	a.outcome.Error = notAllowed
	switch {
	case d.Reason == "":
	case d.Verdict == Forbid:
		a.outcome.Error = d.Reason
	default:
		a.outcome.Error += ": " + d.Reason
	}
	if d.Verdict == Stop {
		r.stop(StopDenied, nil)
	}
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func repairs(call *protocol.ToolCall, inv *tools.Invocation) []string {
	var codes []string
	for _, x := range call.Repairs {
		codes = append(codes, x.Code)
	}
	for _, x := range inv.Repairs {
		codes = append(codes, x.Code)
	}
	return codes
}

// observe records what came of a call, even if the context is done by then: the
// call was made.
func (r *run) observe(ctx context.Context, a *attempt) error {
	o := a.outcome
	var images []Image
	if len(o.Images) > 0 {
		images = resultImages(o.Images)
	}
	if err := r.record(context.WithoutCancel(ctx), ResultEntry{
		ID: a.id, Name: a.call.Name, Args: a.args(), Success: o.Success(), Text: o.Text, Error: o.Error,
		Denied: a.denied, Skipped: a.skipped, Unknown: o.Unknown, DryRun: a.dryRun, Origin: o.Origin, Note: a.notes(), ExitCode: o.ExitCode,
		Truncated: o.Truncated, Gap: o.Gap, Duration: o.Duration, Refused: a.refused, Blocked: o.Blocked, Images: images,
	}); err != nil {
		return err
	}
	if o.Stack != "" {
		r.emit(Error{Source: "tool", Message: o.Error + "\n" + o.Stack})
	}
	r.emit(ToolOutput{
		ID: a.id, Name: a.call.Name, Args: a.args(), Success: o.Success(), Output: o.Text, Error: o.Error, Denied: a.denied, Skipped: a.skipped, DryRun: a.dryRun,
		ExitCode: o.ExitCode, Truncated: o.Truncated, Origin: o.Origin, Duration: o.Duration,
		Refused: a.refused, Blocked: o.Blocked,
	})
	return nil
}

// stopGrace is how long a tool may take to return after it was cancelled.
const stopGrace = 5 * time.Second

// runTool runs a tool in a goroutine of its own, since only the loop's may
// yield: it passes the tool's progress on, and abandons a tool that ignores
// its context. A panic that is not the tool's own surfaces here. Of a tool that runs
// elsewhere there is no progress, and it is not abandoned.
func (r *run) runTool(ctx context.Context, inv *tools.Invocation, request ToolRequest) tools.Outcome {
	if r.elsewhere {
		return r.effects.Tool(ctx, request)
	}
	type end struct {
		outcome  tools.Outcome
		panicked any
	}
	progress := make(chan string, 64)
	done := make(chan end, 1)
	toolCtx := tools.WithProgress(ctx, func(text string) {
		select {
		case progress <- text:
		default: // a slow consumer loses live output, never the result
		}
	})
	go func() {
		e := end{outcome: tools.Outcome{Error: "the tool ended without a result"}} // as by runtime.Goexit
		defer func() {
			e.panicked = recover()
			done <- e
		}()
		e.outcome = r.effects.Tool(toolCtx, request)
	}()
	report := func(text string) { r.emit(ToolProgress{ID: request.Call, Text: text}) }

	timeout := r.agent.timeout(inv)
	abandon := make(chan struct{}, 2)
	grace := tools.NewAlarm(timeout+stopGrace, func() { abandon <- struct{}{} })
	defer grace.Stop()
	unheeded := fmt.Sprintf("timed out after %v", timeout)
	cancelled := ctx.Done()
	for {
		select {
		case text := <-progress:
			report(text)
		case e := <-done:
			for len(progress) > 0 {
				report(<-progress)
			}
			if e.panicked != nil {
				panic(e.panicked)
			}
			return e.outcome
		case <-cancelled:
			cancelled = nil
			unheeded = "cancelled"
			grace.Reset(stopGrace)
		case <-abandon:
			if len(done) > 0 {
				continue
			}
			return tools.Outcome{Error: unheeded + ", but the tool did not stop: its outcome is unknown"}
		}
	}
}

// timeout is how long a call may take.
func (a *Agent) timeout(inv *tools.Invocation) time.Duration {
	return cmp.Or(inv.Tool.Timeout, a.opts.ToolTimeout)
}

// correct sends the model a correction of a malformed reply, or one that is empty or only
// thought, and ends the run after too many of them.
func (r *run) correct(ctx context.Context, reply *reply) {
	f := reply.Fault
	r.state.Malformed++
	r.state.Insisted = f.Reason == protocol.UnknownForm || f.Reason == protocol.FencedCall && f.Raw == ""
	last := r.state.Malformed >= r.agent.opts.MaxMalformed
	r.emit(Error{Source: "format", Reason: string(f.Reason), Message: f.Error(), Again: !last && r.turnsLeft()})
	if last {
		r.stop(StopMalformed, &LimitError{Reason: StopMalformed, Limit: "MaxMalformed", Value: r.state.Malformed, Err: f,
			Message: fmt.Sprintf("%s in a row could not be read (the last: %v)", tools.Count(r.state.Malformed, "reply"), f)})
		return
	}
	text, err := r.corrections().Malformed(f)
	if err == nil {
		err = r.record(ctx, UserEntry{text})
	}
	if err != nil {
		r.fail(ctx, err)
	}
}

func (r *run) corrections() calling.Corrections {
	return calling.Corrections{Prompts: r.agent.opts.Prompts, Tools: r.agent.opts.Tools, Form: r.agent.form(r.session)}
}
