package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Role is the author of a Message.
type Role string

// The roles that every backend understands.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one entry of a conversation.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text"`

	// Images belong to the text. A model that cannot see does not ignore them: the
	// call fails with an *Error whose Param is ParamImages, before anything is sent.
	Images []Image `json:"images,omitempty"`
}

// Thinking turns the reasoning of a model on or off.
type Thinking string

// ThinkAuto, the zero value, lets a model think if it can. ThinkOn is an error
// on a model that cannot; some models ignore ThinkOff.
const (
	ThinkAuto Thinking = ""
	ThinkOn   Thinking = "on"
	ThinkOff  Thinking = "off"
)

// Request is one call of a model. What is nil or zero is not sent: the
// backend's own default holds.
type Request struct {
	Messages []Message `json:"messages"`

	Temperature *float64 `json:"temperature,omitempty"`
	Seed        *int     `json:"seed,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"` // of the reply; 0: the backend's own limit
	Think       Thinking `json:"think,omitempty"`

	// Format is a JSON Schema that the reply should fit, for a backend that can
	// constrain it; others ignore it. Nil: any text.
	Format json.RawMessage `json:"format,omitempty"`

	// Status, if set, is called with what the backend is doing while nothing
	// arrives ("loading the model"). It is called from the goroutine
	// that ranges over Generate.
	Status func(string) `json:"-"`

	// Notice, if set, is called from the same goroutine with what a person should
	// know about the call though it does not fail, such as a part of the request
	// that the server refused and that was left out.
	Notice func(string) `json:"-"`
}

// Model is one language model at one backend.
//
// Generate sends the request when the sequence is ranged over, and yields the
// reply as it arrives. The last chunk, and no other, carries a StopReason. A
// failure is yielded once, as the last element, and is an *Error or the
// context's error. Breaking out of the loop or cancelling ctx ends the call at
// once: the connection is closed and no goroutine is left.
//
// A Model may be used by several goroutines at once.
type Model interface {
	Generate(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// StopReason is why a reply ended. A backend's other words are passed on as
// they are ("content_filter").
type StopReason string

// The reasons that mean something to the engine.
const (
	StopEnd    StopReason = "stop"   // the model was done, or met a stop sequence
	StopLength StopReason = "length" // a limit cut the reply
)

// Chunk is a piece of a reply.
type Chunk struct {
	Text    string
	Thought string // reasoning that the backend separates from the text
	Call    *ServerCall

	// CallPart is a piece of a call that arrives in pieces: a sign that the model
	// writes, and of how much. It is no text; Call holds the whole call later.
	CallPart string

	Stop  StopReason // on the last chunk only
	Usage Usage      // on the last chunk only
}

// ServerCall is a call that the server parsed out of the model's text, though
// no tools were offered to it. The text of the call is lost. Several calls come
// in several chunks.
type ServerCall struct {
	Name string `json:"name"`
	Args string `json:"args"` // JSON as the server sent it, not validated; incomplete if the reply is cut
}

// Usage is what one reply cost. A backend that does not report it leaves zeros.
type Usage struct {
	Prompt    int `json:"prompt_tokens"`              // tokens of the whole prompt
	Output    int `json:"output_tokens"`              // tokens generated, thought included
	Evaluated int `json:"evaluated_tokens,omitempty"` // prompt tokens not served from a cache

	Load       time.Duration `json:"load_ns,omitempty"`        // loading the model
	PromptTime time.Duration `json:"prompt_time_ns,omitempty"` // evaluating the prompt
	OutputTime time.Duration `json:"output_time_ns,omitempty"` // generating
}

// Add sums u and v field by field.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Prompt:     u.Prompt + v.Prompt,
		Output:     u.Output + v.Output,
		Evaluated:  u.Evaluated + v.Evaluated,
		Load:       u.Load + v.Load,
		PromptTime: u.PromptTime + v.PromptTime,
		OutputTime: u.OutputTime + v.OutputTime,
	}
}

// Info is what a backend reports about a model.
type Info struct {
	Window  int  `json:"window,omitempty"`  // tokens of prompt and reply together that will be in force; 0: unknown
	Trained int  `json:"trained,omitempty"` // the most the model was trained for; 0: unknown
	Loaded  bool `json:"loaded"`            // in memory now
	Chats   bool `json:"chats"`             // takes part in conversations
	Thinks  bool `json:"thinks"`            // reasons before it answers
	Embeds  bool `json:"embeds"`            // turns text into vectors

	Sees Ability `json:"sees,omitempty"` // takes pictures
	// Form is how the model was trained to write calls, by the names that the package
	// calling has for it; "": unknown.
	Form string `json:"form,omitempty"`
}

// Ability is whether a model can do something.
type Ability string

// AbilityUnknown, the zero value, is the ability of a model about which the backend
// reports nothing: whether it can shows in the call.
const (
	AbilityUnknown Ability = ""
	Able           Ability = "yes"
	Unable         Ability = "no"
)

// Informer is implemented by models whose backend can report about them.
// Info does not load the model.
type Informer interface {
	Info(ctx context.Context) (Info, error)
}

// ModelInfo is one line of a backend's list of models. In JSON the fields of
// Info are on the same level as the others.
type ModelInfo struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size,omitempty"` // bytes on disk; 0: unknown
	Modified time.Time `json:"modified,omitzero"`
	Info
}

// Lister is implemented by backends that can list their models.
type Lister interface {
	Models(ctx context.Context) ([]ModelInfo, error)
}

// HasImages reports whether a message of the request has a picture.
func (r *Request) HasImages() bool {
	for _, m := range r.Messages {
		if len(m.Images) > 0 {
			return true
		}
	}
	return false
}

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
	ParamForm        = "form"        // how calls are written in messages
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

	// Addresses are those of the backend, and of a proxy before it, which Message may name:
	// a program that shows it to others than who runs the backend takes them out.
	Addresses []string

	Status       int           // HTTP status; 0: there was none
	RetryAfter   time.Duration // how long the backend asks to wait; 0: it did not say
	PromptTokens int           // Overflow: the size of the prompt; 0: unknown
	Window       int           // Overflow: the size of the window; 0: unknown
	Permanent    bool          // the same request fails again, whatever the kind
	Busy         bool          // the backend is loading, starting or has too much to do; it will pass

	Usage Usage // what the reply cost before it failed; zero: the backend did not say

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

// Temporary reports whether the same request may succeed on another try, as after a reply
// that broke off.
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
