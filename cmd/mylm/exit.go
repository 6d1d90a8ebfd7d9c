package main

import (
	"errors"
	"fmt"
	"slices"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
)

// reported says how a finished run is reported: nil if it is complete.
func reported(p *setup.Person, r agent.Result) *failure.Error {
	f := &failure.Error{Code: failure.ExitPartial, Name: string(r.StopReason)}
	say := func(hint, format string, args ...any) *failure.Error {
		f.Err, f.Hint = fmt.Errorf(format, args...), hint
		return f
	}
	switch r.StopReason {
	case agent.StopComplete:
		return nil
	case agent.StopDenied:
		f.Code = failure.ExitDenied
		var refused *failure.Error
		if errors.As(r.Err, &refused) { // a plan that was not agreed to
			return refused
		}
		if p.Stopped {
			return say("", "stopped by you (%s)", lastCall(r))
		}
		if p.Forbidden {
			return say("mylm policy list shows the rules; mylm policy check CMD says which one it is.", "a call is forbidden, and the model found no other way (%s)", deniedCall(r))
		}
		if p.Bound != "" {
			return say("Ask again and allow it: "+p.BoundBy()+".", "a call was denied, and the model found no other way (%s)", deniedCall(r))
		}
		return say("Ask again and allow it, or allow everything in this run with --yes.", "a call was denied, and the model found no other way (%s)", deniedCall(r))
	case agent.StopMalformed:
		f.Code = failure.ExitMalformed
		return say(failure.Advice(r.Err), "stopped: %w", r.Err)
	case agent.StopInterrupted:
		f.Code, f.Err = failure.ExitInterrupted, failure.ErrInterrupted
		return f
	case agent.StopFinishOther:
		return say("", "the reply is not complete: %v", r.Err)
	case agent.StopRepeatedCall, agent.StopConsecutiveErrors:
		return say(failure.Advice(r.Err), "stopped: %w", r.Err)
	case agent.StopMaxTurns, agent.StopStuck, agent.StopNotVerified, agent.StopTimeout, agent.StopIncomplete:
		if e := limitOf(r); e != nil {
			return atLimit(e)
		}
	case agent.StopInternal:
		return &failure.Error{Code: failure.ExitError, Name: "internal", Err: r.Err, Hint: failure.Advice(r.Err)}
	}
	return failure.Of(r.Err)
}

func lastCall(r agent.Result) string {
	if len(r.Calls) == 0 {
		return "no call"
	}
	return callText(r.Calls[len(r.Calls)-1])
}

// deniedCall is the first call that was denied.
func deniedCall(r agent.Result) string {
	if i := slices.IndexFunc(r.Calls, func(c agent.CallRecord) bool { return c.Denied }); i >= 0 {
		return callText(r.Calls[i])
	}
	return lastCall(r)
}

func callText(c agent.CallRecord) string {
	return term.Visible(term.OneLine(c.Name+" "+string(c.Args), 100))
}
