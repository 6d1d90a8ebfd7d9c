package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"mylm/agent"
	"mylm/prompts"
	"mylm/tools"
)

// run is one plan while it lasts. Only its goroutine touches the graph and the
// state; workers hand over the outcome of a task.
type run struct {
	opts    Options
	session *agent.Session
	id      string
	started time.Time
	before  int // iterations of earlier processes, which do not count for the limit
	workers errgroup.Group

	graph       *Graph
	state       State
	cost        totals
	budget      *budget
	unfinished  map[string]*agent.Session // what earlier processes recorded of tasks
	outcomes    chan outcome
	finished    int             // tasks that came to an end
	interrupted map[string]bool // tasks that were in progress when the plan ended
	stop        agent.StopReason
	err         error
	endTasks    bool // the plan has failed or was stopped, maybe after it had reached a limit

	asking         sync.Mutex  // one question to a person at a time
	stopped        atomic.Bool // a person said stop
	plannerTainted atomic.Bool // the planner has read text from outside the workspace

	sending  sync.Mutex
	events   chan agent.Event
	last     []agent.Event     // instead, of a plan with a Runner
	observer func(agent.Event) // gets the plan's own events; nil: there is none
	number   int               // of the plan's own events

	recording sync.Mutex
	seq       int // the last entry of the record
}

// send hands an event to the consumer.
func (r *run) send(ev agent.Event) {
	r.sending.Lock()
	defer r.sending.Unlock()
	r.deliver(ev)
}

// emit hands over an event of the plan's own.
func (r *run) emit(task string, p agent.Payload) {
	r.sending.Lock()
	defer r.sending.Unlock()
	r.number++
	ev := agent.Event{Run: r.id, Task: task, Seq: r.number, Time: r.now(), Payload: p}
	if r.observer != nil {
		r.observer(ev)
	}
	r.deliver(ev)
}

func (r *run) notice(task, code, text string) {
	r.emit(task, agent.Notice{Code: code, Text: text})
}

func (r *run) flaws(flaws []Flaw) {
	for _, f := range flaws {
		r.notice("", f.Code, f.Text)
	}
}

// drive is a plan from its beginning to its end.
func (r *run) drive(ctx context.Context, goal string, tasks []Task, l *loaded) {
	r.state.Goal, r.state.MaxTurns = goal, r.opts.MaxTurns
	if err := r.begin(ctx, goal, tasks, l); err != nil {
		r.stopWith(err)
	} else if err := r.plan(ctx, goal, tasks, l); err != nil {
		r.stopWith(err)
	} else if !r.opts.PlanOnly {
		r.schedule(ctx)
	}
	r.end(ctx)
}

// stopWith ends the plan. The first reason counts.
func (r *run) stopWith(err error) {
	e := asEnd(err)
	if r.stop == "" {
		r.stop, r.err = e.reason, e.err
	}
	r.endTasks = r.endTasks || failed(e.reason) || e.reason == agent.StopDenied
}

// plan makes the graph, of tasks that are given or of the model's.
func (r *run) plan(ctx context.Context, goal string, tasks []Task, l *loaded) error {
	why := Given
	switch {
	case l != nil && len(l.tasks) > 0:
		why, tasks = Resumed, l.pending()
	case len(tasks) > 0:
	case r.opts.NoPlan:
		why, tasks = Direct, []Task{{ID: "t1", Description: goal}}
	default:
		var err error
		if tasks, err = r.askForPlan(ctx, goal); err != nil {
			return err
		}
		if why = Made; len(tasks) == 0 {
			why, tasks = Fallback, []Task{{ID: "t1", Description: goal}}
		}
	}
	if err := r.buildGraph(tasks); err != nil {
		return err
	}
	if r.opts.Agree != nil && !r.opts.PlanOnly && why != Resumed {
		tasks, err := r.opts.Agree(ctx, Planned{Goal: goal, Tasks: r.graph.Tasks(), Why: why})
		switch {
		case ctx.Err() != nil:
			return &planEnd{reasonOf(ctx), context.Cause(ctx)}
		case err != nil:
			return &planEnd{agent.StopDenied, err}
		case tasks != nil:
			why = Given
			if err := r.buildGraph(tasks); err != nil {
				return err
			}
		}
	}
	// The limit is that of the plan's beginning: a model that always adds a task
	// does not move it.
	r.state.MaxIterations = r.before + cmp.Or(r.opts.MaxIterations, max(10, 2*len(r.graph.tasks)))
	return r.publishPlan(ctx, why)
}

