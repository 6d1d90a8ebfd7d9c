package main

import (
	"context"
	"errors"
	"iter"

	"mylm/agent"
	"mylm/providers"
)

// unasked is a model that is never asked: --show-prompt needs none.
type unasked struct{}

// Generate implements providers.Model.
func (unasked) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, errors.New("this model cannot be asked"))
	}
}

// report is the object that --json prints.
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
	Error      *jsonError         `json:"error,omitempty"`
}

type jsonUsage struct {
	Prompt int `json:"prompt_tokens"`
	Output int `json:"output_tokens"`
	// Partial: replies that were stopped at their call are counted by pieces,
	// so that the sums are lower bounds.
	Partial bool `json:"partial,omitempty"`
}

type jsonError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// printJSON writes the object for a run, or for the failure before it.
func (a *asking) printJSON(f *failure) {
	report := jsonReport{Status: agent.Failed, ToolCalls: []agent.CallRecord{}}
	if a.model != nil {
		report.Model = a.model.name
	}
	if r := a.result; r != nil {
		report.Status, report.StopReason, report.Turns = r.Status, r.StopReason, r.Turns
		report.ToolCalls, report.DurationMS, report.Session = r.Calls, r.Duration.Milliseconds(), r.Session
		report.Usage = jsonUsage{Prompt: r.Usage.Prompt, Output: r.Usage.Output, Partial: r.UsagePartial}
		if holds(r.StopReason) {
			report.Output = r.Response
		}
	}
	if f != nil {
		report.Error = &jsonError{Code: f.name, Message: f.Error(), Hint: f.hint}
	}
	if err := a.writeJSON(report); err != nil && a.screen.failed == nil {
		a.screen.failed = err
	}
}
