package calling

import (
	"encoding/json"
	"fmt"

	"mylm/providers"
	"mylm/tools"
)

// Result is the role of a message that holds what a call led to.
const Result providers.Role = "result"

// Message is one entry of a conversation with tools.
type Message struct {
	Role providers.Role // System, User, Assistant or Result
	Text string

	Images []providers.Image // of the user, or that a call led to; their names are those that an error has

	Calls []Call // of the assistant, in their order

	CallID string // of a result: the call that it answers
	Tool   string // of a result whose call is not in the conversation: the tool; "": such a result is an error
	Failed bool   // of a result: the call did not succeed

	Where string // what errors call it; "": its place among the messages
}

// Call is a call of a tool. Its arguments are a JSON object.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage
}

// Tool is a tool that somebody else runs.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments; empty: anything
}

// Mode is what a reply may or must be.
type Mode string

// The modes. Auto, the zero value, leaves it to the model.
const (
	Auto     Mode = ""
	None     Mode = "none"     // text only
	Required Mode = "required" // a call
)

// Choice is what the caller wants of a reply.
type Choice struct {
	Mode Mode
	Only []string // the tools that may be called; empty: all
}

// Request is one request of a model with tools. It is not changed.
type Request struct {
	Messages []Message
	Tools    []Tool
	Choice   Choice
	Format   *Format  // what an answer that is no call has to fit; nil: any text
	Stop     []string // texts that end the reply before them, unless it has to be a call or fit a format

	Temperature *float64
	Seed        *int
	MaxTokens   int // of each reply; 0: the backend's own limit
	Think       providers.Thinking
}

// RequestError is a request that makes no sense: the same again fails again.
type RequestError struct {
	Param   string // what is wrong: "messages[2]", "tools[0]", "tool_choice"
	Message string
	Err     error // the backend's, if it refused that; nil: it was not asked
}

// Error returns what is wrong and where.
func (e *RequestError) Error() string { return e.Param + ": " + e.Message }

func bad(param, format string, args ...any) error {
	return &RequestError{Param: param, Message: fmt.Sprintf(format, args...)}
}

// OutputError is a model that did not write what it had to, however often it was
// corrected.
type OutputError struct {
	Replies int             // that it wrote
	Err     error           // why the last cannot be used
	Usage   providers.Usage // as End has it
}

// Error returns how often the model tried, and what is wrong with its last reply.
func (e *OutputError) Error() string {
	return fmt.Sprintf("the model's reply cannot be used, after %s: %v", tools.Count(e.Replies, "try"), e.Err)
}

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.Err }

// Event is a piece of a reply. One of its fields is set.
type Event struct {
	Text    string
	Thought string
	Call    *Call
	End     *End // the last one
}

// End is how a reply ended.
type End struct {
	Stop  providers.StopReason // StopCall, StopEnd, StopLength or the backend's own word
	Usage providers.Usage      // the prompt of the first reply, and the output of all

	Sequence string // the one of Request.Stop that it met

	Estimated   bool // the backend did not report all of Usage
	Corrections int  // replies that nobody saw
}

// StopCall is the end of a reply that is a call.
const StopCall providers.StopReason = "tool_calls"