// buildGraph makes the graph of tasks.
func (r *run) buildGraph(tasks []Task) error {
	graph, flaws := NewGraph(tasks)
	r.flaws(flaws)
	if len(graph.tasks) == 0 {
		return &planEnd{agent.StopInternal, errors.New("the plan has no tasks")}
	}
	r.graph = graph
	if r.plannerTainted.Load() {
		for i := range graph.tasks {
			graph.tasks[i].note(taintedKey, "true")
		}
	}
	if err := CheckTools(graph.tasks, r.opts.Agent.Tools); err != nil {
		return &planEnd{agent.StopInternal, err}
	}
	r.checkTools()
	return nil
}

// publishPlan records the current plan and emits it.
func (r *run) publishPlan(ctx context.Context, why string) error {
	p := Planned{Goal: r.state.Goal, Tasks: r.graph.Tasks(), Why: why}
	if err := r.recordJSON(ctx, EntryPlan, p); err != nil {
		return err
	}
	r.emit("", p)
	return nil
}

func (r *run) askForPlan(ctx context.Context, goal string) (tasks []Task, err error) {
	data := prompts.PlanData{Goal: goal, Steps: r.opts.Steps}
	for _, t := range r.opts.Agent.Tools.Tools() {
		line, _, _ := strings.Cut(t.Description, "\n")
		data.Tools = append(data.Tools, prompts.PlanTool{Name: t.Name, Description: line})
	}
	q := question{role: prompts.Plan, form: prompts.PlanGoal, data: data, fallback: "no plan was made: the goal is the only task"}
	if r.opts.Explore {
		if q.tools, err = readOnly(r.opts.Agent.Tools); err != nil {
			return nil, &planEnd{agent.StopInternal, err}
		}
	}
	tasks, _, err = consult(ctx, r, &r.cost, q, ParsePlan)
	return tasks, err
}

