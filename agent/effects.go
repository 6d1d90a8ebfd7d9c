package agent

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"mylm/providers"
	"mylm/tools"
)

// Effects is everything a run does that does not follow from its record. The
// requests are plain data: they can be written down, looked up in a record, or
// sent to another process.
type Effects interface {
	// Model asks the model for the next reply.
	Model(context.Context, ModelRequest) iter.Seq2[providers.Chunk, error]
	// Tool runs a call that was looked up, checked and allowed.
	Tool(context.Context, ToolRequest) tools.Outcome
	// Ask decides whether a call may run.
	Ask(context.Context, ApprovalRequest) (Decision, error)
	// Info asks the backend what the model can take. Without an answer the error
	// says why.
	Info(context.Context) (providers.Info, error)
	// Now is the time.
	Now() time.Time
	// Sleep waits before another try. It returns the context's error if that is
	// done first.
	Sleep(context.Context, time.Duration) error
	// NewID is a name that no other run or call has.
	NewID() string
}

// ModelRequest names one call of the model.
type ModelRequest struct {
	Run     string `json:"run"`
	Turn    int    `json:"turn"`
	Attempt int    `json:"attempt"` // from 1
	Through int    `json:"through"` // the last session entry that the model is shown

	Purpose Purpose `json:"purpose,omitempty"`
	Results int     `json:"results,omitempty"` // how much of a tool's result is shown, in estimated tokens; 0: all
	Until   int     `json:"until,omitempty"`   // for a summary: the last entry that should be in it
	Answer  []int   `json:"answer,omitempty"`  // for a judgement: the replies that are the answer together
}

// Purpose is what a model is asked for.
type Purpose string

// The purposes. Everything but a turn is asked for beside the conversation and
// without tools.
const (
	PurposeTurn     Purpose = ""
	PurposeSummary  Purpose = "summary"   // of what is no longer shown
	PurposeJudge    Purpose = "judge"     // is the answer what was asked for?
	PurposeLastWord Purpose = "last_word" // what there is to say when a limit ends the run
)

// ToolRequest names one run of a tool.
type ToolRequest struct {
	Run  string          `json:"run"`
	Call string          `json:"call"` // the call's id
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`

	Effect  tools.Effect    `json:"effect"`            // with which it was allowed; see tools.Granted
	Permits []tools.Refusal `json:"permits,omitempty"` // what it was refused before, and may do now
}

// ApprovalRequest is a call that somebody has to allow.
type ApprovalRequest struct {
	Run     string          `json:"run"`
	Call    string          `json:"call"` // the call's id
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Effect  tools.Effect    `json:"effect"`
	Preview string          `json:"preview"` // what it would do, for a person
	Tainted bool            `json:"tainted"` // the run has read what strangers wrote

	// Refused is what the call was refused when it ran: it is asked whether it
	// runs again, from the start, with the permissions that it lacked.
	Refused []tools.Refusal `json:"refused,omitempty"`
}

// Verdict is what was decided about a call.
type Verdict string

// The verdicts. The zero value denies.
const (
	Deny   Verdict = ""
	Allow  Verdict = "allow"
	Stop   Verdict = "stop"   // deny, and end the run
	Forbid Verdict = "forbid" // deny by a rule, not by a person: Reason is told as it stands

	Rehearse Verdict = "rehearse" // do not run it: the model is told what it would have done
)

// Decision is an answer to an ApprovalRequest.
type Decision struct {
	Verdict Verdict         `json:"verdict"`
	Reason  string          `json:"reason,omitempty"` // told to the model when denied
	Args    json.RawMessage `json:"args,omitempty"`   // run with these instead; nil: as asked

	// Hold allows no more than reading, of a tool that keeps itself to what it was
	// granted, as a command in a sandbox does. It is asked about what it lacks.
	Hold bool `json:"hold,omitempty"`
}

// Approve decides whether a call may run. It is asked about every call,
// harmless ones too, and returns soon after ctx is done. An error ends the run.
type Approve func(ctx context.Context, r ApprovalRequest) (Decision, error)

// AllowAll is an Approve that allows every call.
func AllowAll(context.Context, ApprovalRequest) (Decision, error) {
	return Decision{Verdict: Allow}, nil
}

// AllowReads is an Approve that allows what only reads. It is the default.
func AllowReads(_ context.Context, r ApprovalRequest) (Decision, error) {
	if r.Effect.OnlyReads() {
		return Decision{Verdict: Allow}, nil
	}
	return Decision{Reason: "only reading is allowed here"}, nil
}
