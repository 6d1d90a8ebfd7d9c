package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"mylm/agent"
	"mylm/prompts"
	"mylm/tools"
)

// MaxWorkers is how many tasks run side by side at most: a backend on one
// machine does not answer more at once, and a person does not follow more.
const MaxWorkers = 4

// ErrStop is returned by Options.AskUser when a person wants the plan to stop.
var ErrStop = errors.New("stopped by the user")

// Options of a Planner. Agent.Model is required; the zero value of everything
// else is its default. What can be written as JSON is kept with the plan.
type Options struct {
	// Agent is how tasks are run. Its MaxTurns are those of one task; its
	// MaxTime counts for the whole plan. The Recorder gets the session of the
	// plan, with those of the tasks in it.
	Agent agent.Options `json:"-"`

	MaxTurns      int `json:"max_turns,omitempty"`      // replies of the model in the whole plan; 100
	MaxIterations int `json:"max_iterations,omitempty"` // tasks taken up; 10, or twice the tasks of the first plan if that is more
	Workers       int `json:"workers,omitempty"`        // tasks side by side; 1, at most MaxWorkers

	// Alone says of the tools of a task that no other may run beside it, since
	// there may be questions to a person. Nil: none needs that.
	Alone func(*tools.Registry) bool `json:"-"`
	// AskUser asks a person about a task that failed; "" is no answer, and
	// ErrStop ends the plan as denied. Nil: the step is skipped.
	AskUser func(ctx context.Context, question string) (string, error) `json:"-"`
	// Agree shows a plan to a person before anything of it is done, and returns
	// the tasks as they are to be; nil is as they are. An error ends the plan as
	// denied. Nil: the plan is carried out as it is.
	Agree func(ctx context.Context, p Planned) ([]Task, error) `json:"-"`

	// Runner makes the runs in other places. Nil: they are made in this process.
	Runner Runner `json:"-"`

	PlanOnly bool     `json:"-"`                 // end when the plan is there
	Explore  bool     `json:"explore,omitempty"` // the planner may look around with tools that only read
	Steps    []string `json:"steps,omitempty"`   // the plan follows them, if it can

	NoPlan    bool `json:"no_plan,omitempty"`    // the goal is the one task
	NoReason  bool `json:"no_reason,omitempty"`  // tasks are taken up in the order of the plan
	NoObserve bool `json:"no_observe,omitempty"` // a task that was answered is completed
	NoReflect bool `json:"no_reflect,omitempty"` // the plan is not looked at as a whole
	NoRecover bool `json:"no_recover,omitempty"` // a task that fails is failed
}

// Planner makes plans and carries them out. It may be used by several
// goroutines at once.
type Planner struct {
	opts Options
}

// New makes a planner. The errors are those of agent.New, that a number is out of
// range, and that an option does not work with a Runner.
func New(o Options) (*Planner, error) {
	if o.MaxTurns < 0 || o.MaxIterations < 0 {
		return nil, errors.New("plan: MaxTurns or MaxIterations is negative")
	}
	if o.Workers < 0 || o.Workers > MaxWorkers {
		return nil, fmt.Errorf("plan: Workers is %d; it must be from 1 to %d", o.Workers, MaxWorkers)
	}
	if o.Runner != nil && (o.AskUser != nil || o.Agree != nil || o.Explore) {
		return nil, errors.New("plan: AskUser, Agree and Explore do not work with a Runner")
	}
	if _, err := agent.New(o.Agent); err != nil {
		return nil, err
	}
	o.MaxTurns, o.Workers = cmp.Or(o.MaxTurns, 100), cmp.Or(o.Workers, 1)
	o.Agent.MaxTurns = cmp.Or(o.Agent.MaxTurns, 10)
	if o.Agent.Prompts == nil {
		o.Agent.Prompts = prompts.Default()
	}
	if o.Agent.Approve == nil {
		o.Agent.Approve = agent.AllowReads
	}
	return &Planner{o}, nil
}

// Run makes a plan for a goal, unless tasks are given, and carries it out. The
// session, which may be nil, names the record; nothing is read from it.
//
// Events of tasks have their id in Event.Task. The last ones are an End, and
// an agent.FinalResponse whose result is that of the plan: complete only if
// every task is. After them an error is yielded as by agent.Agent.Run. Breaking
// out of the loop, or cancelling ctx, ends all tasks, and Run
// returns when it has ended.
func (p *Planner) Run(ctx context.Context, s *agent.Session, goal string, tasks []Task) iter.Seq2[agent.Event, error] {
	if s == nil {
		s = agent.NewSession()
	}
	return p.stream(ctx, s, func(r *run, ctx context.Context) { r.drive(ctx, goal, tasks, nil) })
}

