package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

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

// runRequest is what a command asks a model to do.
type runRequest struct {
	words []string        // of the question or the goal
	plan  *planRequest    // nil: no plan is made
	from  *resumedSession // the resumed session; nil: a new one
	talk  *talk           // that the run is a part of; nil: none

	compact bool // it answers nothing: the model sums up the session
}

// do carries a request out: settings become a setup, the setup a run, and the
// events of the run go to the sinks.
func (o runRequest) do(c *cli.Context, s *term.Screen) error {
	out, err := newOutput(c, s, o.from != nil && o.from.schema() != nil)
	if err != nil {
		return err
	}
	// A reader that goes away is an error of the next write. The signal would end the
	// process, and with it the care for what it began.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	r := &run{runRequest: o, flags: c, out: out}
	return r.do(c.Context)
}

// run is a request in execution.
type run struct {
	runRequest
	*setup.Setup // nil until there is one
	flags        *cli.Context
	out          *output
	question     string        // as the memory stores it
	result       *agent.Result // nil: the model was not asked
	cancel       context.CancelCauseFunc
}

// do runs, and reports how that ended.
func (r *run) do(ctx context.Context) error {
	if r.talk == nil {
		return r.end(ctx, r.inTime(ctx))
	}
	return r.end(ctx, r.talk.advised(r.inTime(ctx)))
}

// start sets a run up and runs it. The error is what is left to report.
func (r *run) start(ctx context.Context) error {
	if err := r.setUp(ctx); err != nil {
		return err
	}
	in, err := r.input(ctx)
	if err != nil {
		return err
	}
	r.question = in.remembered()
	if r.flags.Bool("show-prompt") {
		return r.showPrompt(in)
	}
	if err := r.OpenModel(ctx); err != nil {
		return err
	}
	if len(in.images) > 0 {
		if err := r.checkSight(ctx, &in); err != nil {
			return err
		}
	}
	if len(in.attachments)+len(in.images) > 0 {
		r.Options.Labels["title"] = in.question
	}
	if r.Model.Notice != "" {
		r.out.note(r.Model.Notice)
	}
	if r.out.meter != nil {
		r.Options.Effects = r.out.meter.Effects
	}
	ag, err := agent.New(r.Options)
	if err != nil {
		return err
	}
	request := func(prompt string) (providers.Request, error) { return ag.Request(r.Session, prompt, in.images...) }
	if r.compact {
		return r.sumUp(ctx, ag)
	}
	if err := in.fit(ctx, r.Model, request, int(r.Options.MaxContextTokens), r.flags.Bool("clip"), r.out.screen); err != nil {
		return err
	}
	if r.Memory.NoSave == "" && !r.out.quiet {
		setup.ExplainOnce(r.out.screen) // before the question is saved
	}
	if r.plan != nil {
		return r.executePlan(ctx, in)
	}
	return r.answer(ctx, ag, in)
}

// setUp makes the setup from the settings and those of the resumed session.
func (r *run) setUp(ctx context.Context) error {
	var request setup.Request
	if r.plan != nil {
		request = r.plan.request()
	}
	request.Session, request.Notify, request.Asks = agent.NewSession(), r.out.screen, !r.flags.Bool("show-prompt")
	request.Person = &setup.Person{Prompter: term.Prompter{Screen: r.out.screen, View: r.out.terminal}}
	if r.talk != nil {
		request.Before, request.Person.Dialog, request.Person.Mode = r.talk.before, r.talk.dialog, r.talk.mode
		request.Editor = r.talk.buffers
		if r.talk.session != nil {
			request.Session = r.talk.session
		}
		request.Servers = &r.talk.servers
	}
	source := config.Source{Flags: r.flags.Command.Flags}
	if r.talk != nil {
		source.Chosen = r.talk.chosen
	}
	if r.from != nil {
		request.Session, request.Recorder, source.Resumed = r.from.session, r.from.recorder, r.from.settings()
	}
	var err error
	if request.Config, err = config.Load(ctx, source); err != nil {
		return err
	}
	r.limitTime(ctx, request.Config.Settings)
	r.out.adapt(request.Config.Settings)
	if r.from != nil {
		if err := r.from.checkDirectory(request.Config.Workspace); err != nil {
			return err
		}
	}
	if r.Setup, err = setup.New(ctx, request); err != nil {
		return err
	}
	if r.from != nil {
		r.Options.AnswerSchema = r.from.schema()
	}
	if r.flags.IsSet("schema") {
		if r.Options.AnswerSchema, err = answerSchema(r.flags); err != nil {
			return err
		}
		if r.plan != nil {
			return failure.Usage("--schema is for the answer to a question, and this session is a plan")
		}
	}
	if r.from != nil && r.from.recorder != nil && r.Memory.NoSave != "" {
		return failure.Usage("saving is turned off, but a resumed session must be saved").WithHint("mylm resume --no-save=false turns it on, unless the project forbids it.")
	}
	return nil
}

// asks reports whether there is a question; without one a session continues where it stopped.
func (r *run) asks() bool { return !r.compact && (r.from == nil || r.from.asks) }

// input is the question, or the goal, with its attachments.
func (r *run) input(ctx context.Context) (in input, err error) {
	switch {
	case !r.asks():
		return in, nil
	case r.talk != nil:
		return r.talk.message, nil
	}
	in, err = readInput(ctx, r.flags, r.words, r.out.screen)
	switch {
	case r.plan != nil && len(in.images) > 0:
		return in, failure.Usage("a plan takes no pictures").WithHint("Ask about them first: mylm ask --image FILE \"...\"")
	case r.plan == nil:
		return in, err
	case errors.Is(err, errNoQuestion):
		return in, r.plan.withoutGoal(r.flags.String("plan"))
	case err != nil:
		return in, err
	}
	return r.plan.input(in)
}

