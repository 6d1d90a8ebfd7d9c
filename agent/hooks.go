package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// Hooks are functions of the embedding program. They are called by the goroutine
// that ranges over the run, nil ones not at all, and return soon after ctx is
// done. An error of one ends the run as failed, with StopInternal.
type Hooks struct {
	// BeforeToolCall is asked about every call that could be read and fits its
	// tool, before anybody approves it. Allow lets the call go on to approval,
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
}

// hookError is a hook that failed, or that asked for the impossible.
type hookError struct {
	hook string
	err  error
}

func (e *hookError) Error() string { return fmt.Sprintf("the hook %s: %v", e.hook, e.err) }
func (e *hookError) Unwrap() error { return e.err }

// approval is the question whether a call may run.
func (r *run) approval(a *attempt) ApprovalRequest {
	return ApprovalRequest{
		Run: r.state.Run, Call: a.id, Name: a.call.Name, Args: a.inv.Args, Effect: a.inv.Effect, Preview: a.inv.Preview, Tainted: r.state.Tainted,
	}
}

// before asks the hook about a call. It reports whether the call goes on.
func (r *run) before(ctx context.Context, a *attempt) (bool, error) {
	hook := r.agent.opts.Hooks.BeforeToolCall
	if hook == nil || r.decided() != nil {
		return true, nil
	}
	d, err := hook(ctx, r.approval(a))
	if err != nil {
		return false, &hookError{"BeforeToolCall", err}
	}
	if d.Verdict != Allow && d.Verdict != Rehearse {
		r.refuse(a, d)
		return false, nil
	}
	if d.Args != nil {
		if bad := r.rewrite(a, d.Args); bad != nil {
			return false, &hookError{"BeforeToolCall", fmt.Errorf("its arguments for %s do not fit: %w", a.call.Name, bad)}
		}
	}
	if d.Verdict == Rehearse {
		a.rehearse()
		return false, nil
	}
	return true, nil
}

// rewrite gives a call other arguments than the model's.
func (r *run) rewrite(a *attempt, args json.RawMessage) error {
	inv, bad := r.agent.opts.Tools.Prepare(a.call.Name, args)
	if bad != nil {
		return bad
	}
	a.inv = inv
	a.rewritten = true
	return nil
}

// after lets the hook change what a call came to. If it fails, the result is
// withheld: it may be there to take something out.
func (r *run) after(ctx context.Context, a *attempt, call ToolRequest) error {
	hook := r.agent.opts.Hooks.AfterToolCall
	if hook == nil || r.decided() != nil {
		return nil
	}
	o, err := hook(ctx, call, a.outcome)
	if err != nil {
		a.outcome = tools.Outcome{Error: "the call was run, but its result is withheld", Duration: a.outcome.Duration}
		return &hookError{"AfterToolCall", err}
	}
	a.outcome = o
	return nil
}

// dry reports whether a call would change something or talk to somebody, and is
// not to.
func (r *run) dry(a *attempt) bool {
	e := a.inv.Effect
	return r.agent.opts.DryRun && r.decided() == nil && (e.Sensitive() || e&tools.Network != 0)
}

// rehearse answers a call with what it would do.
func (a *attempt) rehearse() {
	a.dryRun = true
	a.outcome.Text = fmt.Sprintf("Dry run: nothing was done. This call (%s) would have done:\n%s", a.inv.Effect, a.inv.Preview)
}

// notes tell the model about arguments that are not its own, and about permissions
// that the call did not get.
func (a *attempt) notes() string {
	note := a.note
	if a.rewritten && !a.denied {
		note = joinLines(note, "The call was run with other arguments than yours: "+protocol.Neutralise(string(a.inv.Args)))
	}
	if len(a.refused) > 0 {
		note = joinLines(note, "It ran in a sandbox, which refused: "+protocol.Neutralise(listed(a.refused))+".")
	}
	return note
}
