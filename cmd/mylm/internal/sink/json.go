package sink

import (
	"io"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// JSON prints one object at the end.
type JSON struct {
	out  io.Writer
	plan *plan.State
}

// NewJSON is a sink that writes to out.
func NewJSON(out io.Writer) *JSON { return &JSON{out: out} }

// Open implements Sink.
func (*JSON) Open(Run) error { return nil }

// Event implements Sink.
func (j *JSON) Event(ev agent.Event) error {
	if end, ok := ev.Payload.(plan.End); ok {
		j.plan = &end.State
	}
	return nil
}

// Close implements Sink.
func (j *JSON) Close(o Outcome) error {
	report := jsonReport{Status: agent.Failed, ToolCalls: []agent.CallRecord{}, Model: o.Model, Output: o.Answer(), Plan: j.plan}
	if f := o.Failure; f != nil {
		report.Error = NewError(f)
	}
	if r := o.Result; r != nil {
		report.Status, report.StopReason, report.Turns = r.Status, r.StopReason, r.Turns
		report.ToolCalls, report.DurationMS, report.Session = r.Calls, r.Duration.Milliseconds(), r.Session
		report.Usage = jsonUsage{Prompt: r.Usage.Prompt, Output: r.Usage.Output, Partial: r.UsagePartial}
		report.Evaluation = r.Evaluation
	}
	return term.PrintJSON(j.out, report)
}

// jsonReport is the object that --json prints.
type jsonReport struct {
	Status     agent.Status       `json:"status"`
	StopReason agent.StopReason   `json:"stop_reason,omitempty"`
	Output     string             `json:"output"`
	Turns      int                `json:"turns"`
	ToolCalls  []agent.CallRecord `json:"tool_calls"`
	Usage      jsonUsage          `json:"usage"`
	DurationMS int64              `json:"duration_ms"`
	Model      string             `json:"model,omitempty"`
	Session    string             `json:"session,omitempty"`
	Evaluation *agent.Evaluation  `json:"evaluation,omitempty"`
	Plan       *plan.State        `json:"plan,omitempty"`
	Error      *Error             `json:"error,omitempty"`
}

type jsonUsage struct {
	Prompt int `json:"prompt_tokens"`
	Output int `json:"output_tokens"`
	// Partial: replies that were stopped at their call are counted by pieces,
	// so that the sums are lower bounds.
	Partial bool `json:"partial,omitempty"`
}

// Error is a failure as JSON.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// NewError is f as JSON.
func NewError(f *failure.Error) *Error { return &Error{Code: f.Name, Message: f.Error(), Hint: f.Hint} }
