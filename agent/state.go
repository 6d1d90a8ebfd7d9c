package agent

import (
	"time"

	"mylm/providers"
)

// State is what a run needs between two turns. It is small and can be written
// down: the conversation stays in the session, and is pointed to by sequence
// number.
type State struct {
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	First   int       `json:"first"` // the run's first session entry
	Turn    int       `json:"turn"`

	LastCall  string `json:"last_call,omitempty"` // a digest of name and canonical arguments
	Repeats   int    `json:"repeats,omitempty"`   // how often in a row
	Errors    int    `json:"errors,omitempty"`    // failed calls in a row
	Denials   int    `json:"denials,omitempty"`   // denied calls in a row
	Malformed int    `json:"malformed,omitempty"` // unreadable replies in a row
	Denied    bool   `json:"denied,omitempty"`    // the last sensitive call was denied and none has succeeded since
	Tainted   bool   `json:"tainted,omitempty"`   // what strangers wrote has been read

	Continued []int `json:"continued,omitempty"` // replies that were cut by the length limit and belong together

	Usage        providers.Usage `json:"usage"`
	UsagePartial bool            `json:"usage_partial,omitempty"`

	Events  int    `json:"events"`            // how many were emitted
	Message string `json:"message,omitempty"` // the last text of the model, for a run without an answer

	Stop StopReason `json:"stop,omitempty"` // set when the run is over
}
