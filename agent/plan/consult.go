package plan

import (
	"context"
	"errors"
	"fmt"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// totals is what was done and used up by part of a plan.
type totals struct {
	actions  []Action
	calls    []agent.CallRecord
	usage    providers.Usage
	partial  bool
	thoughts []string
}

func (c *totals) add(task string, result agent.Result) {
	c.usage, c.partial = c.usage.Add(result.Usage), c.partial || result.UsagePartial
	c.calls = append(c.calls, result.Calls...)
	for _, call := range result.Calls {
		c.actions = append(c.actions, Action{Task: task, Name: call.Name, Args: call.Args, Success: call.Success})
	}
}

func (c *totals) join(d totals) {
	c.usage, c.partial = c.usage.Add(d.usage), c.partial || d.partial
	c.calls, c.actions = append(c.calls, d.calls...), append(c.actions, d.actions...)
	c.thoughts = appendLast(c.thoughts, d.thoughts...)
}

// planEnd is a run of the agent after which the plan cannot continue: the backend
// failed, the record cannot be written, or the plan was stopped.
type planEnd struct {
	reason agent.StopReason
	err    error
}

func (e *planEnd) Error() string { return fmt.Sprintf("%s: %v", e.reason, e.err) }
func (e *planEnd) Unwrap() error { return e.err }

// endOf is how a result ends the plan, nil if it does not.
func endOf(ctx context.Context, result agent.Result) error {
	switch result.StopReason {
	case agent.StopModelError, agent.StopInternal, agent.StopInterrupted:
		return &planEnd{result.StopReason, result.Err}
	}
	if ctx.Err() != nil {
		return &planEnd{result.StopReason, result.Err}
	}
	return nil
}

// turnLimit is the end of a plan whose replies are used up.
func (r *run) turnLimit() error {
	return &planEnd{agent.StopMaxTurns, &agent.LimitError{
		Reason: agent.StopMaxTurns, Limit: "plan.MaxTurns", Value: r.opts.MaxTurns, Message: "the plan is not done after " + tools.Count(r.opts.MaxTurns, "turn"),
	}}
}

// question is what the model is asked beside the tasks.
type question struct {
	task     string // that it is about; "" is the plan
	role     string // the template of the system prompt
	form     string // the template of the message
	data     prompts.PlanData
	tools    *tools.Registry // nil: none
	fallback string          // what happens if the reply cannot be read, for a notice
}

// exploreTurns is how many replies a planner has that may look around: enough for
// a directory and a few files.
const exploreTurns = 6

// consult asks the model for JSON, and once more with what is wrong with it. It
// returns what was read, if the reply could be. An error ends the plan.
func consult[T any](ctx context.Context, r *run, c *totals, q question, parse func(reply string) (T, error)) (seen T, read bool, err error) {
	set := r.opts.Agent.Prompts
	system, err := set.Text(q.role)
	if err != nil {
		return seen, false, &planEnd{agent.StopInternal, err}
	}
	session := r.newSession()
	form := q.form
	for _, next := range []string{"; retrying", ""} {
		prompt, err := set.ForPlan(form, q.data)
		if err != nil {
			return seen, false, &planEnd{agent.StopInternal, err}
		}
		reply, err := r.ask(ctx, c, q, session, system, prompt, next == "")
		if errors.Is(err, errTooLong) {
			break
		}
		if err != nil {
			return seen, false, err
		}
		value, unread := parse(reply)
		if err := r.recordRead(ctx, q, session, value, unread); err != nil {
			return seen, false, err
		}
		if unread == nil {
			return value, true, nil
		}
		form, q.data.Failure = prompts.Unreadable, unread.Error()
		r.notice(q.task, NoticeUnreadable, "the model's reply was not usable: "+oneLine(unread.Error())+next)
	}
	r.notice(q.task, NoticeUnreadable, q.fallback)
	return seen, false, nil
}

// errTooLong is a plan that does not fit into the model's context any more.
var errTooLong = errors.New("the plan is too long for the context of the model")

// ask makes one run of the agent for a question and returns the reply as it
// was written.
func (r *run) ask(ctx context.Context, c *totals, q question, session *agent.Session, system, prompt string, again bool) (string, error) {
	turns := 1
	o := r.opts.Agent
	o.Sections, o.Labels, o.MaxTime, o.SelfEval, o.Approve = nil, nil, 0, "", r.approveReads
	if o.Recorder != nil {
		o.Recorder = &partRecorder{run: r, task: q.task, role: q.role}
	}
	o.System, o.MaxMalformed, o.NoLastWord = system, 1, true
	if o.Tools = q.tools; len(q.tools.Names()) > 0 {
		turns = exploreTurns
		o.System, o.Identity, o.MaxMalformed, o.NoLastWord = "", system, 0, false
	}
	if o.MaxTurns = r.budget.grant(ctx, turns); o.MaxTurns == 0 {
		return "", r.turnLimit()
	}
	result, reply, _, err := r.runAgent(ctx, Run{Task: q.task, Role: q.role, Prompt: prompt, Next: again, Options: o}, session, o.MaxTurns)
	if err != nil {
		return "", err
	}
	if result.Tainted {
		r.plannerTainted.Store(true)
	}
	c.add(q.task, result)
	if err := endOf(ctx, result); err != nil {
		return "", err
	}
	switch {
	case result.StopReason == agent.StopTimeout, result.StopReason == agent.StopContextFull && q.role == prompts.Plan:
		return "", &planEnd{result.StopReason, result.Err}
	case result.StopReason == agent.StopContextFull:
		r.notice(q.task, NoticeUnreadable, errTooLong.Error())
		return "", errTooLong
	}
	return reply, nil
}

// approveReads is asked about the calls of a planner that looks around.
func (r *run) approveReads(ctx context.Context, q agent.ApprovalRequest) (agent.Decision, error) {
	if !q.Effect.OnlyReads() {
		return agent.AllowReads(ctx, q)
	}
	return r.approve(ctx, q)
}

// forward ranges over the events of a run, hands them on, and returns the
// result. Of a question only what a person waits for is handed on.
func (r *run) forward(events func(func(agent.Event, error) bool), task string, whole bool) (result agent.Result) {
	for ev, err := range events {
		if err != nil {
			if result.StopReason == "" { // there was no run
				result = agent.Result{Status: agent.Failed, StopReason: agent.StopInternal, Err: err}
			}
			continue
		}
		switch p := ev.Payload.(type) {
		case agent.FinalResponse:
			result = p.Result
			if !whole {
				continue
			}
		case agent.Waiting, agent.Retry, agent.Thought, agent.ToolCall, agent.ToolOutput:
		default:
			if !whole {
				continue
			}
		}
		ev.Task = task
		r.send(ev)
	}
	return result
}

// asEnd is how an error ends the plan.
func asEnd(err error) *planEnd {
	var e *planEnd
	if errors.As(err, &e) {
		return e
	}
	return &planEnd{agent.StopInternal, err}
}
