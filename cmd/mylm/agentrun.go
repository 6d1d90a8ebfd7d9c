package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/agent/remember"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/plans"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/policy"
)

// planRequest is what a command wants of a plan.
type planRequest struct {
	tasks    []plan.Task
	workflow *workflowRun // nil: the goal is what was typed
	context  map[string]string
	confirm  string      // of the workflow: the mode can only be stricter
	saved    *plan.Saved // the plan that is resumed; nil: a new one
}

// input is the goal as the model gets it.
func (p *planRequest) input(in input) (input, error) {
	if p.workflow == nil {
		in.question = plan.WithContext(in.question, p.context)
		return in, nil
	}
	goal, tasks, err := p.workflow.fill(in.question)
	if err != nil {
		return in, err
	}
	in.question = goal
	if len(p.tasks) == 0 {
		p.tasks = tasks
	}
	return in, nil
}

// withoutGoal reports what is missing if nothing was typed or piped in.
func (p *planRequest) withoutGoal(file string) error {
	switch {
	case p.workflow != nil:
		return p.workflow.withoutText()
	case len(p.tasks) > 0:
		return failure.Usage("there is no goal").WithHint("The plan names none. Say what it is for: mylm agent run --plan " + term.ShellQuote(file) + " \"...\"")
	}
	return failure.Usage("there is no goal").WithHint("Say what is to be done: mylm agent run \"find out which test is slow, and why\"")
}

// executePlan makes a plan and carries it out, as far as the flags want that.
func (r *run) executePlan(ctx context.Context, in input) error {
	options := r.planOptions()
	goal := in.prompt()
	if saved := r.plan.saved; saved != nil {
		goal = saved.Goal
	}
	if err := plan.CheckTools(r.plan.tasks, r.Options.Tools); err != nil {
		return failure.Usage("%v", err)
	}
	cache, key := r.planCache(goal)
	var unread error
	if len(r.plan.tasks) == 0 && cache != nil && r.asks() {
		tasks, ok, err := cache.Get(key)
		if unread = err; err != nil {
			cache = nil
		}
		if ok {
			r.plan.tasks = tasks
			r.out.note("using the plan that was saved for this goal; --fresh makes a new one")
		}
	}
	if r.flags.Bool("plan-only") {
		r.reportCacheError(unread)
		made, err := r.makePlan(ctx, options, goal)
		if err != nil {
			return err
		}
		if cache != nil && made.Why == plan.Made {
			r.savePlan(cache, key, goal, made.Tasks)
		}
		return r.out.printPlan(made, r.flags.Bool("mermaid"))
	}
	log := &remember.PlanLog{Recorder: options.Agent.Recorder}
	if log.Recorder != nil {
		options.Agent.Recorder = log
	}
	planner, err := plan.New(options)
	if err != nil {
		return failure.Usage("%v", err)
	}
	events := planner.Resume
	if r.asks() {
		events = func(ctx context.Context, s *agent.Session) planEvents {
			return planner.Run(ctx, s, goal, r.plan.tasks)
		}
	}
	var o outcome
	failed := append(r.out.sinks, &o).Watch(r.about(cmp.Or(r.question, goal)), events(ctx, r.Session))
	r.result = o.result
	switch {
	case unread != nil:
		r.reportCacheError(unread)
	case cache == nil: // a plan that did not lead to the goal is made anew
	case o.end.Success && len(o.made) > 0:
		r.savePlan(cache, key, goal, o.made)
	case o.end.StopReason == agent.StopIncomplete:
		r.reportCacheError(cache.Forget(key))
	}
	if s, bad := log.Session(r.Session.ID); bad == nil {
		r.Session = s // for the memory
	}
	switch {
	case r.result != nil:
		return r.outcome()
	case r.out.screen.Failed() != nil:
		return nil // out.close reports it
	}
	return cmp.Or(explainSession(failed), errors.New("the plan ended without a result"))
}

// planEvents are the events of a plan.
type planEvents = iter.Seq2[agent.Event, error]

