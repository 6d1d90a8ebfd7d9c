package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"mylm/agent"
	"mylm/agent/remember"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"

	"github.com/urfave/cli/v2"
)

func askCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[QUESTION...] [-]",
		Description: `The question is the arguments, or stdin, or both: then stdin is what it is about.
"-", first or last, waits for stdin to end; without it a pipe that says nothing for 2 s is left alone.

   mylm ask "which of these files is the largest?"
   git diff | mylm ask "write a commit message"
   mylm ask --file main.go "what does this do?"

What only reads in the working directory runs at once. Before anything else runs
you are asked on the terminal; without one it is denied, unless --yes is given or
mylm policy list shows a rule that allows it. Deny rules hold in any case.`,
		Flags: append(askFlags(),
			&cli.BoolFlag{DisableDefaultText: true, Name: "continue", Aliases: []string{"c"}, Usage: "go on with the last session of this project"}),
		Action: func(c *cli.Context) error {
			if c.Bool("continue") {
				return runAsk(c, s, &resuming{id: "last", words: c.Args().Slice()})
			}
			return runAsk(c, s, nil)
		},
	}
}

// askSettings are what can be set for a question.
func askSettings() []config.Setting {
	return []config.Setting{
		config.ModelName, config.ProfileName, config.Host, config.Temperature, config.Seed, config.MaxTokens, config.NumCtx, config.KeepAlive, config.Think,
		config.Timeout, config.FirstTokenTimeout, config.StepTimeout, config.MaxTime, config.MaxContextTokens, config.MaxToolResultTokens,
		config.SummarizeAfterTurns, config.KeepRecentTurns, config.SelfEval, config.DryRun, config.SandboxMode, config.AllowNet, config.System, config.Tree,
		config.MaxTurns, config.Tools, config.AllowHosts, config.Workspace, config.Confirm, config.Unasked, config.Yes, config.Embedder, config.Memory, config.Save,
	}
}

// askFlags are those of everything that asks a question.
func askFlags() []cli.Flag {
	flags := config.Flags(askSettings()...)
	flags = append(flags,
		&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, Usage: "send the text of `PATH` along (repeatable)"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "clip", Usage: "cut input that is too long for the model, visibly, instead of refusing it"},
	)
	return append(append(flags, outputFlags()...),
		&cli.StringFlag{Name: "color", Usage: "auto, always or never", Value: "auto"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "verbose", Usage: "show thought, tool output and statistics too"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "show-prompt", Usage: "print what would be sent, and send nothing"},
	)
}

// runAsk answers a question, in a session that is there unless r is nil.
func runAsk(c *cli.Context, s *term.Screen, r *resuming) error {
	return runAsking(c, s, &asking{resuming: r})
}

