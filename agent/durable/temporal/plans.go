package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/agent/plan"
	"mylm/tools"
)

// PlanName is the workflow of a plan. It takes a PlanInput and returns an Output.
const PlanName = "mylm.plan"

// PlanInput is the input of the workflow of a plan. Each run for it, of a task or in which
// the model is asked about the plan, is a child workflow in a session of its own.
type PlanInput struct {
	Session string       `json:"session"` // "": the workflow's id
	Goal    string       `json:"goal"`
	Tasks   []plan.Task  `json:"tasks,omitempty"` // none: the model makes them
	Allow   tools.Effect `json:"allow,omitempty"` // as in an Input

	// Options are those of the planner that JSON has: Options.Agent is that of the workers,
	// functions do not work here, and Explore is refused.
	Options  plan.Options `json:"options"`
	PlanOnly bool         `json:"plan_only,omitempty"` // as in the options

	TaskTurns int `json:"task_turns,omitempty"` // of one task, as Options.Agent.MaxTurns; 0: those of the workers

	// Prefix is what the ids of the child workflows begin with, before that of the session.
	Prefix string `json:"prefix,omitempty"`
}

// Report is what a plan needs to know of a run.
type Report struct {
	Result  agent.Result `json:"result"`
	Tainted bool         `json:"tainted,omitempty"` // which the result's JSON leaves out
	Reply   string       `json:"reply,omitempty"`   // the last one, as the model wrote it
	Stopped bool         `json:"stopped,omitempty"` // a person said stop to a call
}

// report makes one.
func report(r agent.Result, s *agent.Session, stopped bool) *Report {
	out := &Report{Result: r, Tainted: r.Tainted, Stopped: stopped}
	for _, e := range s.Entries() {
		if reply, ok := e.Payload.(agent.ReplyEntry); ok {
			out.Reply = reply.Raw
		}
	}
	return out
}

// MaxPlanTurns is how many replies of the model a plan in a workflow may have. Each child has
// one at least, and some 11 events in the history of the plan, which no execution continues:
// that is half of the 10,240 events at which Temporal warns.
const MaxPlanTurns = 500

// Plan is a plan, in the coroutines of a workflow.
func (r *Runs) Plan(ctx workflow.Context, in PlanInput) (Output, error) {
	id := cmp.Or(in.Session, workflow.GetInfo(ctx).WorkflowExecution.ID)
	run, cancel := context.WithCancelCause(context.WithValue(context.Background(), coroutine{}, ctx))
	defer cancel(nil)
	e := &effects{runs: r, ctx: ctx, cancel: cancel, session: id, allow: in.Allow}
	if err := e.listen(); err != nil { // a plan has no call that waits: its tasks do
		return Output{}, err
	}
	e.part = in.PlanOnly // nothing is done in a workspace
	if err := e.setUp(Input{}); err != nil {
		return Output{}, err
	}
	e.opts.Labels = labelled(e.opts.Labels, map[string]string{journal.LabelPlan: id})
	e.opts.MaxTurns = cmp.Or(in.TaskTurns, e.opts.MaxTurns)
	o := in.Options
	if o.MaxTurns > MaxPlanTurns {
		return Output{}, refused(fmt.Errorf("the plan has a MaxTurns of %d; in a workflow it may be %d", o.MaxTurns, MaxPlanTurns))
	}
	o.Agent, o.PlanOnly = e.opts, in.PlanOnly
	o.Runner = &parts{effects: e, flushing: workflow.NewMutex(ctx), prefix: in.Prefix}
	p, err := plan.New(o)
	if err != nil {
		return Output{}, refused(err)
	}
	var result agent.Result
	for ev := range p.Run(run, &agent.Session{ID: id}, in.Goal, in.Tasks) {
		if end, ok := ev.Payload.(agent.FinalResponse); ok {
			result = end.Result
		}
	}
	if err := e.flush(); err != nil {
		return Output{}, err
	}
	var unkept error
	if e.runs.Ended != nil {
		unkept, _ = e.ended(result) // nothing is pending
	}
	if err := ctx.Err(); err != nil && result.StopReason == agent.StopInterrupted {
		return Output{}, err
	}
	return output(result, e.last, unkept), nil
}

// output is that of a workflow.
func output(r agent.Result, entries int, unkept error) Output {
	out := Output{Session: r.Session, Run: r.Run, Entries: entries, Status: r.Status, StopReason: r.StopReason, Turns: r.Turns}
	if r.Err != nil {
		out.Error = r.Err.Error()
		out.Fault, out.Limit = plain(r.Err)
	}
	if unkept != nil {
		out.Unkept = unkept.Error()
	}
	return out
}

