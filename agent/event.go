package agent

import (
	"encoding/json"
	"time"

	"mylm/tools"
)

// Event is one thing that happened in a run.
type Event struct {
	Run     string
	Task    string // set by a plan that runs several tasks
	Seq     int    // counts the events of a run from 1
	Turn    int    // 0 before the first turn
	Time    time.Time
	Payload Payload
}

// MarshalJSON writes the event as one flat object: its type, where it belongs,
// and the fields of its payload.
func (e Event) MarshalJSON() ([]byte, error) {
	return flat(struct {
		Type string    `json:"type"`
		Run  string    `json:"run"`
		Task string    `json:"task,omitempty"`
		Seq  int       `json:"seq"`
		Turn int       `json:"turn"`
		Time time.Time `json:"time"`
	}{e.Payload.Type(), e.Run, e.Task, e.Seq, e.Turn, e.Time}, e.Payload)
}

// Payload describes what happened. It is one of the types below.
type Payload interface {
	// Type is the snake_case name of the event.
	Type() string
}

// TurnStart begins a turn: the model is about to be asked.
type TurnStart struct{}

// TextDelta is text of the model that a person may read as it comes.
type TextDelta struct {
	Text string `json:"text"`
}

// AnswerStart reports that the text before was narration and the answer begins.
type AnswerStart struct{}

// Thought is reasoning of the model.
type Thought struct {
	Text string `json:"text"`
}

// Waiting reports what the backend is doing while nothing arrives.
type Waiting struct {
	Text string `json:"text"`
}

// ToolCall reports that a tool is about to run.
type ToolCall struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Effect  tools.Effect    `json:"effect"`
	Preview string          `json:"preview,omitempty"`
	Repairs []string        `json:"repairs,omitempty"` // codes of the repairs that made the call readable

	// Refused is what the call was refused when it ran before: it runs again with
	// permission for it, under the same ID.
	Refused []tools.Refusal `json:"refused,omitempty"`
}

// ToolProgress is output of a running tool as it comes.
type ToolProgress struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ToolOutput reports that a tool has run, or why it did not. A call that was
// refused has no ToolCall before it.
type ToolOutput struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Success   bool            `json:"success"`
	Output    string          `json:"output,omitempty"`
	Error     string          `json:"error,omitempty"`
	Denied    bool            `json:"denied,omitempty"`
	Skipped   bool            `json:"skipped,omitempty"` // not run: it repeats the call before it
	DryRun    bool            `json:"dry_run,omitempty"` // not run: Output says what it would have done
	ExitCode  *int            `json:"exit_code,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Origin    string          `json:"origin,omitempty"`
	Duration  time.Duration   `json:"duration_ns"`
	Refused   []tools.Refusal `json:"refused,omitempty"` // what it had no permission for, and was not given
	Blocked   []tools.Refusal `json:"blocked,omitempty"` // what it was refused that nobody is asked about
}

// TurnEnd ends a turn.
type TurnEnd struct {
	HasToolCalls bool `json:"has_tool_calls"`
}

// Notice is information for a person that is not an error.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// The codes of notices.
const (
	NoticeContinued   = "continued"    // the length limit cut a reply, and the next one continues it
	NoticeNoSummary   = "no_summary"   // older steps could not be summed up
	NoticeLastWord    = "last_word"    // a limit ended the run, and the model is asked what it has
	NoticeNotVerified = "not_verified" // the answer did not pass its check, and the model tries again
	NoticeChecking    = "checking"     // the answer is being checked
	NoticeAdapted     = "adapted"      // the backend refused a part of the request, which was left out
)

// Error is a failure; the run continues after it, or ends with it.
type Error struct {
	Source  string `json:"source"` // "model", "format" (a reply), "tool" (it crashed) or "engine"
	Message string `json:"message"`
	Again   bool   `json:"again,omitempty"`  // the model is asked for another reply
	Reason  string `json:"reason,omitempty"` // of a reply that could not be read: the code of the fault
}

// Retry reports that a request is repeated after a transient error.
type Retry struct {
	Attempt int           `json:"attempt"` // the attempt to come, from 2
	Wait    time.Duration `json:"wait_ns"`
	Reason  string        `json:"reason"`
}

// Retract withdraws the text shown in this turn.
type Retract struct{}

// Compaction reports that older parts of the session are no longer shown to the
// model, or only as a summary. The next prompt does not continue the one
// before.
type Compaction struct {
	Dropped    int  `json:"dropped"`              // messages; 0: tool results are shown in smaller part
	Summarized bool `json:"summarized,omitempty"` // a summary replaces them
	Before     int  `json:"before"`               // tokens of the prompt, as far as they are known
	After      int  `json:"after"`
	Window     int  `json:"window,omitempty"`  // of the model, as far as it is known
	Guessed    bool `json:"guessed,omitempty"` // the window is not known
}

// FinalResponse ends the run. It is the last event.
type FinalResponse struct {
	Result Result `json:"result"`
}

// The names of the events.
func (TurnStart) Type() string     { return "turn_start" }
func (TextDelta) Type() string     { return "text_delta" }
func (AnswerStart) Type() string   { return "answer_start" }
func (Thought) Type() string       { return "thought" }
func (Waiting) Type() string       { return "waiting" }
func (ToolCall) Type() string      { return "tool_call" }
func (ToolProgress) Type() string  { return "tool_progress" }
func (ToolOutput) Type() string    { return "tool_output" }
func (TurnEnd) Type() string       { return "turn_end" }
func (Notice) Type() string        { return "notice" }
func (Error) Type() string         { return "error" }
func (Retry) Type() string         { return "retry" }
func (Retract) Type() string       { return "retract" }
func (Compaction) Type() string    { return "compaction" }
func (FinalResponse) Type() string { return "agent_end" }