// readOnly are the tools that only read.
func readOnly(all *tools.Registry) (*tools.Registry, error) {
	var names []string
	for _, t := range all.Tools() {
		if t.Effect(nil).OnlyReads() {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return all.Only(names...)
}

// checkTools drops tools of tasks that are not there.
func (r *run) checkTools() {
	for i := range r.graph.tasks {
		t := &r.graph.tasks[i]
		t.Tools = slices.DeleteFunc(t.Tools, func(name string) bool {
			if r.opts.Agent.Tools.Lookup(name) != nil {
				return false
			}
			r.notice("", NoticeNoTool, fmt.Sprintf("%s lists the tool %q, which does not exist: dropped", t.ID, oneLine(name)))
			return true
		})
	}
}

// schedule runs tasks until none is left that could be done.
func (r *run) schedule(ctx context.Context) {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	running, alone := 0, false
	for {
		for r.stop == "" && ctx.Err() == nil && !alone && running < r.opts.Workers {
			t, ok := r.nextTask(ctx, running)
			if !ok {
				break
			}
			alone = r.runsAlone(t)
			job, err := r.startTask(ctx, t)
			if err != nil {
				r.stopWith(err)
				break
			}
			running++
			r.goBeside(work, func(ctx context.Context) { r.outcomes <- r.act(ctx, job) })
		}
		if running == 0 {
			break
		}
		if r.endTasks {
			cancel()
			if e := r.opts.Runner; e != nil {
				e.Cancel()
			}
		}
		out := r.nextOutcome(ctx)
		running, alone = running-1, false
		r.finishTask(ctx, out)
	}
	_ = r.workers.Wait() // none returns an error
	if ctx.Err() != nil {
		r.stopWith(&planEnd{reasonOf(ctx), context.Cause(ctx)})
	}
}

// nextTask is the task to start, the model's choice if there are several.
// Otherwise it is the first of the plan, or beside others the most urgent.
func (r *run) nextTask(ctx context.Context, running int) (Task, bool) {
	ready := r.graph.Ready()
	if len(ready) == 0 {
		return Task{}, false
	}
	if r.state.Iteration >= r.state.MaxIterations {
		r.stopWith(&planEnd{agent.StopIncomplete, &agent.LimitError{
			Reason: agent.StopIncomplete, Limit: "plan.MaxIterations", Value: r.state.Iteration - r.before,
			Message: "the plan is not done after " + tools.Count(r.state.Iteration, "iteration"),
		}})
		return Task{}, false
	}
	free := r.opts.Workers - running
	switch {
	case running > 0: // a task that has to be alone comes when the others are done
		if ready = slices.DeleteFunc(ready, r.runsAlone); len(ready) == 0 {
			return Task{}, false
		}
	case slices.ContainsFunc(ready, r.runsAlone):
		free = 1
	}
	if r.opts.Workers > 1 {
		r.graph.urgent(ready)
	}
	if r.opts.NoReason || len(ready) <= free {
		return ready[0], true
	}
	choice, read, err := consult(ctx, r, &r.cost, question{
		role: prompts.Reason, form: prompts.PlanState, data: prompts.PlanData{Goal: r.state.Goal, Tasks: planSteps(r.graph.Tasks()), Ready: planSteps(ready)},
		fallback: "the first task that is ready is taken: " + ready[0].ID,
	}, ParseChoice)
	if err != nil {
		r.stopWith(err)
		return Task{}, false
	}
	if !read {
		return ready[0], true
	}
	r.cost.thoughts = appendLast(r.cost.thoughts, choice.Thought)
	r.emit("", Reasoned{choice})
	if i := slices.IndexFunc(ready, func(t Task) bool { return t.ID == choice.TaskID }); i >= 0 {
		return ready[i], true
	}
	r.notice("", NoticeChoice, fmt.Sprintf("%q is not ready: %s is taken, the first that is", oneLine(choice.TaskID), ready[0].ID))
	return ready[0], true
}

// runsAlone reports whether no other task may run beside this one.
func (r *run) runsAlone(t Task) bool {
	if r.opts.Alone == nil || r.opts.Workers == 1 {
		return false
	}
	registry, err := r.toolsOf(t, nil)
	return err != nil || r.opts.Alone(registry)
}

// startTask starts a task.
func (r *run) startTask(ctx context.Context, t Task) (job, error) {
	if err := r.graph.Start(t.ID); err != nil {
		return job{}, err
	}
	r.state.Iteration++
	t, _ = r.graph.Task(t.ID)
	session := r.unfinished[t.ID]
	if r.opts.Runner != nil {
		session = r.newSession()
		t.note(sessionKey, session.ID)
		r.graph.Finish(t)
	}
	if err := r.recordTask(ctx, t, nil); err != nil {
		t.Status = Pending
		r.graph.Finish(t)
		return job{}, err
	}
	r.emit(t.ID, TaskStart{ID: t.ID, Description: t.Description, Iteration: r.state.Iteration, MaxIterations: r.state.MaxIterations})
	j := job{task: t, data: r.taskData(t), session: session, tainted: r.tainted()}
	delete(r.unfinished, t.ID)
	return j, nil
}

// finishTask applies the outcome of a task.
func (r *run) finishTask(ctx context.Context, out outcome) {
	t := out.task
	r.cost.join(out.cost)
	r.state.Learnings = appendLast(r.state.Learnings, out.observation.Learned...)
	blocked := r.graph.Finish(t)
	err := r.recordTask(context.WithoutCancel(ctx), t, out.observation.Learned)
	r.emit(t.ID, TaskEnd{ID: t.ID, Status: t.Status, Result: t.Result, Error: t.Error})
	for _, id := range blocked {
		b, _ := r.graph.Task(id)
		err = cmp.Or(err, r.recordTask(context.WithoutCancel(ctx), b, nil))
		r.emit(id, TaskEnd{ID: id, Status: b.Status, Error: b.Error})
	}
	if t.Status == Pending {
		r.interrupted[t.ID] = true
	} else {
		r.finished++
	}
	switch {
	case out.err != nil:
		r.stopWith(out.err)
	case err != nil:
		r.stopWith(err)
	case r.stopped.Load():
		r.stopWith(&planEnd{agent.StopDenied, nil})
	default:
		r.adjust(ctx, out.observation)
		r.reflect(ctx)
	}
}
