package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/providers"

	"github.com/urfave/cli/v2"
)

func askCommand(s term.Streams) *cli.Command {
	return &cli.Command{
		Name:      "ask",
		Usage:     "answer a question, with tools where they help",
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

// askFlags are those of everything that asks a question.
func askFlags() []cli.Flag {
	flags := append(slices.Concat(modelFlags(), runLimitFlags(), sandboxFlags()),
		&cli.StringFlag{Name: "system", Usage: "`TEXT` that says who the model is, at the top of the system prompt"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "tree", Usage: "show the model what files there are in the working directory", EnvVars: []string{"MYLM_TREE"}},
		&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, Usage: "send the text of `PATH` along (repeatable)"},
		&cli.IntFlag{Name: "max-turns", Usage: "the most replies of the model", DefaultText: "10", EnvVars: []string{"MYLM_MAX_TURNS"}},
		&cli.StringSliceFlag{Name: "tools", Usage: "only these `NAMES`, or none", EnvVars: []string{"MYLM_TOOLS"}},
		&cli.StringSliceFlag{Name: "allow-host", Usage: "web_fetch may fetch from `HOST`, or HOST:PORT, though it is no public one (repeatable)"},
		workspaceFlag(), confirmModeFlag(),
		&cli.BoolFlag{DisableDefaultText: true, Name: "yes", Aliases: []string{"y"}, Usage: "allow every call without asking: --confirm yolo"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "clip", Usage: "cut input that is too long for the model, visibly, instead of refusing it"},
	)
	return append(append(flags, outputFlags()...),
		&cli.StringFlag{Name: "color", Usage: "auto, always or never", Value: "auto"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "verbose", Usage: "show thought, tool output and statistics too"},
		embedderFlag(),
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-memory", Usage: "the model cannot look at what was remembered", EnvVars: []string{"MYLM_NO_MEMORY"}},
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-save", Usage: "keep nothing of this: no memory, no session", EnvVars: []string{"MYLM_NO_SAVE"}},
		&cli.BoolFlag{DisableDefaultText: true, Name: "show-prompt", Usage: "print what would be sent, and send nothing"},
	)
}

// runAsk answers a question, in a session that is there unless r is nil.
func runAsk(c *cli.Context, s term.Streams, r *resuming) error {
	return runAsking(c, s, &asking{resuming: r})
}

// runAsking does what is asked for, with a plan or without.
func runAsking(c *cli.Context, s term.Streams, a *asking) error {
	if !slices.Contains([]string{"auto", "always", "never"}, c.String("color")) {
		return failure.Usage("--color is %q; it must be auto, always or never", term.Echoed(c.String("color")))
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	if err := enterWorkspace(c); err != nil {
		return err
	}
	a.cli, a.screen, a.streams, a.session, a.form = c, term.NewScreen(s, c.String("color")), s, agent.NewSession(), form
	a.memories = newMemories(a.screen)
	a.screen.Still = a.screen.Still || c.Bool("quiet")
	a.sinks, a.terminal = a.newSinks()
	defer a.memories.close()
	err = a.run(c.Context)
	saved := a.saving.finish() && a.result != nil
	a.unkept = a.saving.incomplete()
	err = a.finish(err)
	a.record(c.Context)
	if saved && c.Context.Err() == nil {
		a.saving.prune(c.Context)
	}
	if (saved || a.kept) && !a.unkept && !c.Bool("quiet") {
		a.tellOnce()
	}
	return err
}

// asking is one run of mylm ask.
type asking struct {
	cli      *cli.Context
	streams  term.Streams
	screen   *term.Screen
	model    *opened
	question string // as it is remembered
	session  *agent.Session
	memories *memories
	saving   *saving   // nil: the session is not kept
	resuming *resuming // nil: the session is a new one
	planning *planning // nil: no plan is made
	form     string    // text, json or ndjson
	sinks    sink.All
	terminal *sink.Terminal
	meter    sink.Meter
	kept     bool // something is remembered
	unkept   bool // something was to be remembered, and could not be
	printed  bool // what was asked for is on stdout already, and it is no answer
	result   *agent.Result
}

// run answers the question. The answer stands in result; the error is what is
// left to report.
func (a *asking) run(ctx context.Context) error {
	c := a.cli
	if a.resuming != nil {
		if err := a.openSession(ctx); err != nil {
			return err
		}
	}
	s, entries, err := gather(c)
	if err != nil {
		return err
	}
	if err := a.memories.permit(ctx, s, entries); err != nil {
		return err
	}
	if a.resuming != nil && a.memories.noSave != "" {
		return failure.Usage("saving is turned off, and a session that is gone on with has to be kept").WithHint("mylm resume --no-save=false turns it on, unless the project forbids it.")
	}
	p := &person{Prompter: term.Prompter{Screen: a.screen, View: a.terminal}}
	question, err := p.question(s.Tools)
	if err != nil {
		return wrongTools(c, err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the working directory is gone: %w", err)
	}
	box, err := s.Sandbox.policy(ctx, dir)
	if err != nil {
		return err
	}
	journal := newJournal(a.session.ID)
	defer journal.End()
	registry, err := toolbox{settings: s, memories: a.memories, session: a.session, journal: journal, sandbox: box, question: question}.registry()
	if err != nil {
		return wrongTools(c, err)
	}
	if registry, err = a.narrowed(registry, s.Tools != nil); err != nil {
		return err
	}
	var in input
	if a.asks() {
		if in, err = readInput(ctx, c, a.words(), a.streams, a.screen); err != nil {
			return a.withoutGoal(err)
		}
		if in, err = a.planning.input(in); err != nil {
			return err
		}
	}
	set, err := loadPrompts()
	if err != nil {
		return err
	}
	if err := checkPrompts(set); err != nil {
		return err
	}
	a.question = in.remembered()
	sections, err := a.memories.remembering().Section(set, registry)
	if err != nil {
		return failure.Config(err)
	}
	tree, err := treeSection(ctx, set, s, dir)
	if err != nil {
		return err
	}
	options := agent.Options{
		Tools: registry, Prompts: set, Identity: value(s.System), Sections: append(sections, tree...), Environment: environment(),
		MaxTurns: a.turns(s), MaxTokens: value(s.MaxTokens), Temperature: s.Temperature, Seed: s.Seed, Think: thinking(s.Think),
	}
	if s.Confirm = a.planning.stricter(s.Confirm); a.planning != nil && a.planning.confirm != "" {
		p.bound = "the workflow"
	}
	g, err := newGuard(s, a.memories.off, p)
	if err != nil {
		return err
	}
	options.Approve = g.approve
	s.runLimits.apply(&options)
	if options.DryRun = a.dryRun(); options.DryRun {
		options.Hooks.BeforeToolCall = g.rehearse
	}
	if c.Bool("show-prompt") {
		return a.showPrompt(options, in)
	}
	if a.model, err = openModel(ctx, s, entries, a.screen, p.Choose); err != nil {
		return err
	}
	if a.model.notice != "" && !c.Bool("quiet") {
		a.screen.Dim(a.model.notice)
	}
	options.Model, options.Labels, options.Effects = a.model.Model, a.labels(), a.meter.Effects
	if rec := a.recorder(); rec != nil {
		options.Recorder = rec
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
		return a.carryOut(ctx, options, in, p, g)
	}
	return a.answer(ctx, ag, in.prompt(), p)
}

// answer runs the agent.
func (a *asking) answer(ctx context.Context, ag *agent.Agent, prompt string, p *person) error {
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
	return sink.Run{Session: a.session.ID, Model: a.model.name, Saved: a.saving != nil}
}

// ended returns what is left to report of a run that has a result.
func (a *asking) ended(p *person) error {
	f := p.outcome(*a.result)
	a.model.advise(f)
	a.adviseResume(f)
	if providers.KindOf(a.result.Err) == providers.ModelMissing {
		forgetModel(a.model.name)
	}
	if f != nil {
		return f
	}
	rememberModel(a.model)
	return nil
}

// finish closes the sinks, and reports what is left to report.
func (a *asking) finish(err error) error {
	o := sink.Outcome{Result: a.result}
	if err != nil {
		o.Failure = failure.Of(err)
	}
	if a.model != nil {
		o.Model = a.model.name
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

func environment() *prompts.Environment {
	dir, _ := os.Getwd()
	shellName := "sh"
	if runtime.GOOS == "windows" {
		shellName = "cmd"
	}
	return &prompts.Environment{OS: runtime.GOOS, Shell: shellName, Directory: dir}
}

func thinking(s *string) providers.Thinking {
	if s == nil || *s == "auto" {
		return providers.ThinkAuto
	}
	return providers.Thinking(*s)
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
