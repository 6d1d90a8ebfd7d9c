package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"

	"github.com/urfave/cli/v2"
)

// The forms in which a run can be printed.
const (
	formText   = "text"
	formJSON   = "json"
	formEvents = "ndjson"
)

func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "print `FORM`: text, json (one object) or ndjson (every event, one a line)", Value: formText},
		&cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "print one JSON object instead of the answer, as -o json does"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "quiet", Aliases: []string{"q"}, Usage: "print nothing but the answer and errors"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-stream", Usage: "print the answer at the end, not as it comes"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "stats", Usage: "say what the run cost, at its end"},
	}
}

// formOf is how the run is to be printed.
func formOf(c *cli.Context) (string, error) {
	form := c.String("output")
	if !slices.Contains([]string{formText, formJSON, formEvents}, form) {
		return "", failure.Usage("--output is %q; it must be text, json or ndjson", term.Echoed(form))
	}
	if !c.Bool("json") {
		return form, nil
	}
	if c.IsSet("output") && form != formJSON {
		return "", failure.Usage("--json and --output %s exclude each other", form)
	}
	return formJSON, nil
}

// wantedForm is the form that the command line asks for, right or wrong as the
// rest of it may be.
func wantedForm(args []string) string {
	if wantsJSON(args) {
		return formJSON
	}
	for i, arg := range args[min(1, len(args)):] {
		if arg == "--" {
			break
		}
		name, given, inline := strings.Cut(arg, "=")
		if name != "--output" && name != "-output" && name != "-o" {
			continue
		}
		if !inline && i+2 < len(args) {
			given = args[i+2]
		}
		if given == formJSON || given == formEvents {
			return given
		}
	}
	return formText
}

// printFailure writes a failure in the form that was asked for, behind what
// stands on stdout already. Text has it on stderr alone.
func printFailure(w io.Writer, form string, f *failure.Error) error {
	switch form {
	case formJSON:
		return printJSON(w, failureJSON(f))
	case formEvents:
		return printLine(w, failedLine{"failure", jsonError{f.Name, f.Error(), f.Hint}})
	}
	return nil
}

// sessionLine begins the lines of ndjson.
type sessionLine struct {
	Type    string `json:"type"`
	Session string `json:"session"`
	Model   string `json:"model"`
	Saved   bool   `json:"saved"`
}

// failedLine ends the lines of ndjson where the exit code is not 0.
type failedLine struct {
	Type  string    `json:"type"`
	Error jsonError `json:"error"`
}

// printLine writes v as one line of JSON.
func printLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, escapedJSON(b)+"\n")
	return err
}

// eventLines prints events as they come.
type eventLines struct {
	screen *term.Screen
	broken chan os.Signal
}

// newEventLines makes a reader that goes away an error of the next line, where
// it would end the process otherwise, and with it the care for what it began.
func newEventLines(s *term.Screen) *eventLines {
	l := &eventLines{screen: s, broken: make(chan os.Signal, 1)}
	signal.Notify(l.broken, syscall.SIGPIPE)
	return l
}

// print reports whether somebody still reads.
func (l *eventLines) print(v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		l.screen.Failed = cmp.Or(l.screen.Failed, err)
		return false
	}
	return l.screen.Raw(escapedJSON(b) + "\n")
}

// meter measures what no result tells.
type meter struct {
	mu      sync.Mutex
	waits   []time.Duration // until something came, for each reply
	stopped int             // replies that were ended at their call
}

// effects are those of a run, with the meter in them.
func (m *meter) effects(_ *agent.Session, real agent.Effects) agent.Effects { return &metered{real, m} }

type metered struct {
	agent.Effects
	*meter
}

// Model implements agent.Effects.
func (m *metered) Model(ctx context.Context, r agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		start, waiting := time.Now(), true
		for c, err := range m.Effects.Model(ctx, r) {
			if waiting && err == nil {
				waiting = false
				m.mu.Lock()
				m.waits = append(m.waits, time.Since(start))
				m.mu.Unlock()
			}
			if !yield(c, err) {
				if ctx.Err() == nil && err == nil && c.Stop == "" {
					m.mu.Lock()
					m.stopped++
					m.mu.Unlock()
				}
				return
			}
		}
	}
}

// text says what a run cost.
func (m *meter) text(r agent.Result) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	least := ""
	if r.UsagePartial {
		least = "at least "
	}
	parts := []string{term.Plural(r.Turns, "turn"), term.Plural(len(r.Calls), "call")}
	in := least + term.Plural(r.Usage.Prompt, "token") + " in"
	if r.Usage.Evaluated > 0 {
		in += fmt.Sprintf(" (%s%d evaluated)", least, r.Usage.Evaluated)
	}
	parts = append(parts, in, fmt.Sprintf("%s%d out", least, r.Usage.Output))
	if len(m.waits) > 0 {
		parts = append(parts, "first token after "+term.Seconds(m.waits[0]))
		if worst := slices.Max(m.waits); len(m.waits) > 1 {
			parts = append(parts, "at worst after "+term.Seconds(worst))
		}
	}
	if m.stopped > 0 {
		parts = append(parts, fmt.Sprintf("%d stopped at the call", m.stopped))
	}
	return strings.Join(append(parts, term.Seconds(r.Duration)), ", ")
}

// shows returns what shows an event; it reports whether somebody is there to see
// the next.
func (a *asking) shows(v *view) func(agent.Event) bool {
	if a.form != formEvents {
		return func(ev agent.Event) bool { v.event(ev); return true }
	}
	lines := newEventLines(a.screen)
	begun := lines.print(sessionLine{"session", a.session.ID, a.model.name, a.saving != nil})
	return func(ev agent.Event) bool {
		v.event(ev)
		return begun && lines.print(ev)
	}
}
