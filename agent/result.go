package agent

import (
	"encoding/json"
	"time"

	"mylm/providers"
)

// Status sums up how a run went.
type Status string

// The statuses. Only a complete run is a success; only a failure of the model
// or of the engine is failed; every other end is partial.
const (
	Success Status = "success"
	Partial Status = "partial"
	Failed  Status = "failed"
)

// StopReason says why a run ended.
type StopReason string

// The reasons.
const (
	StopComplete          StopReason = "complete"           // the model answered
	StopMaxTurns          StopReason = "max_turns"          // no answer within the turns allowed
	StopRepeatedCall      StopReason = "repeated_call"      // the same call again, not run
	StopStuck             StopReason = "stuck"              // calls and results go in circles
	StopConsecutiveErrors StopReason = "consecutive_errors" // several tool calls in a row failed
	StopMalformed         StopReason = "malformed"          // several replies in a row could not be read
	StopTimeout           StopReason = "timeout"            // the model said nothing for too long, or the run took too long
	StopInterrupted       StopReason = "interrupted"        // the context was cancelled
	StopDenied            StopReason = "denied"             // a call was not allowed, and nothing made up for it
	StopContextFull       StopReason = "context_full"       // the conversation does not fit the model's window
	StopFinishOther       StopReason = "finish_other"       // the reply ended for a reason of the backend's own
	StopNotVerified       StopReason = "not_verified"       // the answer did not pass its check
	StopIncomplete        StopReason = "incomplete"         // a plan has tasks left
	StopModelError        StopReason = "model_error"        // the backend failed
	StopInternal          StopReason = "internal_error"     // the record could not be written, or a template is broken
)

// Status returns the status that goes with the reason.
func (r StopReason) Status() Status {
	switch r {
	case StopComplete:
		return Success
	case StopModelError, StopInternal:
		return Failed
	}
	return Partial
}

// Answers reports whether a run that ended so has a text to show for an answer,
// whole or in part.
func (r StopReason) Answers() bool {
	switch r {
	case StopModelError, StopInternal, StopMalformed, StopContextFull:
		return false
	}
	return true
}

// CallRecord is one call in the log of a run.
type CallRecord struct {
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"` // those that ran, or were to run
	Success bool            `json:"success"`
	Denied  bool            `json:"denied,omitempty"`
	Skipped bool            `json:"skipped,omitempty"` // logged but not run: it repeated the call before it
	DryRun  bool            `json:"dry_run,omitempty"` // logged but not run
}

// Result is everything a run has to show, however it ended.
type Result struct {
	Run        string          `json:"run"`
	Session    string          `json:"session"`
	Response   string          `json:"response"` // the answer; if it is not whole, what there is of it; at a limit, what the model had to say, or its last text
	Status     Status          `json:"status"`
	StopReason StopReason      `json:"stop_reason"`
	Turns      int             `json:"turns"`
	Calls      []CallRecord    `json:"calls"`
	Usage      providers.Usage `json:"usage"`
	Duration   time.Duration   `json:"duration_ns"`

	// UsagePartial: some replies were stopped before the backend counted them,
	// so that Usage is a lower bound.
	UsagePartial bool `json:"usage_partial,omitempty"`

	Evaluation *Evaluation `json:"evaluation,omitempty"` // the last check of the answer; nil: there was none

	Messages []providers.Message `json:"-"` // the conversation, without the system prompt
	Tainted  bool                `json:"-"` // what strangers wrote has been read
	Err      error               `json:"-"` // what went wrong, for a run that did not complete; may be nil
}
