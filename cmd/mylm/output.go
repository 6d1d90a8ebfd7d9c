package main

import (
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

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/providers"
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
		return "", usageError("--output is %q; it must be text, json or ndjson", echoed(form))
	}
	if !c.Bool("json") {
		return form, nil
	}
	if c.IsSet("output") && form != formJSON {
		return "", usageError("--json and --output %s exclude each other", form)
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
func printFailure(w io.Writer, form string, f *failure) error {
	switch form {
	case formJSON:
		return printJSON(w, failureJSON(f))
	case formEvents:
		return printLine(w, failedLine{"failure", jsonError{f.name, f.Error(), f.hint}})
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
	screen *screen
	broken chan os.Signal
}

// newEventLines makes a reader that goes away an error of the next line, where
// it would end the process otherwise, and with it the care for what it began.
func newEventLines(s *screen) *eventLines {
	l := &eventLines{screen: s, broken: make(chan os.Signal, 1)}
	signal.Notify(l.broken, syscall.SIGPIPE)
	return l
}

// print reports whether somebody still reads.
func (l *eventLines) print(v any) bool {
	l.screen.mu.Lock()
	defer l.screen.mu.Unlock()
	l.screen.clear()
	if err := printLine(l.screen.out, v); err != nil && l.screen.failed == nil {
		l.screen.failed = err
	}
	return l.screen.failed == nil
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
	parts := []string{plural(r.Turns, "turn"), plural(len(r.Calls), "call")}
	in := least + plural(r.Usage.Prompt, "token") + " in"
	if r.Usage.Evaluated > 0 {
		in += fmt.Sprintf(" (%s%d evaluated)", least, r.Usage.Evaluated)
	}
	parts = append(parts, in, fmt.Sprintf("%s%d out", least, r.Usage.Output))
	if len(m.waits) > 0 {
		parts = append(parts, "first token after "+seconds(m.waits[0]))
		if worst := slices.Max(m.waits); len(m.waits) > 1 {
			parts = append(parts, "at worst after "+seconds(worst))
		}
	}
	if m.stopped > 0 {
		parts = append(parts, fmt.Sprintf("%d stopped at the call", m.stopped))
	}
	return strings.Join(append(parts, seconds(r.Duration)), ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

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
