package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/providers"
)

// Exit codes; io.go has the table.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitDenied      = 4
	exitPartial     = 5
	exitMalformed   = 6
	exitContextFull = 7
	exitTimeout     = 124
	exitInterrupted = 130
)

// failure is an error that knows its exit code, its name in --json, and what
// to do about it.
type failure struct {
	code int
	name string
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usageError is a wrong command line.
func usageError(format string, args ...any) *failure {
	return &failure{code: exitUsage, name: "usage", err: fmt.Errorf(format, args...)}
}

// configError is a wrong configuration.
func configError(err error) *failure {
	return &failure{code: exitUsage, name: "config", err: err}
}

func (f *failure) withHint(hint string) *failure {
	f.hint = hint
	return f
}

// asFailure classes any error.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, context.Canceled) {
		return &failure{code: exitInterrupted, name: string(agent.StopInterrupted), err: errInterrupted}
	}
	var p *providers.Error
	if !errors.As(err, &p) {
		return &failure{code: exitError, name: "internal", err: err}
	}
	f = &failure{code: exitError, name: string(agent.StopModelError), err: err, hint: p.Hint}
	switch p.Kind {
	case providers.Unreachable, providers.ModelMissing:
		f.code, f.name = exitUnreachable, string(p.Kind)
	case providers.Overflow:
		f.code, f.name = exitContextFull, string(agent.StopContextFull)
	case providers.Stalled:
		f.code, f.name = exitTimeout, string(agent.StopTimeout)
	}
	return f
}

var errInterrupted = errors.New("interrupted")

// inARow is how many failed calls, or unreadable replies, end a run: the agent's
// own default.
const inARow = 3

// outcome says how a finished run is reported: nil if it is complete.
func (p *person) outcome(r agent.Result) *failure {
	f := &failure{code: exitPartial, name: string(r.StopReason)}
	say := func(hint, format string, args ...any) *failure {
		f.err, f.hint = fmt.Errorf(format, args...), hint
		return f
	}
	switch r.StopReason {
	case agent.StopComplete:
		return nil
	case agent.StopRepeatedCall:
		return say("The model goes in circles: put the question differently, or try a larger model.", "stopped: the model made the same call twice in a row (%s)", lastCall(r))
	case agent.StopConsecutiveErrors:
		return say("The log above says what failed.", "stopped: %d tool calls in a row failed", inARow)
	case agent.StopDenied:
		f.code = exitDenied
		var refused *failure
		if errors.As(r.Err, &refused) { // a plan that was not agreed to
			return refused
		}
		if p.stopped {
			return say("", "stopped by you (%s)", lastCall(r))
		}
		if p.forbidden {
			return say("mylm policy list shows the rules; mylm policy check CMD says which one it is.", "a call is forbidden, and the model found no other way (%s)", deniedCall(r))
		}
		if p.bound != "" {
			return say("Ask again and allow it: "+p.boundBy()+".", "a call was denied, and the model found no other way (%s)", deniedCall(r))
		}
		return say("Ask again and allow it, or allow everything in this run with --yes.", "a call was denied, and the model found no other way (%s)", deniedCall(r))
	case agent.StopMalformed:
		f.code = exitMalformed
		return say("The model does not keep to the form for tool calls. Try a larger model, or --think off if it only thinks.",
			"stopped: %d replies in a row could not be read (the last: %v)", inARow, r.Err)
	case agent.StopInterrupted:
		f.code, f.err = exitInterrupted, errInterrupted
		return f
	case agent.StopFinishOther:
		return say("", "the reply is not complete: %v", r.Err)
	case agent.StopMaxTurns, agent.StopStuck, agent.StopNotVerified, agent.StopTimeout, agent.StopIncomplete:
		if e := limitOf(r); e != nil {
			return atLimit(e)
		}
	case agent.StopInternal:
		return &failure{code: exitError, name: "internal", err: r.Err}
	}
	return asFailure(r.Err)
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
	return visible(oneLine(c.Name+" "+string(c.Args), 100))
}

// report prints a failure on stderr.
func (f *failure) report(s *screen) {
	s.say("mylm: " + f.Error())
	if f.hint != "" {
		s.say("  " + strings.ReplaceAll(strings.TrimSpace(f.hint), "\n", "\n  "))
	}
}
