package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mylm/providers"
	"mylm/tools"
	"strings"
	"time"
)

// Status sums up how a run went.
type Status string

// The statuses. Only a complete run is a success; only a failure of the model
// or of the engine is failed; every other end is partial.
const (
	Success Status = "success"
	Partial Status = "partial"
	Failed  Status = "failed"
)

// StopReason is why a run ended.
type StopReason string

// The reasons.
const (
	StopComplete          StopReason = "complete"           // the model answered: see step
	StopMaxTurns          StopReason = "max_turns"          // no answer within the turns allowed
	StopRepeatedCall      StopReason = "repeated_call"      // the same call again, not run
	StopStuck             StopReason = "stuck"              // calls and results go in circles
	StopConsecutiveErrors StopReason = "consecutive_errors" // several tool calls in a row failed
	StopMalformed         StopReason = "malformed"          // several replies in a row could not be read
	StopTimeout           StopReason = "timeout"            // the model said nothing for too long, or the run took too long
	StopInterrupted       StopReason = "interrupted"        // the context was cancelled: see cancelled
	StopDenied            StopReason = "denied"             // a call was not allowed, and nothing made up for it: updateBreakers
	StopContextFull       StopReason = "context_full"       // the conversation does not fit the model's window
	StopFinishOther       StopReason = "finish_other"       // the reply ended for a reason of the backend's own
	StopNotVerified       StopReason = "not_verified"       // the answer did not pass its check
	StopIncomplete        StopReason = "incomplete"         // a plan has tasks left
	StopModelError        StopReason = "model_error"        // the backend failed
	StopInternal          StopReason = "internal_error"     // the record could not be written, or a template is broken
)

// Status returns the status that goes with the reason.
func (r StopReason) Status() Status {
	switch r {
	case StopComplete:
		return Success
	case StopModelError, StopInternal:
		return Failed
	}
	return Partial
}

// Answers reports whether a run that ended so has a text to show for an answer,
// whole or in part.
func (r StopReason) Answers() bool {
	switch r {
	case StopInternal, StopMalformed:
		return false
	}
	return true
}

// CallRecord is one call in the log of a run.
type CallRecord struct {
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"` // those that ran, or were to run
	Success bool            `json:"success"`
	Denied  bool            `json:"denied,omitempty"`
	Skipped bool            `json:"skipped,omitempty"` // logged but not run: it repeated the call before it
	DryRun  bool            `json:"dry_run,omitempty"` // logged but not run
	Blocked []tools.Refusal `json:"blocked,omitempty"` // what it was refused that nobody is asked about
}

// Result is everything a run has to show, however it ended.
type Result struct {
	Run        string          `json:"run"`
	Session    string          `json:"session"`
	Response   string          `json:"response"` // the answer; if it is not whole, what there is of it; at a limit, what the model had to say, or its last text
	Status     Status          `json:"status"`
	StopReason StopReason      `json:"stop_reason"`
	Turns      int             `json:"turns"`
	Calls      []CallRecord    `json:"calls"`
	Usage      providers.Usage `json:"usage"`
	Duration   time.Duration   `json:"duration_ns"`

	// UsagePartial: some replies were stopped before the backend counted them,
	// so that Usage is a lower bound.
	UsagePartial bool `json:"usage_partial,omitempty"`

	Evaluation *Evaluation `json:"evaluation,omitempty"` // the last check of the answer; nil: there was none

	Messages []providers.Message `json:"-"` // the conversation, without the system prompt
	Tainted  bool                `json:"-"` // text from outside the workspace has been read
	Err      error               `json:"-"` // what went wrong, for a run that did not complete; may be nil
}

// LimitError is the limit or breaker that ended a run. It is the Result's Err
// of such a run.
type LimitError struct {
	Reason  StopReason
	Limit   string // the option that sets the limit, as MaxTurns; "" for a breaker that has none
	Value   any    // what it was set to, an int or a time.Duration; nil if there is none
	Message string // what happened, in one line
	Err     error  // the cause; may be nil
}

// Error returns the message.
func (e *LimitError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *LimitError) Unwrap() error { return e.Err }

// limit ends the run at a limit, or as denied if it is a denial that led there. The model may
// then say what it has, in the closing request: after max_turns, repeated_call, stuck and
// consecutive_errors, which come here.
func (r *run) limit(e *LimitError) {
	r.state.LastWord = r.state.Stop == "" && !r.agent.opts.NoLastWord
	reason := e.Reason
	if r.state.Denied {
		reason = StopDenied
	}
	r.stop(reason, e)
}

// overTime is the error of something that took longer than an option allows.
func overTime(option string, limit time.Duration, format string) *LimitError {
	return &LimitError{Reason: StopTimeout, Limit: option, Value: limit, Message: fmt.Sprintf(format, limit)}
}

// limitTime bounds a run, and lets it be cancelled.
func (a *Agent) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	d := a.opts.MaxTime
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return tools.WithTimeout(ctx, d, overTime("MaxTime", d, "the run took longer than %v"))
}

// cancelled returns why a run whose context is done stops.
func cancelled(ctx context.Context) (StopReason, error) {
	cause := context.Cause(ctx)
	var e *LimitError
	if errors.As(cause, &e) {
		return e.Reason, cause
	}
	return StopInterrupted, cause
}

// partialReply is the received part of a reply that broke off, was ended at a limit
// or interrupted: its text, without the call in which it may have broken off. It is
// nil if nothing was received, or nothing that may be sent again.
func (l *listener) partialReply(ctx context.Context, err error) *reply {
	kind := providers.KindOf(err)
	whole, rep := l.reader.Done(), l.close()
	if whole || kind == providers.Filtered || kind == providers.Overflow {
		l.drop(&rep.Reply)
		return nil
	}
	var limit *LimitError
	switch { // a replay ends it in the same way
	case ctx.Err() != nil:
		_, err = cancelled(ctx)
	case errors.As(err, &limit) && limit.Reason != StopTimeout:
		rep.Stop = providers.StopReason(limit.Reason)
	case limit == nil && kind != providers.Stalled:
		rep.Stop = providers.StopReason(StopModelError)
	}
	rep.Call, rep.Fault, rep.broken = nil, nil, err.Error()
	if strings.TrimSpace(rep.Text) == "" && (limit == nil || limit.Reason == StopTimeout) {
		l.drop(&rep.Reply)
		return nil
	}
	return rep
}

// maxPartial is what the model is shown, in tokens, of a reply that broke off: it
// may be one without an end.
const maxPartial = 1000

// recordPartial records the received part of the reply that was cut. It is the answer,
// as far as it goes.
func (r *run) recordPartial(ctx context.Context, rest *reply) {
	if rest == nil {
		return
	}
	if err := r.recordReply(context.WithoutCancel(ctx), rest); err != nil {
		r.emit(Error{Source: "engine", Message: err.Error()})
		return
	}
	r.state.Continued = append(r.state.Continued, r.session.last())
}
