package main

import (
	"errors"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
)

// limitOf is the limit that ended a run; nil if it was something else.
func limitOf(r agent.Result) *agent.LimitError {
	var e *agent.LimitError
	errors.As(r.Err, &e)
	return e
}

// atLimit reports a limit that says all there is to say.
func atLimit(e *agent.LimitError) *failure.Error {
	f := &failure.Error{Code: failure.ExitPartial, Name: string(e.Reason), Err: e, Hint: failure.Advice(e)}
	switch e.Reason {
	case agent.StopTimeout:
		f.Code = failure.ExitTimeout
	case agent.StopContextFull:
		f.Code = failure.ExitContextFull
	}
	return f
}
