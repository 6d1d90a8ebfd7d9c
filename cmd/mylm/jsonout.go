package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
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
	Evaluation *agent.Evaluation  `json:"evaluation,omitempty"`
	Plan       *plan.State        `json:"plan,omitempty"`
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

// failureJSON is the object for a failure before any run.
func failureJSON(f *failure.Error) jsonReport {
	return jsonReport{Status: agent.Failed, ToolCalls: []agent.CallRecord{}, Error: &jsonError{Code: f.Name, Message: f.Error(), Hint: f.Hint}}
}

// wantsJSON reports whether --json stands on the command line, right or wrong
// as the rest of it may be.
func wantsJSON(args []string) bool {
	for _, arg := range args[min(1, len(args)):] {
		if arg == "--" {
			return false
		}
		name, given, inline := strings.Cut(arg, "=")
		if name != "--json" && name != "-json" {
			continue
		}
		on, err := strconv.ParseBool(given)
		if !inline || err == nil && on {
			return true
		}
	}
	return false
}

// printJSON writes v as indented JSON. Control characters of any kind are
// escaped, for stdout may be a terminal.
func printJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, escapedJSON(b)+"\n")
	return err
}

// escapedJSON is JSON without control characters of any kind.
func escapedJSON(b []byte) string {
	var text strings.Builder
	for _, r := range string(b) {
		if r < 0x80 || term.Printable(string(r)) != "" {
			text.WriteRune(r)
		} else {
			fmt.Fprintf(&text, `\u%04x`, r) // all of them are below U+10000
		}
	}
	return text.String()
}

// printJSON writes the object for a run, or for the failure before it.
func (a *asking) printJSON(f *failure.Error) {
	report := jsonReport{Status: agent.Failed, ToolCalls: []agent.CallRecord{}}
	if f != nil {
		report = failureJSON(f)
	}
	if a.model != nil {
		report.Model = a.model.name
	}
	if r := a.result; r != nil {
		report.Status, report.StopReason, report.Turns = r.Status, r.StopReason, r.Turns
		report.ToolCalls, report.DurationMS, report.Session = r.Calls, r.Duration.Milliseconds(), r.Session
		report.Usage = jsonUsage{Prompt: r.Usage.Prompt, Output: r.Usage.Output, Partial: r.UsagePartial}
		report.Evaluation = r.Evaluation
		report.Plan = a.planning.state()
		if holds(*r) {
			report.Output = r.Response
		}
	}
	if err := printJSON(a.screen.Out, report); err != nil && a.screen.Failed == nil {
		a.screen.Failed = err
	}
}
