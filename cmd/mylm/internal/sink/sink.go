package sink

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/files"
	"mylm/tools/shell"
)

// Sink takes what happens in a run.
type Sink interface {
	// Open comes before the first event, if a run takes place.
	Open(Run) error
	// Event takes one event. After an error the run ends.
	Event(agent.Event) error
	// Close comes last, also where no run took place.
	Close(Outcome) error
}

// Run is what is known of a run before its first event.
type Run struct {
	Session string
	Model   string
	Saved   bool
	Goal    string // of a plan
}

// Outcome is how a command ended.
type Outcome struct {
	Result  *agent.Result  // nil: no run took place
	Saved   bool           // its session can be resumed
	Model   string         // "" if none was opened
	Failure *failure.Error // nil: success
}

// Answer is what goes to stdout, "" if that is nothing.
func (o Outcome) Answer() string {
	if o.Result == nil || o.Failure != nil && !o.Result.StopReason.Answers() {
		return ""
	}
	return o.Result.Response
}

// All is the sinks of a run. Each gets every event.
type All []Sink

// Watch passes the events of a run to all sinks. It ends the run when one of them
// fails, and returns the run's own error.
func (all All) Watch(r Run, events iter.Seq2[agent.Event, error]) (failed error) {
	full := all.each(func(s Sink) error { return s.Open(r) })
	for ev, err := range events {
		switch {
		case err != nil:
			failed = err // the result has it too, with more
		case full == nil:
			full = all.each(func(s Sink) error { return s.Event(ev) })
		}
		if full != nil {
			break
		}
	}
	return failed
}

// Close closes all sinks.
func (all All) Close(o Outcome) error { return all.each(func(s Sink) error { return s.Close(o) }) }

func (all All) each(f func(Sink) error) (err error) {
	for _, s := range all {
		err = errors.Join(err, f(s))
	}
	return err
}

// The forms in which a run can be printed.
const (
	Text   = "text"
	Object = "json"
	Events = "ndjson"
)

// FormFlags select the form; more are those of the same group.
func FormFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		cmdline.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "print `FORM`: text, json (one object) or ndjson (every event, one a line)", Value: Text},
			Text, Object, Events),
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object instead of the answer, as -o json does"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print nothing but the answer and errors"},
	}, more...)
}

// Form is the form that the flags select. Where they contradict each other, it is an
// object, with an error.
func Form(c *cli.Context) (form string, err error) {
	form = cmp.Or(c.String("output"), Text)
	if !c.Bool("json") {
		return form, nil
	}
	if c.IsSet("output") && form != Object {
		err = failure.Usage("--json and --output %s exclude each other", form)
	}
	return Object, err
}

// New is what prints a run in a form; nil for text, which the terminal shows.
func New(form string, out io.Writer) Sink {
	switch form {
	case Object:
		return NewJSON(out)
	case Events:
		return NewLines(out)
	}
	return nil
}

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
		report.ToolCalls, report.DurationMS = r.Calls, r.Duration.Milliseconds()
		if o.Saved {
			report.Session = r.Session
		}
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

// Lines prints every event as it comes, as a line of JSON. A line about the
// session comes first, and one about the failure last, if there is one.
type Lines struct{ out io.Writer }

// NewLines is a sink that writes to out.
func NewLines(out io.Writer) *Lines { return &Lines{out: out} }

// Open implements Sink.
func (l *Lines) Open(r Run) error {
	return term.PrintJSONLine(l.out, struct {
		Type    string `json:"type"`
		Session string `json:"session"`
		Model   string `json:"model"`
		Saved   bool   `json:"saved"`
	}{"session", r.Session, r.Model, r.Saved})
}

// Event implements Sink.
func (l *Lines) Event(ev agent.Event) error { return term.PrintJSONLine(l.out, ev) }

// Close implements Sink.
func (l *Lines) Close(o Outcome) error {
	if o.Failure == nil {
		return nil
	}
	return term.PrintJSONLine(l.out, struct {
		Type  string `json:"type"`
		Error *Error `json:"error"`
	}{"failure", NewError(o.Failure)})
}

// commandLines is how much of a command is shown while it runs.
const commandLines = 5

// what is a call in a few words: the first line of a command, another tool by name.
func what(name string, args json.RawMessage) string {
	text, ok := strings.CutPrefix(CallLine(name, args), "$ ")
	if !ok {
		text = name
	}
	return term.OneLine(strings.SplitN(text, "\n", 2)[0], 48)
}

// CallLine is a call in a line or few: a command as in a shell, another tool by
// name.
func CallLine(name string, args json.RawMessage) string {
	if name == shell.Name {
		var in struct{ Command string }
		if json.Unmarshal(args, &in) == nil && in.Command != "" {
			lines := strings.Split(strings.TrimSpace(in.Command), "\n")
			more := len(lines) - commandLines
			if more > 1 {
				lines = lines[:commandLines]
			}
			for i, l := range lines {
				lines[i] = term.Shorten(l, 200)
			}
			if more > 1 {
				lines = append(lines, fmt.Sprintf("… %d more lines", more))
			}
			return "$ " + strings.Join(lines, "\n  ")
		}
	}
	if text := changeLine(name, args); text != "" {
		return "> " + name + " " + text
	}
	return "> " + term.OneLine(name, 60) + " " + term.OneLine(string(args), 200)
}

// changeLine is a change of a file without the text, which a diff shows better; "" where
// the call is none.
func changeLine(name string, args json.RawMessage) string {
	var in struct {
		Path    string
		Content *string
	}
	if name != files.WriteFileName && name != files.EditFileName || json.Unmarshal(args, &in) != nil || in.Path == "" {
		return ""
	}
	path := term.OneLine(in.Path, 160)
	if in.Content != nil {
		path += " (" + term.Plural(len(slices.Collect(strings.Lines(*in.Content))), "line") + ")"
	}
	return path
}
