package plan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/prompts"
	"mylm/tools"
)

// job is a task for a worker, with all that it needs.
type job struct {
	task    Task
	data    prompts.PlanData
	session *agent.Session // what another process did of it; nil: nothing
	tainted bool           // text from outside the workspace is in the prompt
}

// outcome is the result of a worker's task.
type outcome struct {
	task        Task
	cost        totals
	observation Observation
	err         error // ends the plan
}

// tainted reports whether a task that is done has read text from outside the workspace:
// its result is shown to others.
func (r *run) tainted() bool {
	return slices.ContainsFunc(r.graph.tasks, func(t Task) bool { return t.hasNote(taintedKey) })
}

// act works on a task until it is completed or given up.
func (r *run) act(ctx context.Context, j job) (out outcome) {
	defer func() { // a bug in a tool's neighbourhood is not to hang the plan
		if r.opts.Runner != nil { // its panics are its own: some end a coroutine
			return
		}
		if p := recover(); p != nil {
			out = outcome{task: j.task, err: &planEnd{agent.StopInternal, fmt.Errorf("the task %s crashed: %v", j.task.ID, p)}}
			out.task.Status = Pending
		}
	}()
	out.task = j.task
	var without []string
	for tried := 1; ; tried++ {
		result, err := r.attempt(ctx, &out.cost, &j, without)
		if result.Tainted {
			j.tainted = true
			out.task.note(taintedKey, "true")
		}
		if err == nil {
			err = r.evaluate(ctx, &out, j, result, tried)
		}
		if err == nil && out.task.Status == Failed {
			without, err = r.handleFailure(ctx, &out, &j, result)
		}
		if out.err = err; err != nil {
			out.task.Status = Pending
		}
		if out.task.Status != Failed || r.opts.NoRecover {
			return out
		}
	}
}

// evaluate derives a task's status from the end of its run: an answered task is
// completed, if the observer agrees.
func (r *run) evaluate(ctx context.Context, out *outcome, j job, result agent.Result, tried int) error {
	t := &out.task
	t.note("attempts", fmt.Sprint(tried))
	t.Status, t.Result, t.Error = Completed, result.Response, ""
	if failure := failureOf(result); failure != "" {
		t.Status, t.Error = Failed, failure
		return nil
	}
	return r.observe(ctx, out, j)
}

// handleFailure decides how to proceed with a task that has just failed, and without
// which tools: another attempt, or the task is given up. What was denied is not tried
// again.
func (r *run) handleFailure(ctx context.Context, out *outcome, j *job, result agent.Result) (without []string, err error) {
	t := &out.task
	switch {
	case r.opts.NoRecover:
	case wasDenied(result):
		t.note(deniedKey, "true")
		r.emit(t.ID, Recovery{ID: t.ID, Step: StepSkip, Reason: t.Error})
		t.Status = Blocked
	default:
		var step Step
		if step, without, err = r.recover(ctx, t, j, failedTools(result)); err != nil || step != StepSkip {
			return without, err
		}
		t.Status = Blocked
	}
	t.Result = ""
	if result.Status == agent.Success { // the observer has said what there is to say
		return nil, nil
	}
	return nil, r.observe(ctx, out, *j)
}

// attempt has the agent do the task. A run that used up its share of the plan's
// budget continues with what other tasks release.
func (r *run) attempt(ctx context.Context, c *totals, j *job, without []string) (agent.Result, error) {
	o, prompt, err := r.setUp(j, without)
	if err != nil {
		return agent.Result{}, &planEnd{agent.StopInternal, err}
	}
	session := j.session
	j.session = nil
	switch {
	case session == nil: // for the first time, or after a failure
		session = r.newSession()
		if r.opts.Runner != nil { // of the first session it is recorded that the task starts
			j.task.note(sessionKey, session.ID)
			r.graph.Finish(j.task)
			if err := r.recordTask(ctx, j.task, nil); err != nil {
				return agent.Result{}, err
			}
		}
	case r.opts.Runner != nil: // what it holds is there
	case errors.Is(session.Resumable(), agent.ErrComplete):
		return answered(session), nil
	case !session.Unfinished(): // its record ends before the prompt
		session = agent.NewSession()
	}
	before := turnsOf(session)
	next := false
	for want := max(1, o.MaxTurns-before); ; before = 0 {
		granted := r.budget.grant(ctx, want)
		if granted == 0 {
			return agent.Result{}, r.turnLimit()
		}
		o.MaxTurns = before + granted
		result, _, used, err := r.runAgent(ctx, Run{Task: j.task.ID, Prompt: prompt, Next: next, Options: o}, session, granted)
		if err != nil {
			return agent.Result{}, err
		}
		next = true
		c.add(j.task.ID, result)
		switch {
		case errors.Is(result.Err, agent.ErrDiverged): // written by another version: the task starts again
			return agent.Result{StopReason: agent.StopIncomplete, Err: result.Err}, nil
		case r.stopped.Load() && result.Status != agent.Success:
			return result, &planEnd{agent.StopDenied, nil}
		case result.StopReason != agent.StopMaxTurns || granted == want:
			return result, endOf(ctx, result)
		}
		want -= used
	}
}