// err is the error of the run that the output is of.
func (o *Output) err() error {
	switch {
	case o.Limit != nil:
		return o.Limit
	case o.Fault != nil:
		return o.Fault
	case o.Error != "":
		return errors.New(o.Error)
	}
	return nil
}

// parts are the runs of a plan, as child workflows.
type parts struct {
	*effects
	flushing workflow.Mutex // of the plan's record
	prefix   string         // of the ids of workflows
	cancels  []func()       // of coroutines
}

var _ plan.Runner = (*parts)(nil)

// coroutine is the key of the workflow's context in that of a plan's part.
type coroutine struct{}

func (p *parts) in(ctx context.Context) workflow.Context {
	return ctx.Value(coroutine{}).(workflow.Context)
}

// Go implements plan.Runner.
func (p *parts) Go(ctx context.Context, f func(context.Context)) {
	own, cancel := workflow.WithCancel(p.in(ctx))
	p.cancels = append(p.cancels, cancel)
	workflow.Go(own, func(own workflow.Context) { f(context.WithValue(ctx, coroutine{}, own)) })
}

// Cancel implements plan.Runner.
func (p *parts) Cancel() {
	for _, cancel := range p.cancels {
		cancel()
	}
}

// Wait implements plan.Runner. What is waited for ends when the workflow is cancelled.
func (p *parts) Wait(ctx context.Context, until func() bool) {
	own, cancel := workflow.NewDisconnectedContext(p.in(ctx))
	defer cancel()
	_ = workflow.Await(own, until)
}

// Now implements plan.Runner.
func (p *parts) Now() time.Time { return workflow.Now(p.ctx) }

// NewID implements plan.Runner. Child workflows are named after it, so that it follows from
// what a history has: the ids of the namespace and of the workflow are not in it.
func (p *parts) NewID() string {
	p.ids++
	return short(fmt.Sprintf("%s %s %d", p.execution(), p.session, p.ids))
}

// Run implements plan.Runner.
func (p *parts) Run(ctx context.Context, of plan.Run) (result agent.Result, reply string, stopped bool) {
	out, err := p.child(p.in(ctx), of)
	if p.ctx.Err() != nil {
		p.interrupt()
	}
	var cancelled *sdk.CanceledError
	if errors.As(err, &cancelled) {
		_ = cancelled.Details(&out) // one that had not begun has none
	}
	switch {
	case out.Report != nil:
		result, reply, stopped = out.Report.Result, out.Report.Reply, out.Report.Stopped
		result.Tainted, result.Err = out.Report.Tainted, out.err()
	case cancelled != nil, p.in(ctx).Err() != nil:
		result = agent.Result{Status: agent.Failed, StopReason: agent.StopInterrupted, Err: context.Canceled}
	default:
		err = cmp.Or(err, errors.New("the run of a plan's task ended without a report"))
		result = agent.Result{Status: agent.Failed, StopReason: agent.StopInternal, Err: err}
	}
	if p.ctx.Err() != nil && result.StopReason == agent.StopInterrupted {
		result.Err = context.Cause(ctx) // whose it was
	}
	if cancelled != nil && p.in(ctx).Err() == nil {
		text := fmt.Sprintf("the run %s%s, a part of the plan, was cancelled", p.prefix, of.Session)
		if why := out.Error; why != "" && why != context.Canceled.Error() {
			text += ": " + why
		}
		result.Err = interruption(text)
	}
	return result, reply, stopped
}

// child runs a child workflow to its end.
func (p *parts) child(ctx workflow.Context, of plan.Run) (out Output, err error) {
	if err := p.flushIn(ctx); err != nil { // who reads the plan finds what it is for
		return out, err
	}
	of.Options.Labels = p.opts.Labels
	s, err := newSettings(of.Options)
	if err != nil {
		return out, err
	}
	s.Copy = p.home
	text, err := json.Marshal(s)
	if err != nil {
		return out, err
	}
	in := Input{Session: of.Session, Prompt: of.Prompt, Allow: p.allow, Continue: of.Next, Settings: text, Report: true}
	if of.Next && of.Role == "" {
		in.Prompt = ""
	}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: p.prefix + of.Session, WaitForCancellation: true, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
	})
	err = workflow.ExecuteChildWorkflow(ctx, WorkflowName, in).Get(ctx, &out)
	return out, err
}

// flushIn is flush for a part, beside which others run.
func (p *parts) flushIn(ctx workflow.Context) error {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := p.flushing.Lock(ctx); err != nil {
		return err
	}
	defer p.flushing.Unlock()
	if len(p.pending) == 0 {
		return nil
	}
	return p.record(ctx, len(p.pending))
}