// answer runs the agent.
func (r *run) answer(ctx context.Context, ag *agent.Agent, in input) error {
	if len(r.Options.Tools.Names()) == 0 && cmp.Or(r.Options.SelfEval, "off") == "off" && !r.flags.Bool("no-stream") {
		r.out.terminal.Lines(r.Model.NeverThinks(ctx, r.out.screen))
	}
	events := ag.Resume(ctx, r.Session)
	if r.asks() {
		events = ag.Run(ctx, r.Session, in.prompt(), in.images...)
	}
	failed := r.out.sinks.Watch(r.about(""), events)
	result, ok := r.Session.Result()
	if !ok {
		return cmp.Or(failed, errors.New("the run ended without a result"))
	}
	r.result = &result
	return r.outcome()
}

// sumUp has the model sum up the session.
func (r *run) sumUp(ctx context.Context, ag *agent.Agent) error {
	done := r.out.screen.Busy("summarizing")
	events := func(yield func(agent.Event, error) bool) {
		for ev, err := range ag.Compact(ctx, r.Session) {
			done()
			if c, ok := ev.Payload.(agent.Compaction); ok {
				r.talk.compacted(c)
			}
			if !yield(ev, err) {
				return
			}
		}
		done()
	}
	err := r.out.sinks.Watch(r.about(""), events)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, agent.ErrTooShort):
		return failure.Usage("the conversation cannot be compacted: %w", err)
	}
	f := *failure.Of(err)
	f.Err = fmt.Errorf("the conversation was not compacted: %w", f.Err)
	return &f
}

// about is what the sinks get first. Only a plan has a goal.
func (r *run) about(goal string) sink.Run {
	return sink.Run{Session: r.Session.ID, Model: r.Model.Name, Saved: r.Recorder != nil, Goal: goal}
}

// outcome returns what is left to report of a run that has a result.
func (r *run) outcome() error {
	f := reported(r.Person, *r.result)
	if providers.KindOf(r.result.Err) == providers.ModelMissing {
		config.ForgetModel(r.Model.Name)
	}
	switch {
	case f == nil:
		r.Model.Answered()
		return nil
	case f.Code == failure.ExitInterrupted && r.out.screen.Failed() != nil: // that ended it
		return nil // out.close reports it
	}
	meant := r.Model.Advise(f)
	if r.talk == nil { // a conversation goes on anyway
		r.adviseResume(f, meant)
	}
	return f
}

// end reports how the run ended, and records it.
func (r *run) end(ctx context.Context, err error) error {
	if r.Setup == nil {
		return r.out.close(sink.Outcome{}, err)
	}
	defer r.Close()
	saved := r.Recorder.Finish() && r.result != nil
	o := sink.Outcome{Result: r.result, Saved: saved}
	if r.Model != nil {
		o.Model = r.Model.Name
	}
	err = r.out.close(o, err)
	if r.result != nil && !r.Options.DryRun {
		r.Memory.Record(ctx, remember.Run{Session: r.Session, Result: *r.result, Question: r.question}, !r.Recorder.Failed())
	}
	if saved && ctx.Err() == nil {
		if n := r.Recorder.Prune(ctx); n > 0 {
			r.out.note(fmt.Sprintf("deleted %s that had not changed for %d days", term.Plural(n, "session"), int(setup.SessionsKept.Hours()/24)))
		}
	}
	return err
}

// reported is the message and exit code of a run that has ended: nil if it is complete.
func reported(p *setup.Person, r agent.Result) *failure.Error {
	if r.StopReason == agent.StopComplete { // the exit code is 0
		return nil
	}
	f := failure.Ended(r)
	if r.StopReason != agent.StopDenied {
		return f
	}
	var refused *failure.Error
	if errors.As(r.Err, &refused) { // a plan that was not agreed to
		return refused
	}
	f.Hint, f.Err = denied(p, r)
	return f
}

// denied describes a run that ended with a denied call, and what to do.
func denied(p *setup.Person, r agent.Result) (hint string, err error) {
	err = fmt.Errorf("a call was denied, and the model found no other way (%s)", deniedCall(r))
	switch {
	case p.Stopped:
		return "", fmt.Errorf("stopped by you (%s)", lastCall(r))
	case p.Forbidden:
		return "mylm policy list shows the rules; mylm policy check CMD says which one it is.",
			fmt.Errorf("a call is forbidden, and the model found no other way (%s)", deniedCall(r))
	case p.Declined:
		return "Ask again, and say what may be done instead.", err
	case p.Changed != "":
		return p.Agree(), err
	case p.Bound != "":
		return "Ask again and allow it: " + p.WhyAsked() + ".", err
	}
	return "Ask again and allow it, or " + cmp.Or(p.Remedy, "allow everything in this run with --yes."), err
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
	return term.Visible(term.OneLine(strings.TrimPrefix(sink.CallLine(c.Name, c.Args), "> "), 100))
}

// showPrompt prints the messages that would be sent.
func (r *run) showPrompt(in input) error {
	o := r.Options
	o.Model = unasked{}
	ag, err := agent.New(o)
	if err != nil {
		return err
	}
	request, err := ag.Request(r.Session, in.prompt(), in.images...)
	if err != nil {
		return err
	}
	r.out.printed = true
	if r.out.form != sink.Text {
		return term.PrintJSON(r.out.screen, request)
	}
	for i, m := range request.Messages {
		if i > 0 {
			r.out.screen.Answer("\n")
		}
		r.out.screen.Answer("=== " + string(m.Role) + " ===\n" + m.Text + "\n")
		for _, name := range (&input{images: m.Images}).pictureNames() {
			r.out.screen.Answer("[picture: " + name + "]\n")
		}
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
