package failure

import (
	"context"
	"errors"
	"fmt"

	"mylm/agent"
	"mylm/providers"
)

// The exit codes; the package comment has the table.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitDenied      = 4
	ExitPartial     = 5
	ExitMalformed   = 6
	ExitContextFull = 7
	ExitTimeout     = 124
	ExitInterrupted = 130
)

// Error is an error with all that the command reports about it.
type Error struct {
	Code int    // exit code
	Name string // error.code in --json
	Err  error
	Hint string // what the user can do about it; "" if there is nothing to say
}

// Error implements error.
func (f *Error) Error() string { return f.Err.Error() }

// Unwrap gives errors.Is and errors.As the cause.
func (f *Error) Unwrap() error { return f.Err }

// Usage is an error in the command line.
func Usage(format string, args ...any) *Error {
	return &Error{Code: ExitUsage, Name: "usage", Err: fmt.Errorf(format, args...)}
}

// Config is an error in the configuration.
func Config(err error) *Error {
	return &Error{Code: ExitUsage, Name: "config", Err: err}
}

// WithHint adds what the user can do about it.
func (f *Error) WithHint(hint string) *Error {
	f.Hint = hint
	return f
}

// Of is err as an Error: the one it wraps, or one made for its kind.
func Of(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Code: ExitInterrupted, Name: string(agent.StopInterrupted), Err: ErrInterrupted}
	}
	var p *providers.Error
	if !errors.As(err, &p) {
		return &Error{Code: ExitError, Name: "internal", Err: err}
	}
	f = &Error{Code: ExitError, Name: string(agent.StopModelError), Err: err, Hint: Advice(err)}
	switch p.Kind {
	case providers.Unreachable, providers.ModelMissing:
		f.Code, f.Name = ExitUnreachable, string(p.Kind)
	case providers.Overflow:
		f.Code, f.Name = ExitContextFull, string(agent.StopContextFull)
	case providers.Stalled:
		f.Code, f.Name = ExitTimeout, string(agent.StopTimeout)
	}
	return f
}

// ErrInterrupted is the end of a run that the user interrupted.
var ErrInterrupted = errors.New("interrupted")

// ErrReported marks an error that was printed already.
var ErrReported = errors.New("reported")