// runAsking does what is asked for, with a plan or without.
func runAsking(c *cli.Context, s *term.Screen, a *asking) error {
	if !slices.Contains([]string{"auto", "always", "never"}, c.String("color")) {
		return failure.Usage("--color is %q; it must be auto, always or never", term.Echoed(c.String("color")))
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	a.cli, a.screen, a.session, a.form = c, s, agent.NewSession(), form
	a.screen.SetColor(c.String("color"))
	a.screen.Still = a.screen.Still || c.Bool("quiet")
	a.sinks, a.terminal = a.newSinks()
	err = a.run(c.Context)
	saved := a.saving.Finish() && a.result != nil
	err = a.finish(err)
	if a.setup == nil {
		return err
	}
	defer a.setup.Close()
	kept, failed := false, false
	if a.result != nil {
		kept, failed = a.setup.Memory.Record(c.Context, remember.Run{Session: a.session, Result: *a.result, Question: a.question})
	}
	if saved && c.Context.Err() == nil {
		a.saving.Prune(c.Context)
	}
	if (saved || kept || a.kept) && !failed && !a.saving.Incomplete() && !c.Bool("quiet") {
		setup.TellOnce(a.screen)
	}
	return err
}

// asking is one run of mylm ask.
type asking struct {
	cli      *cli.Context
	screen   *term.Screen
	config   *config.Config
	setup    *setup.Setup // nil: none was made
	model    *setup.Model // nil: none was opened
	question string       // as it is remembered
	session  *agent.Session
	saving   *setup.Recorder // nil: the session is not kept
	resuming *resuming       // nil: the session is a new one
	planning *planning       // nil: no plan is made
	form     string          // text, json or ndjson
	sinks    sink.All
	terminal *sink.Terminal
	meter    sink.Meter
	kept     bool // a plan is kept
	printed  bool // what was asked for is on stdout already, and it is no answer
	result   *agent.Result
}

// run answers the question. The answer stands in result; the error is what is
// left to report.
func (a *asking) run(ctx context.Context) (err error) {
	c := a.cli
	var session *config.Resumed
	if a.resuming != nil {
		if session, err = a.openSession(ctx); err != nil {
			return err
		}
	}
	if a.config, err = config.Load(ctx, c.Command.Flags, session); err != nil {
		return err
	}
	if err := a.rightPlace(); err != nil {
		return err
	}
	p := &setup.Person{Prompter: term.Prompter{Screen: a.screen, View: a.terminal}}
	r := a.planning.request()
	r.Config, r.Session, r.Person, r.Notify = a.config, a.session, p, a.screen
	if a.setup, err = setup.New(ctx, r); err != nil {
		return err
	}
	a.setup.Recorder = a.saving
	if a.resuming != nil && a.setup.Memory.NoSave != "" {
		return failure.Usage("saving is turned off, and a session that is gone on with has to be kept").WithHint("mylm resume --no-save=false turns it on, unless the project forbids it.")
	}
	var in input
	if a.asks() {
		if in, err = readInput(ctx, c, a.words(), a.screen); err != nil {
			return a.withoutGoal(err)
		}
		if in, err = a.planning.input(in); err != nil {
			return err
		}
	}
	a.question = in.remembered()
	if c.Bool("show-prompt") {
		return a.showPrompt(a.setup.Options, in)
	}
	if err := a.setup.OpenModel(ctx); err != nil {
		return err
	}
	a.model, a.saving = a.setup.Model, a.setup.Recorder
	if a.model.Notice != "" && !c.Bool("quiet") {
		a.screen.Dim(a.model.Notice)
	}
	options := a.setup.Options
	options.Effects = a.meter.Effects
	ag, err := agent.New(options)
	if err != nil {
		return err
	}
	request := func(prompt string) (providers.Request, error) { return ag.Request(a.session, prompt) }
	if err := in.fit(ctx, a.model, request, int(options.MaxContextTokens), c.Bool("clip"), a.screen); err != nil {
		return err
	}
	if a.planning != nil {
		return a.carryOut(ctx, options, in, p)
	}
	return a.answer(ctx, ag, in.prompt(), p)
}

// answer runs the agent.
func (a *asking) answer(ctx context.Context, ag *agent.Agent, prompt string, p *setup.Person) error {
	failed := a.sinks.Watch(a.running(), a.events(ctx, ag, prompt))
	result, ok := a.session.Result()
	if !ok {
		return cmp.Or(failed, errors.New("the run ended without a result"))
	}
	a.result = &result
	return a.ended(p)
}

// running is what the sinks are told first.
func (a *asking) running() sink.Run {
	return sink.Run{Session: a.session.ID, Model: a.model.Name, Saved: a.saving != nil}
}

// ended returns what is left to report of a run that has a result.
func (a *asking) ended(p *setup.Person) error {
	f := reported(p, *a.result)
	a.model.Advise(f)
	a.adviseResume(f)
	if providers.KindOf(a.result.Err) == providers.ModelMissing {
		config.ForgetModel(a.model.Name)
	}
	if f != nil {
		return f
	}
	a.model.Answered()
	return nil
}

// finish closes the sinks, and reports what is left to report.
func (a *asking) finish(err error) error {
	o := sink.Outcome{Result: a.result}
	if err != nil {
		o.Failure = failure.Of(err)
	}
	if a.model != nil {
		o.Model = a.model.Name
	}
	var failed error
	if !a.printed || err != nil {
		failed = cmp.Or(a.sinks.Close(o), a.screen.Failed)
	}
	switch {
	case err != nil:
		a.screen.Report(o.Failure)
		return errors.Join(failure.ErrReported, o.Failure)
	case failed != nil:
		return &failure.Error{Code: failure.ExitError, Name: "internal", Err: fmt.Errorf("the answer could not be written: %w", failed)}
	}
	return nil
}

// showPrompt prints the messages that would be sent.
func (a *asking) showPrompt(o agent.Options, in input) error {
	o.Model = unasked{}
	ag, err := agent.New(o)
	if err != nil {
		return err
	}
	r, err := ag.Request(a.session, in.prompt())
	if err != nil {
		return err
	}
	a.printed = true
	if a.form != formText {
		return term.PrintJSON(a.screen, r)
	}
	for i, m := range r.Messages {
		if i > 0 {
			a.screen.Answer("\n")
		}
		a.screen.Answer("=== " + string(m.Role) + " ===\n" + m.Text + "\n")
	}
	return nil
}

// unasked is a model that is never asked: --show-prompt needs none.
type unasked struct{}

// Generate implements providers.Model.
func (unasked) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, errors.New("this model cannot be asked"))
	}
}
