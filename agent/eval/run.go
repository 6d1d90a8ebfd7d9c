package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// Options of an exam.
type Options struct {
	Suite *Suite
	// Agent is how each task is asked: the model, the prompts, limits. Tools,
	// Approve, Recorder, AnswerSchema, MaxTime and Seed are set by the exam, and
	// Sections and Environment are left out: they differ from machine to machine.
	Agent agent.Options
	// Tools are tools that tasks can name beside those of the suite, for instance a
	// program's own. They run as they are: nothing confines them.
	Tools *tools.Registry

	Runs    int    // how often each task is asked; 1
	Seed    *int   // of the first run of each task; the next has the next number. Nil: none is sent
	Workers int    // tasks that are asked at once; 1
	Budget  Budget // after which no other task is begun
	Log     *Log   // keeps the exam, and has what was asked before; nil: nothing is kept
	Version string // of the program: outcomes have it if the exam began with another one
	// Progress is called when a task begins or ends, from one goroutine at a time.
	Progress func(Progress)
}

// Budget bounds an exam. What is zero is no bound.
type Budget struct {
	Tokens int           // of prompts and replies
	Time   time.Duration // of the exam, since this process began it
}

// Progress is how far an exam has come.
type Progress struct {
	Done, All, Passed int
	Task              string        // that begins or has ended
	Ended             *Outcome      // of that task; nil: it begins
	Left              time.Duration // estimated; 0: nobody knows yet
}

// maxFaults is after how many tasks in a row that the backend failed on the exam
// stops: it is the backend that is examined then, not the model.
const maxFaults = 3

// ErrBudget ends an exam whose budget is used up.
var ErrBudget = errors.New("the budget is used up")

// StopError is why an exam ended before its end. The report that comes with it is of
// what was reached; with a Log the exam can be resumed.
type StopError struct{ Err error }

// Error describes the cause.
func (e *StopError) Error() string { return "the exam stopped: " + e.Err.Error() }

// Unwrap returns the cause: of the context, of the backend, or ErrBudget.
func (e *StopError) Unwrap() error { return e.Err }

// Run examines a model. The report is of all that was asked, also if the exam did
// not come to its end: the error is a *StopError then. Every other error is a
// mistake in the options or the suite, or of the log.
//
// The report does not depend on the order in which tasks end or on the number of
// workers, if the model's replies do not.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	o.Runs, o.Workers = max(1, o.Runs), max(1, o.Workers)
	if o.Suite == nil || o.Agent.Model == nil {
		return nil, errors.New("eval: the suite or the model is missing")
	}
	if err := o.Suite.prepare(); err != nil {
		return nil, err
	}
	x := &exam{Options: o, began: time.Now(), again: map[string]bool{}}
	if o.Log != nil {
		if err := o.Log.begin(); err != nil {
			return nil, err
		}
		defer func() { err = cmp.Or(err, o.Log.end()) }()
		for _, done := range o.Log.Outcomes() {
			if done.Cause == ModelFailed && done.Stop != agent.StopFinishOther {
				x.again[taskKey(done.Task, done.Run)] = true
			}
			x.outcomes = append(x.outcomes, done)
			x.tokens += done.Usage.Prompt + done.Usage.Output
		}
	}
	for _, t := range o.Suite.Tasks { // a mistake in any of them ends the exam before it begins
		if err := x.check(t); err != nil {
			return nil, err
		}
	}
	stopped := x.askAll(ctx)
	report = newReport(x)
	if stopped != nil {
		err = &StopError{stopped}
		if report.Stopped = stopped.Error(); errors.Is(stopped, context.Canceled) {
			report.Stopped = "interrupted"
		}
	}
	if o.Log != nil {
		err = cmp.Or(err, o.Log.finish(report))
	}
	return report, err
}

// exam is an exam while it lasts.
type exam struct {
	Options
	began time.Time

	mu       sync.Mutex
	outcomes []Outcome
	again    map[string]bool // of these, what the backend failed on: it is asked again, after all else
	asked    int             // in this process
	tokens   int
	faults   int   // in a row
	stopped  error // why no other task is begun
}

