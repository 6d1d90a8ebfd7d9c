package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mylm/providers"
)

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

// limit ends the run at a limit, or as denied if it is a denial that led there.
// The model may then say what it has.
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
	return context.WithTimeoutCause(ctx, d, overTime("MaxTime", d, "the run took longer than %v"))
}

// cancelled is why a run stops whose context is done.
func cancelled(ctx context.Context) (StopReason, error) {
	cause := context.Cause(ctx)
	var e *LimitError
	if errors.As(cause, &e) {
		return e.Reason, cause
	}
	return StopInterrupted, cause
}

// rest is what there is of a reply whose time was over, or that was interrupted:
// its text, without the call in which it may have broken off. It is nil if there
// is none, and for a reply that failed for another reason.
func (l *listener) rest(ctx context.Context, err error) *reply {
	var limit *LimitError
	over := ctx.Err() != nil || providers.KindOf(err) == providers.Stalled || errors.As(err, &limit) && limit.Reason == StopTimeout
	if ctx.Err() != nil {
		_, err = cancelled(ctx)
	}
	if !over || l.decoder.Done() {
		return nil
	}
	rep := l.close()
	if strings.TrimSpace(rep.text) == "" {
		return nil
	}
	rep.call, rep.fault, rep.broken = nil, nil, err.Error()
	return rep
}

// maxRest is what the model is shown, in tokens, of a reply that broke off: it
// may be one without an end.
const maxRest = 1000

// keepRest records what there is of the reply that broke off. It is the answer,
// as far as it goes.
func (r *run) keepRest(ctx context.Context, rest *reply) {
	if rest == nil {
		return
	}
	if err := r.keep(context.WithoutCancel(ctx), rest); err != nil {
		r.emit(Error{Source: "engine", Message: err.Error()})
		return
	}
	r.state.Continued = append(r.state.Continued, r.session.last())
}
