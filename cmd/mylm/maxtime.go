package main

import (
	"context"
	"errors"
	"fmt"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/tools"
)

// inTime runs within --max-time, which counts from the beginning: a server may be
// silent before the model is asked.
func (r *run) inTime(ctx context.Context) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.cancel = cancel
	err := r.start(limited)
	var late *agent.LimitError
	if err == nil || r.result != nil || !errors.As(context.Cause(limited), &late) {
		return err
	}
	return &failure.Error{Code: failure.ExitTimeout, Name: string(late.Reason), Err: late, Hint: failure.Advice(late)}
}

// limitTime sets --max-time once it is known.
func (r *run) limitTime(ctx context.Context, s config.Settings) {
	d := config.MaxTime.Of(s)
	if d == 0 {
		return
	}
	what := "run"
	if r.plan != nil {
		what = "plan"
	}
	late := &agent.LimitError{Reason: agent.StopTimeout, Limit: "MaxTime", Value: d, Message: fmt.Sprintf("the %s took longer than %v", what, d)}
	alarm := tools.NewAlarm(d, func() { r.cancel(late) })
	context.AfterFunc(ctx, func() { alarm.Stop() })
}