// check makes sure that a task can be asked.
func (x *exam) check(t *Task) error {
	w, err := newWorld(t)
	if err != nil {
		return err
	}
	defer w.close()
	registry, err := w.registry(x.Suite, t, x.Tools)
	if err == nil {
		_, err = agent.New(x.agentOptions(t, 1, registry, x.Agent.Model))
	}
	return err
}

// job is one task that is to be asked.
type job struct {
	task *Task
	run  int
}

// askAll asks what has no outcome yet, and returns why that is not all.
func (x *exam) askAll(ctx context.Context) error {
	var jobs []job
	asked, tasks := map[string]bool{}, map[string]*Task{}
	for _, o := range x.outcomes {
		asked[taskKey(o.Task, o.Run)] = true
	}
	for run := 1; run <= x.Runs; run++ { // a budget cuts off runs before tasks
		for _, t := range x.Suite.Tasks {
			tasks[t.ID] = t
			if !asked[taskKey(t.ID, run)] {
				jobs = append(jobs, job{t, run})
			}
		}
	}
	for _, o := range x.outcomes { // those that failed last come last, so that they block no others
		if t := tasks[o.Task]; t != nil && x.again[taskKey(o.Task, o.Run)] {
			jobs = append(jobs, job{t, o.Run})
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	queue := make(chan job)
	for range min(x.Workers, len(jobs)) {
		workers.Go(func() {
			for j := range queue {
				if err := x.ask(ctx, j); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, j := range jobs {
		select {
		case queue <- j:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
	if len(x.outcomes) == x.Runs*len(x.Suite.Tasks) && len(x.again) == 0 {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return x.stopped
}

// mayBegin returns why no other task is begun, or nil.
func (x *exam) mayBegin(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		x.stopped = ctx.Err()
	case x.Budget.Tokens > 0 && x.tokens >= x.Budget.Tokens:
		x.stopped = fmt.Errorf("%w: %d tokens of %d", ErrBudget, x.tokens, x.Budget.Tokens)
	case x.Budget.Time > 0 && time.Since(x.began) >= x.Budget.Time:
		x.stopped = fmt.Errorf("%w: %v", ErrBudget, x.Budget.Time)
	}
	return x.stopped
}

// agentOptions are those under which a task is asked.
func (x *exam) agentOptions(t *Task, run int, registry *tools.Registry, model providers.Model) agent.Options {
	o := x.Agent
	o.Model, o.Tools, o.Approve = model, registry, agent.AllowAll
	o.Sections, o.Environment, o.Recorder, o.Hooks, o.Tainted = nil, nil, nil, agent.Hooks{}, false
	o.AnswerSchema, o.NoLastWord = t.schema, true
	o.MaxTurns = cmp.Or(t.Limits.Turns, 10)
	o.MaxTime = cmp.Or(t.Limits.Time, DefaultTime)
	if t.Limits.Window > 0 {
		o.MaxContextTokens = agent.Limit(t.Limits.Window)
	}
	if x.Seed != nil {
		o.Seed = new(*x.Seed + run - 1)
	}
	o.Labels = map[string]string{"title": t.ID}
	if x.Log != nil {
		o.Labels["eval"], o.Labels["model"], o.Labels["task"] = x.Log.Exam.ID, x.Log.Exam.Model, t.ID
		o.Recorder = x.Log.sessions
	}
	return o
}

// ask asks one task once. An error ends the exam.
func (x *exam) ask(ctx context.Context, j job) error {
	if x.mayBegin(ctx) != nil {
		return nil
	}
	x.report(Progress{Task: j.task.ID})
	o, err := x.outcome(ctx, j)
	if err != nil || o == nil {
		return err
	}
	if x.Log != nil {
		if err := x.Log.addOutcome(*o); err != nil {
			return err
		}
	}
	x.mu.Lock()
	if key := taskKey(o.Task, o.Run); x.again[key] {
		delete(x.again, key)
		x.outcomes = slices.DeleteFunc(x.outcomes, func(failed Outcome) bool { return taskKey(failed.Task, failed.Run) == key })
	}
	x.outcomes = append(x.outcomes, *o)
	x.asked++
	x.tokens += o.Usage.Prompt + o.Usage.Output
	if o.Cause == ModelFailed {
		x.faults++
	} else {
		x.faults = 0
	}
	tooMany := x.faults >= maxFaults
	x.mu.Unlock()
	x.report(Progress{Task: j.task.ID, Ended: o})
	if tooMany {
		return fmt.Errorf("the backend failed on %d tasks in a row, the last time with: %s", maxFaults, o.Detail)
	}
	return nil
}

// report fills in how far the exam is.
func (x *exam) report(p Progress) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.Progress == nil {
		return
	}
	p.Done, p.All = len(x.outcomes)-len(x.again), x.Runs*len(x.Suite.Tasks)
	for _, o := range x.outcomes {
		if o.Passed {
			p.Passed++
		}
	}
	if x.asked > 0 {
		p.Left = time.Duration(float64(time.Since(x.began)) / float64(x.asked) * float64(p.All-p.Done))
	}
	x.Progress(p)
}

// outcome runs a task. It is nil if the run was cut short and says nothing about
// the model; an error is a reason to stop the exam.
func (x *exam) outcome(ctx context.Context, j job) (*Outcome, error) {
	w, err := newWorld(j.task)
	if err != nil {
		return nil, err
	}
	defer w.close()
	registry, err := w.registry(x.Suite, j.task, x.Tools)
	if err != nil {
		return nil, err
	}
	model := &examined{Model: x.Agent.Model, log: x.Log, task: j.task.ID, run: j.run}
	if x.Log != nil {
		model.had = slices.Clone(x.Log.replies[taskKey(j.task.ID, j.run)])
	}
	options := x.agentOptions(j.task, j.run, registry, model)
	a, err := agent.New(options)
	if err != nil {
		return nil, err
	}
	o := &observer{registry: registry, announced: map[string]bool{}}
	o.Task, o.Category, o.Run, o.Digest = j.task.ID, j.task.Category, j.run, j.task.digest(x.Suite)
	var history []providers.Message
	for _, h := range j.task.History {
		history = append(history, providers.Message{Role: providers.User, Text: string(h.User)}, providers.Message{Role: providers.Assistant, Text: string(h.Assistant)})
	}
	var result agent.Result
	for ev, err := range a.Run(ctx, agent.NewSession(history...), j.task.Question) {
		if err != nil {
			break // it is in the result
		}
		o.see(ev.Payload)
		if f, ok := ev.Payload.(agent.FinalResponse); ok {
			result = f.Result
		}
	}
	switch kind := providers.KindOf(result.Err); {
	case ctx.Err() != nil || result.StopReason == agent.StopInterrupted:
		return nil, nil
	case result.StopReason == agent.StopInternal:
		return nil, result.Err
	case unavailable[kind]:
		return nil, result.Err
	}
	model.mu.Lock()
	o.Seconds = model.seconds
	model.mu.Unlock()
	o.finish(j.task, End{Result: result, Answer: result.Response, State: w.state, Dir: w.dir})
	if x.Log == nil {
		o.Session = ""
	} else if x.Version != x.Log.Exam.Version {
		o.Version = x.Version
	}
	o.Recorded = time.Now()
	return &o.Outcome, nil
}

// unavailable are the faults of a backend that say nothing about the model, and that
// the next task would meet, too.
var unavailable = map[providers.Kind]bool{
	providers.Unreachable: true, providers.ModelMissing: true, providers.CannotChat: true, providers.Auth: true, providers.RateLimited: true, providers.OutOfMemory: true,
}

// digest names what a task asks and checks.
func (t *Task) digest(s *Suite) string {
	used := map[string]*Tool{}
	schemas := map[string]any{}
	for _, name := range t.Tools {
		if tool := s.Tools[name]; tool != nil {
			used[name], schemas[name] = tool, tool.schema
		}
	}
	asked := *t
	asked.Verify, asked.Right, asked.Wrong = nil, nil, nil
	return digest([]any{asked, used, schemas})
}
