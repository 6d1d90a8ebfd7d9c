package providers

import (
	"errors"
	"fmt"
	"time"
)

// Kind classes an Error by what a caller can do about it.
type Kind string

// The kinds of failure.
const (
	Unreachable  Kind = "unreachable"   // nobody listens at the address, or the name does not resolve
	ModelMissing Kind = "model_missing" // the backend does not have the model
	CannotChat   Kind = "cannot_chat"   // the model exists but does not converse (an embedding model)
	Auth         Kind = "auth"          // the key is missing, wrong or not allowed
	RateLimited  Kind = "rate_limited"  // too many requests or no quota left; RetryAfter may say when
	Overflow     Kind = "overflow"      // the prompt does not fit the context window
	Filtered     Kind = "filtered"      // refused by the backend's content rules
	BadRequest   Kind = "bad_request"   // the backend rejects the request; the same again fails again
	ServerFault  Kind = "server_fault"  // the backend failed and may succeed on another try
	Interrupted  Kind = "interrupted"   // the reply broke off before its end
	Stalled      Kind = "stalled"       // nothing arrived for longer than the caller waits
	OutOfMemory  Kind = "out_of_memory" // the backend's machine is too small for the model and its window
)

// What a caller can change where an Error names a Param.
const (
	ParamAddress     = "address"     // where the backend is looked for
	ParamModel       = "model"       // another of the backend's models, which it can list
	ParamWindow      = "window"      // tokens of prompt and reply together
	ParamMaxTokens   = "max_tokens"  // Request.MaxTokens
	ParamSeed        = "seed"        // Request.Seed
	ParamTemperature = "temperature" // Request.Temperature
	ParamThink       = "think"       // Request.Think
	ParamImages      = "images"      // Message.Images, or another model
	ParamSystem      = "system"      // messages of the role System
)

// Error is a failure of a backend, classified by Kind.
//
// Message and Hint are facts: they name no flag and no command of a program
// that uses this package. Such a program adds its own advice by Kind, Backend
// and Param.
type Error struct {
	Kind    Kind
	Message string // what happened, in one line for the user
	Hint    string // what to do next; may hold several lines; may be empty

	Backend string // who failed: a provider's name, or what the caller calls it; may be empty
	Param   string // what to change: one of the constants Param…; may be empty

	Status       int           // HTTP status; 0: there was none
	RetryAfter   time.Duration // how long the backend asks to wait; 0: it did not say
	PromptTokens int           // Overflow: the size of the prompt; 0: unknown
	Window       int           // Overflow: the size of the window; 0: unknown
	Permanent    bool          // the same request fails again, whatever the kind
	Busy         bool          // the backend is loading, starting or has too much to do; it will pass

	Err error // the cause, for errors.Is and errors.As
}

// Error returns the message. The hint is not part of it: the code that prints
// the error decides where the hint goes.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("model backend: %s", e.Kind)
	}
	return e.Message
}

// Wait is RetryAfter in words: a duration, a number of days, or more than a year.
func (e *Error) Wait() string {
	const day = 24 * time.Hour
	switch d := e.RetryAfter; {
	case d > 365*day:
		return "more than a year"
	case d > 2*day:
		return fmt.Sprintf("%d days", d.Round(day)/day)
	case d > time.Minute:
		return d.Round(time.Second).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed on another try.
// A refused connection is temporary (a server may be starting); a missing
// model is not.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case Unreachable, RateLimited, Interrupted, ServerFault:
		return !e.Permanent
	}
	return false
}

// KindOf returns the kind of the first *Error in err's chain, or "".
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
