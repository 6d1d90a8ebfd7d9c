package main

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"

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
func wantedForm(args []string) (form string) {
	form = formText
	for i, arg := range args[min(1, len(args)):] {
		name, given, inline := strings.Cut(arg, "=")
		switch name {
		case "--":
			return form
		case "--json", "-json":
			if on, err := strconv.ParseBool(given); !inline || err == nil && on {
				return formJSON
			}
		case "--output", "-output", "-o":
			if !inline && i+2 < len(args) {
				given = args[i+2]
			}
			if form == formText && (given == formJSON || given == formEvents) {
				form = given
			}
		}
	}
	return form
}

// formSink is what prints a run in a form; nil for text, which the terminal
// shows.
func formSink(form string, out io.Writer) sink.Sink {
	switch form {
	case formJSON:
		return sink.NewJSON(out)
	case formEvents:
		return sink.NewLines(out)
	}
	return nil
}

// newSinks are what takes a run.
func (a *asking) newSinks() (all sink.All, terminal *sink.Terminal) {
	c := a.cli
	o := sink.Options{
		Quiet: c.Bool("quiet"), Verbose: c.Bool("verbose"), Plan: c.Bool("plan-only"),
		Answer: a.form == formText, Stream: !c.Bool("no-stream"),
	}
	if c.Bool("stats") || o.Verbose && !o.Quiet {
		a.meter = &sink.Meter{}
		o.Stats = a.meter
	}
	terminal = sink.NewTerminal(a.screen, o)
	if s := formSink(a.form, a.screen); s != nil {
		all = append(all, s)
	}
	return append(all, terminal), terminal
}
