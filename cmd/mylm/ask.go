package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	a := &asking{resuming: r, words: c.Args().Slice()}
	if r != nil {
		a.words = r.words
	}
	return runAsking(c, s, a)
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
	words    []string     // of the question, on the command line
	session  *agent.Session
	saving   *setup.Recorder // nil: the session is not kept
	resuming *resuming       // nil: the session is a new one
	planning *planning       // nil: no plan is made
	form     string          // text, json or ndjson
	sinks    sink.All
	terminal *sink.Terminal
	meter    *sink.Meter // nil: no statistics are wanted
	kept     bool        // a plan is kept
	printed  bool        // what was asked for is on stdout already, and it is no answer
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
	if a.resuming != nil {
		if err := a.rightPlace(); err != nil {
			return err
		}
	}
	p := &setup.Person{Prompter: term.Prompter{Screen: a.screen, View: a.terminal}}
	var r setup.Request
	if a.planning != nil {
		r = a.planning.request()
	}
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
		in, err = readInput(ctx, c, a.words, a.screen)
		if a.planning != nil {
			in, err = a.planning.input(in, err)
		}
		if err != nil {
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
	if a.meter != nil {
		options.Effects = a.meter.Effects
	}
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

// asks reports whether there is a question.
func (a *asking) asks() bool {
	return a.resuming == nil || len(a.words) > 0 || len(a.cli.StringSlice("file")) > 0
}

// answer runs the agent.
func (a *asking) answer(ctx context.Context, ag *agent.Agent, prompt string, p *setup.Person) error {
	events := ag.Resume(ctx, a.session)
	if a.asks() {
		events = ag.Run(ctx, a.session, prompt)
	}
	failed := a.sinks.Watch(a.running(), events)
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
	if f != nil {
		a.model.Advise(f)
		a.adviseResume(f)
	}
	if providers.KindOf(a.result.Err) == providers.ModelMissing {
		config.ForgetModel(a.model.Name)
	}
	if f != nil {
		return f
	}
	a.model.Answered()
	return nil
}

// reported says how a finished run is reported: nil if it is complete.
func reported(p *setup.Person, r agent.Result) *failure.Error {
	f := &failure.Error{Code: failure.ExitPartial, Name: string(r.StopReason)}
	say := func(hint, format string, args ...any) *failure.Error {
		f.Err, f.Hint = fmt.Errorf(format, args...), hint
		return f
	}
	switch r.StopReason {
	case agent.StopComplete:
		return nil
	case agent.StopDenied:
		f.Code = failure.ExitDenied
		var refused *failure.Error
		if errors.As(r.Err, &refused) { // a plan that was not agreed to
			return refused
		}
		if p.Stopped {
			return say("", "stopped by you (%s)", lastCall(r))
		}
		if p.Forbidden {
			return say("mylm policy list shows the rules; mylm policy check CMD says which one it is.", "a call is forbidden, and the model found no other way (%s)", deniedCall(r))
		}
		if p.Bound != "" {
			return say("Ask again and allow it: "+p.BoundBy()+".", "a call was denied, and the model found no other way (%s)", deniedCall(r))
		}
		return say("Ask again and allow it, or allow everything in this run with --yes.", "a call was denied, and the model found no other way (%s)", deniedCall(r))
	case agent.StopMalformed:
		f.Code = failure.ExitMalformed
		return say(failure.Advice(r.Err), "stopped: %w", r.Err)
	case agent.StopInterrupted:
		f.Code, f.Err = failure.ExitInterrupted, failure.ErrInterrupted
		return f
	case agent.StopFinishOther:
		return say("", "the reply is not complete: %v", r.Err)
	case agent.StopRepeatedCall, agent.StopConsecutiveErrors:
		return say(failure.Advice(r.Err), "stopped: %w", r.Err)
	case agent.StopMaxTurns, agent.StopStuck, agent.StopNotVerified, agent.StopTimeout, agent.StopIncomplete:
		if e := limitOf(r); e != nil {
			return atLimit(e)
		}
	case agent.StopInternal:
		return &failure.Error{Code: failure.ExitError, Name: "internal", Err: r.Err, Hint: failure.Advice(r.Err)}
	}
	return failure.Of(r.Err)
}

func lastCall(r agent.Result) string {
	if len(r.Calls) == 0 {
		return "no call"
	}
	return callText(r.Calls[len(r.Calls)-1])
}

// deniedCall is the first call that was denied.
func deniedCall(r agent.Result) string {
	if i := slices.IndexFunc(r.Calls, func(c agent.CallRecord) bool { return c.Denied }); i >= 0 {
		return callText(r.Calls[i])
	}
	return lastCall(r)
}

func callText(c agent.CallRecord) string {
	return term.Visible(term.OneLine(c.Name+" "+string(c.Args), 100))
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
