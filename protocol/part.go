package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Kind is the kind of a Part.
type Kind uint8

// The kinds of Part.
const (
	// Text may be shown as it comes.
	Text Kind = iota + 1
	// Thought is reasoning inside <think> and the like.
	Thought
	// Answer begins the answer: text passed on before was narration.
	Answer
	// Call is a complete call; nothing comes after it.
	Call
	// Malformed is a call, or a reply, that cannot be read; nothing comes after it.
	Malformed
	// Retract takes back all text of this reply: it was thought.
	Retract
	// Cut is the beginning of a tag with which a cut reply ends: it is nothing to
	// show, and a reply that goes on there begins behind it.
	Cut
)

// Part is a piece of a reply of which the decoder is certain.
type Part struct {
	Kind Kind
	Text string       // Text, Thought and Cut
	Call *ToolCall    // Call
	Err  *FormatError // Malformed
}

// ToolCall is a call that was read whole. Whether the tool exists and the
// arguments fit its schema is for the caller to check.
type ToolCall struct {
	Name    string
	Args    json.RawMessage // a JSON object; numbers as they were written
	Raw     string          // the block as the model wrote it
	Dialect string          // the form it was written in; "mylm" is the house form
	Repairs []Repair        // what was repaired to read it
}

// Repair is one thing that was repaired.
type Repair struct {
	Code   string // what kind of repair, for instance "duplicate_key"
	Offset int64  // byte offset in the reply
}

// Reason is a code for what is wrong with a reply.
type Reason string

// The reasons for a Malformed part.
const (
	Empty               Reason = "empty"                // no text at all
	OnlyThought         Reason = "only_thought"         // there is thought and nothing else
	Truncated           Reason = "truncated"            // the reply ended inside a call
	NoName              Reason = "no_name"              // a block without a tool's name
	BadJSON             Reason = "bad_json"             // arguments that are not JSON
	NotObject           Reason = "not_object"           // arguments that are JSON but not an object
	DuplicateKey        Reason = "duplicate_key"        // one argument twice with different values
	TooDeep             Reason = "too_deep"             // arguments nested beyond Options.MaxDepth
	Ambiguous           Reason = "ambiguous"            // a call with more than one reading
	TooLarge            Reason = "too_large"            // arguments beyond Options.MaxArgs
	FencedCall          Reason = "fenced_call"          // a call in a code fence after prose: example or request?
	EscapedCall         Reason = "escaped_call"         // a call whose tags are escaped: &lt;tool_code&gt;
	CallAfterAnswer     Reason = "call_after_answer"    // a call after a closed <final_answer>
	InventedObservation Reason = "invented_observation" // an <observation> without a call
	CallInThought       Reason = "call_in_thought"      // a call in a thought that never ends
	UnknownForm         Reason = "unknown_form"         // a call in a form that is not read
)

// FormatError is the reason why a reply could not be read. The engine words it for
// the model.
type FormatError struct {
	Reason Reason
	Offset int64  // byte offset in the reply
	Detail string // what is wrong there, for instance the JSON error
	Tool   string // the tool it tried to call, as far as that was readable
	Raw    string // the block that could not be read, as the model wrote it; "" if there is none
	Cut    bool   // the reply was cut, by something other than the model (Length)
}

// faults are the reasons in words.
var faults = map[Reason]string{
	Empty:               "it is empty",
	OnlyThought:         "it holds only thought",
	Truncated:           "the tool call is cut off",
	NoName:              "the tool call names no tool",
	BadJSON:             "the arguments are not JSON",
	NotObject:           "the arguments are not a JSON object",
	DuplicateKey:        "an argument is given twice",
	TooDeep:             "the arguments are nested too deep",
	TooLarge:            "the tool call is too long",
	Ambiguous:           "the tool call can be read in two ways",
	FencedCall:          "the tool call is in a code fence",
	EscapedCall:         "the tags of the tool call are escaped",
	CallAfterAnswer:     "a tool call follows the answer",
	InventedObservation: "it makes up an observation",
	CallInThought:       "a tool call is in a thought that never ends",
	UnknownForm:         "it holds a tool call in a form that is not read",
}

// Error describes the fault for a person: what is wrong, in a call of which
// tool, and where.
func (e *FormatError) Error() string {
	msg := faults[e.Reason]
	if msg == "" {
		msg = string(e.Reason)
	}
	if e.Tool != "" {
		msg += fmt.Sprintf(" (%s)", e.Tool)
	}
	if e.Detail != "" {
		msg += fmt.Sprintf(": %s, at byte %d", e.Detail, e.Offset)
	}
	return msg
}

// Lookup gives the decoder the known tools.
type Lookup interface {
	// Names lists the tools.
	Names() []string
	// Schema returns the schema of the arguments of the tool of that name.
	Schema(name string) (*jsonschema.Schema, bool)
}

// Options of a Decoder. The zero value is usable.
type Options struct {
	// Tools is used where only the name decides whether something is a call: a
	// block in the middle of a line, or in a fence, counts only if it names a
	// known tool. Nil: every name counts in a block, nothing is known of
	// arguments, and what needs a known name is text: bare JSON, calls as Python
	// writes them, a name and an object, Action.
	Tools Lookup
	// Insisted is set if the model's last reply was malformed with UnknownForm, or with
	// FencedCall and no Raw: its next reply is the answer, if it is no call.
	Insisted bool
	// Told is set if the model's last reply was corrected, so that it knows how calls and
	// examples of them are written: what may well be an example is one then.
	Told bool
	// Reports is set if a label of a result in words is prose: the conversation holds
	// the result of a call, which the reply may report with it, and the model's last reply
	// was corrected, so that it knows how such a label is read.
	Reports bool
	// Last is set if a reply that a limit cuts is not continued: a call in a form that is not
	// read, or a result that was made up, counts in it as in one that ended by itself.
	Last bool
	// MaxArgs bounds a call in bytes. Zero: 16 MiB.
	MaxArgs int
	// MaxDepth bounds the nesting of arguments. Zero: 200.
	MaxDepth int
}

// Stop is how the reply ended, for Close.
type Stop uint8

// The ways a reply can end.
const (
	End    Stop = iota // the model was done, or a stop sequence cut it
	Length             // a limit, or something other than the model, cut it
)
