package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/markdown"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

func askCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[QUESTION...] [-]",
		Description: `The question is the arguments, or stdin, or both: then stdin is what it is about.
"-", first or last, waits for stdin to end; without it a pipe that says nothing for 2 s is
left alone.

What only reads in the working directory runs at once. Before anything else runs
you are asked on the terminal; without one it is denied, unless --yes is given or
mylm policy list shows a rule that allows it. Deny rules hold in any case.`,
		UsageText: `mylm ask "which of these files is the largest?"
git diff | mylm ask "write a commit message"
mylm ask --file main.go "what does this do?"
mylm ask --image screenshot.png "what is wrong here?"`,
		Flags: slices.Concat(askFlags(), questionFlags(), cmdline.Group(config.OfMemory,
			&cli.BoolFlag{Name: "continue", Aliases: []string{"c"}, Usage: "continue the last session of this project"})),
		Action: func(c *cli.Context) error {
			if c.Bool("continue") {
				return resumeSession(c, s, "last", c.Args().Slice())
			}
			return runRequest{words: c.Args().Slice()}.do(c, s)
		},
	}
}

// askSettings are what can be set for a question.
func askSettings() []config.Setting {
	return []config.Setting{
		config.Workspace, config.Tree, config.Notes,
		config.ModelName, config.ProfileName, config.Host, config.System, config.Temperature, config.Seed, config.MaxTokens, config.NumCtx, config.KeepAlive, config.Think, config.Form,
		config.Yes, config.Confirm, config.Unasked, config.Tools, config.SandboxMode, config.AllowNet, config.AllowHosts, config.DryRun,
		config.Color, config.Raw,
		config.Save, config.Memory, config.Embedder,
		config.MaxTurns, config.MaxTime, config.Timeout, config.FirstTokenTimeout, config.StepTimeout, config.MaxContextTokens, config.MaxToolResultTokens,
		config.SummarizeAfterTurns, config.KeepRecentTurns, config.SelfEval, config.MaxRepeatedCalls, config.MaxConsecutiveErrors, config.MaxMalformed, config.MaxRepetition,
	}
}

// askFlags are those of everything that asks a question.
func askFlags() []cli.Flag {
	return slices.Concat(
		cmdline.Group(config.OfInput,
			&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, Usage: "send the text of `PATH`, or of stdin if it is -, with the question (repeatable)"},
			&cli.BoolFlag{Name: "clip", Usage: "shorten input that is too long for the model, visibly, instead of refusing it"},
			&cli.BoolFlag{Name: "show-prompt", Usage: "print what would be sent, and send nothing"}),
		config.Flags(askSettings()...),
		cmdline.Group(config.OfOutput, sink.FormFlags(
			&cli.BoolFlag{Name: "no-stream", Usage: "print the answer at the end, not as it comes"},
			&cli.BoolFlag{Name: "stats", Usage: "report the cost of the run at its end"},
			&cli.BoolFlag{Name: "verbose", Usage: "also show thought, tool output and statistics"})...))
}

// questionFlags are those of a question, and not of a plan.
func questionFlags() []cli.Flag {
	return append(cmdline.Group(config.OfInput, &cli.StringSliceFlag{Name: "image", Usage: "send the picture at `PATH`, or on stdin if it is -, with the question (repeatable)"}), cmdline.Group(config.OfOutput, &cli.StringFlag{Name: "schema", Usage: "answer with one JSON value that fits `SCHEMA`: a file, JSON Schema, or a list such as 'name: string, age: int'"})...)
}

// output is where the flags send a run's output.
type output struct {
	screen   *term.Screen
	form     string
	quiet    bool
	sinks    sink.All
	terminal *sink.Terminal
	meter    *sink.Meter // nil: no statistics are wanted
	value    bool        // the answer is one JSON value
	printed  bool        // what was asked for is on stdout already, and it is no answer
}

// newOutput reads the flags. value is whether the answer is a value also without one.
func newOutput(c *cli.Context, s *term.Screen, value bool) (*output, error) {
	form, err := sink.Form(c)
	if err != nil {
		return nil, err
	}
	o := &output{screen: s, form: form, quiet: c.Bool("quiet"), value: value || c.IsSet("schema")}
	s.Still = s.Still || o.quiet
	shown := sink.Options{Quiet: o.quiet, Verbose: c.Bool("verbose"), Plan: c.Bool("plan-only"), Answer: form == sink.Text, Value: o.value, Stream: !c.Bool("no-stream") && !o.value}
	if c.Bool("stats") || shown.Verbose && !o.quiet {
		o.meter = &sink.Meter{}
		shown.Stats = o.meter
	}
	o.terminal = sink.NewTerminal(s, shown)
	if first := sink.New(form, s); first != nil {
		o.sinks = append(o.sinks, first)
	}
	o.sinks = append(o.sinks, o.terminal)
	return o, nil
}

// adapt has the answer shown as the settings and the terminal have it.
func (o *output) adapt(s config.Settings) {
	o.screen.SetColor(config.Color.Or(s, "auto"))
	if !o.value && o.screen.Draws() && !config.Raw.Of(s) {
		o.terminal.Format(markdown.Options{Color: o.screen.AnswerColor, Background: markdown.BackgroundOf(os.Getenv("COLORFGBG"))})
	}
}

// note prints something that --quiet omits.
func (o *output) note(text string) {
	if !o.quiet {
		o.screen.Dim(text)
	}
}

// close closes the sinks, and reports what is left to report.
func (o *output) close(came sink.Outcome, err error) error {
	if err != nil {
		came.Failure = failure.Of(err)
	}
	var failed error
	if !o.printed || err != nil {
		o.screen.Complete()
		failed = cmp.Or(o.sinks.Close(came), o.screen.Failed())
	}
	switch {
	case err != nil:
		o.screen.Report(came.Failure)
		return errors.Join(failure.ErrReported, came.Failure)
	case failed != nil:
		return &failure.Error{Code: failure.ExitError, Name: "internal", Err: fmt.Errorf("the answer could not be written: %w", failed)}
	}
	return nil
}