// setUp are the options of a task's run, and its prompt.
func (r *run) setUp(j *job, without []string) (o agent.Options, prompt string, err error) {
	o = r.opts.Agent
	o.MaxTime, o.Tainted, o.Approve, o.Labels, o.NoLastWord = 0, o.Tainted || j.tainted, r.approve, nil, true
	if o.Recorder != nil {
		o.Recorder = &partRecorder{run: r, task: j.task.ID}
	}
	if o.Tools, err = r.toolsOf(j.task, without); err != nil {
		return o, "", err
	}
	prompt, err = o.Prompts.ForPlan(prompts.PlanTask, j.data)
	return o, prompt, err
}

// runAgent makes a run of the agent, or continues its session, and returns the last reply as
// the model wrote it, and how many of its granted replies it has used. Of a question, which
// is not whole, only what a person waits for is shown.
func (r *run) runAgent(ctx context.Context, of Run, s *agent.Session, granted int) (result agent.Result, reply string, used int, err error) {
	o, whole := of.Options, of.Role == ""
	defer func() { r.budget.release(granted, used) }()
	if e := r.opts.Runner; e != nil {
		of.Session = s.ID
		var stopped bool
		if result, reply, stopped = e.Run(ctx, of); stopped {
			r.stopped.Store(true)
		}
		return result, reply, result.Turns, nil
	}
	if hook := o.Hooks.Observe; hook != nil {
		o.Hooks.Observe = func(ctx context.Context, seen agent.Observed) (context.Context, func(agent.Event)) {
			seen.Task = of.Task
			return hook(ctx, seen)
		}
	}
	a, err := agent.New(o)
	if err != nil {
		return result, "", 0, &planEnd{agent.StopInternal, err}
	}
	var events iter.Seq2[agent.Event, error]
	if whole && s.Unfinished() {
		events = a.Resume(ctx, s)
	} else {
		events = a.Run(ctx, s, of.Prompt)
	}
	result = r.forward(events, of.Task, whole)
	_, last := lastReply(s.Entries())
	return result, last.Raw, max(0, result.Turns-(o.MaxTurns-granted)), nil
}

// answered is the result of a run that was recorded to its end.
func answered(s *agent.Session) agent.Result {
	_, reply := lastReply(s.Joined())
	return agent.Result{Status: agent.Success, StopReason: agent.StopComplete, Response: strings.TrimSpace(reply.Answer), Tainted: s.Tainted()}
}

// turnsOf is how many turns of its last run a session holds, if that run is continued.
func turnsOf(s *agent.Session) (n int) {
	for _, e := range s.Entries() {
		switch e.Payload.(type) {
		case agent.ReplyEntry:
			n = max(n, e.Turn)
		case agent.EndEntry:
			n = 0
		}
	}
	return n
}

// failureOf returns why a run did not do its task, "" if it did.
func failureOf(result agent.Result) string {
	switch {
	case result.Status == agent.Success:
		return ""
	case result.Err != nil:
		return fmt.Sprintf("%s: %s", result.StopReason, oneLine(result.Err.Error()))
	}
	return string(result.StopReason)
}

// wasDenied reports whether a run failed because a person or a rule denied a call.
func wasDenied(result agent.Result) bool {
	n := len(result.Calls)
	return result.StopReason == agent.StopDenied || result.Status != agent.Success && n > 0 && result.Calls[n-1].Denied
}

// failedTools are those whose last call failed.
func failedTools(result agent.Result) (names []string) {
	last := map[string]bool{}
	for _, c := range result.Calls {
		last[c.Name] = c.Success
	}
	for _, c := range result.Calls {
		if !last[c.Name] && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// toolsOf are the tools of a task, but for some.
func (r *run) toolsOf(t Task, without []string) (*tools.Registry, error) {
	all := r.opts.Agent.Tools
	if all == nil || t.Tools == nil && len(without) == 0 {
		return all, nil
	}
	var names []string
	for _, name := range all.Names() {
		if (t.Tools == nil || slices.Contains(t.Tools, name)) && !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	return all.Only(names...)
}

// approve asks for one task at a time.
func (r *run) approve(ctx context.Context, q agent.ApprovalRequest) (agent.Decision, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return agent.Decision{}, err
	}
	if r.stopped.Load() {
		return agent.Decision{Verdict: agent.Stop}, nil
	}
	d, err := r.opts.Agent.Approve(ctx, q)
	if err == nil && d.Verdict == agent.Stop {
		r.stopped.Store(true)
	}
	return d, err
}

// observe has the model judge a result. It may find that a task was not done,
// and never that one was which failed.
func (r *run) observe(ctx context.Context, out *outcome, j job) error {
	if r.opts.NoObserve || r.stopped.Load() {
		return nil
	}
	t := &out.task
	shown := planStep(*t)
	shown.Result = truncate(t.Result, maxResult)
	if t.Error != "" {
		shown.Result = t.Error
	}
	seen, read, err := consult(ctx, r, &out.cost, question{
		task: t.ID, role: prompts.Observe, form: prompts.PlanState,
		data:     prompts.PlanData{Goal: j.data.Goal, Tasks: j.data.Tasks, Task: &shown},
		fallback: fmt.Sprintf("%s counts as %s, as its run ended", t.ID, t.Status),
	}, ParseObservation)
	if err != nil || !read {
		return err
	}
	if t.Status != Completed {
		seen.Success = false
	}
	out.observation = seen
	out.cost.thoughts = appendLast(out.cost.thoughts, seen.Progress)
	r.emit(t.ID, Observed{t.ID, seen})
	if t.Status == Completed && !seen.Success {
		t.Status, t.Error = Failed, "the result is not what was asked for"
		if seen.Reason != "" {
			t.Error += ": " + oneLine(seen.Reason)
		}
	}
	return nil
}