// planOptions are those of the resumed plan, if there is one, unless flags override them.
func (r *run) planOptions() plan.Options {
	c, o, s := r.flags, r.Options, r.Config.Settings
	var options plan.Options
	if saved := r.plan.saved; saved != nil {
		options = saved.Options
	}
	options.MaxTurns = config.PlanTurns.Or(s, options.MaxTurns)
	if config.MaxTurns.From(s).Kind == config.Flag { // of mylm resume
		options.MaxTurns = config.MaxTurns.Of(s)
	}
	options.MaxIterations = config.MaxIterations.Or(s, options.MaxIterations)
	o.MaxTurns = cmp.Or(c.Int("task-turns"), config.MaxTurns.Of(s.Without(config.Flag, config.Variable)))
	if r.plan.confirm != "" {
		o.Labels["confirm"] = r.plan.confirm
	}
	if w := r.plan.workflow; w != nil {
		o.Labels["workflow"] = w.Name
	}
	plans.Set(c, &options)
	options.Agent, options.Alone = o, func(registry *tools.Registry) bool { return mayAsk(r.Guard.Mode(), registry) }
	if options.Explore {
		options.Agree = func(ctx context.Context, made plan.Planned) ([]plan.Task, error) {
			return r.agree(ctx, made)
		}
	}
	if r.Person.Absent() == "" {
		options.AskUser = func(ctx context.Context, question string) (string, error) { return adviseTask(ctx, r.Person, question) }
	}
	return options
}

// adviseTask asks what is to be done about a task that failed.
func adviseTask(ctx context.Context, p *setup.Person, question string) (string, error) {
	answer, err := p.Answer(ctx, ask.Question{Text: question + " [s]top stops the plan."})
	if errors.Is(err, ask.ErrNoAnswer) {
		return "", nil
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "s", "stop":
		p.Stopped = true
		return "", plan.ErrStop
	}
	return answer, err
}

// mayAsk reports whether calls of some tools can lead to a question.
func mayAsk(mode policy.Mode, registry *tools.Registry) bool {
	switch mode {
	case policy.Yolo:
		return false
	case policy.ConfirmAll:
		return true
	}
	return slices.ContainsFunc(registry.Tools(), func(t *tools.Tool) bool { return t.Finds != nil || t.Effect(nil).Sensitive() })
}

// makePlan makes the plan and carries nothing out.
func (r *run) makePlan(ctx context.Context, o plan.Options, goal string) (plan.Planned, error) {
	o.PlanOnly, o.Agent.Recorder = true, nil
	planner, err := plan.New(o)
	if err != nil {
		return plan.Planned{}, failure.Usage("%v", err)
	}
	var came outcome
	_ = sink.All{r.out.terminal, &came}.Watch(sink.Run{}, planner.Run(ctx, nil, goal, r.plan.tasks)) // the result has the error
	if came.result == nil {
		return came.plan, errors.New("the planner ended without a result")
	}
	if f := reported(r.Person, *came.result); f != nil {
		return came.plan, f
	}
	r.Model.Answered()
	return came.plan, nil
}

// outcome is a sink that keeps the result of a plan.
type outcome struct {
	plan   plan.Planned
	made   []plan.Task // by the model
	end    plan.State
	result *agent.Result
}

// Open implements sink.Sink.
func (*outcome) Open(sink.Run) error { return nil }

// Event implements sink.Sink.
func (o *outcome) Event(ev agent.Event) error {
	switch e := ev.Payload.(type) {
	case plan.Planned:
		if o.plan = e; e.Why == plan.Made {
			o.made = e.Tasks
		}
	case plan.End:
		o.end = e.State
	case agent.FinalResponse:
		if ev.Task == "" {
			o.result = &e.Result
		}
	}
	return nil
}

// Close implements sink.Sink.
func (*outcome) Close(sink.Outcome) error { return nil }

// printPlan prints a plan in the form that the flags select.
func (o *output) printPlan(made plan.Planned, mermaid bool) error {
	o.printed = true
	if mermaid {
		o.screen.Answer(plan.Mermaid(made.Tasks))
		return nil
	}
	return plans.Print(o.screen, o.form, made)
}