// Resume continues the plan that a session holds: tasks that were completed
// stay so, those that were running continue where their own run was
// interrupted, and the rest follow. A plan that was not made yet, or not agreed
// to, is made. The options are those of this planner, not those that are kept.
// ErrNoPlan is yielded if the session has none, and agent.ErrComplete if
// nothing of it is left. With Options.Runner it is an error.
func (p *Planner) Resume(ctx context.Context, s *agent.Session) iter.Seq2[agent.Event, error] {
	l, err := read(s)
	switch {
	case err != nil:
	case p.opts.Runner != nil:
		err = errors.New("plan: a plan with a Runner is not resumed")
	case !l.hasOpenTasks():
		err = agent.ErrComplete
	}
	if err != nil {
		return func(yield func(agent.Event, error) bool) { yield(agent.Event{}, err) }
	}
	return p.stream(ctx, s, func(r *run, ctx context.Context) { r.drive(ctx, l.goal, l.given, l) })
}

// Collect ranges over the events of a plan and returns its state.
func Collect(events iter.Seq2[agent.Event, error]) (state State, err error) {
	for ev, e := range events {
		if e != nil {
			err = e
		}
		if end, ok := ev.Payload.(End); ok {
			state = end.State
		}
	}
	return state, err
}

// stream runs a plan in goroutines of its own and hands its events over in that
// of the consumer. It returns when the last of them has ended.
func (p *Planner) stream(ctx context.Context, s *agent.Session, drive func(*run, context.Context)) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		ctx, cancel := p.limitTime(ctx)
		defer cancel()
		r := &run{
			opts: p.opts, session: s, events: make(chan agent.Event),
			outcomes: make(chan outcome, MaxWorkers), budget: newBudget(p.opts.MaxTurns), seq: len(s.Entries()), interrupted: map[string]bool{},
		}
		r.id, r.started = r.newSession().ID, r.now()
		if hook := p.opts.Agent.Hooks.Observe; hook != nil {
			ctx, r.observer = hook(ctx, agent.Observed{Session: s, Plan: true})
		}
		if e := p.opts.Runner; e != nil {
			r.budget.wait = e.Wait
			drive(r, ctx)
			r.yieldLast(yield)
			return
		}
		var panicked any
		go func() {
			defer close(r.events)
			defer func() {
				if panicked = recover(); panicked != nil {
					cancel()
					_ = r.workers.Wait() // they hand over events
				}
			}()
			drive(r, ctx)
		}()
		defer func() {
			cancel()
			for range r.events { // until the last goroutine has ended
			}
		}()
		for ev := range r.events {
			if !yield(ev, nil) {
				return
			}
		}
		switch {
		case panicked != nil:
			panic(panicked)
		case failed(r.stop):
			yield(agent.Event{}, r.err)
		}
	}
}

// limitTime bounds the whole plan.
func (p *Planner) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	d := p.opts.Agent.MaxTime
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return tools.WithTimeout(ctx, d, &agent.LimitError{
		Reason: agent.StopTimeout, Limit: "MaxTime", Value: d, Message: fmt.Sprintf("the plan took longer than %v", d),
	})
}

// budget is how many replies of the model there may still be.
type budget struct {
	mu         sync.Mutex
	released   *sync.Cond
	left, used int
	granted    int // granted and not settled yet

	wait func(ctx context.Context, until func() bool) // of a Runner, where nothing runs at once; or nil
}

func newBudget(n int) *budget {
	b := &budget{left: n}
	b.released = sync.NewCond(&b.mu)
	return b
}

// grant takes up to n replies out of the budget. While all that is left is
// granted to others, which seldom use all of it, it waits for them: they end
// with the plan, so that this does not take longer.
func (b *budget) grant(ctx context.Context, n int) int {
	settled := func() bool { return b.left > 0 || b.granted == 0 }
	if b.wait != nil && !settled() {
		b.wait(ctx, settled)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for !settled() {
		b.released.Wait()
	}
	n = max(0, min(n, b.left))
	b.left, b.granted = b.left-n, b.granted+n
	return n
}

// release gives back what was granted and not used.
func (b *budget) release(granted, used int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.used, b.granted = b.left+granted-used, b.used+used, b.granted-granted
	b.released.Broadcast()
}

func (b *budget) usedTurns() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
