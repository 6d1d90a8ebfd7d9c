package plan

import (
	"context"
	"time"

	"mylm/agent"
)

// Runner makes the runs of a plan in other places, as a workflow engine does. The
// planner is then deterministic: it starts no goroutine, reads no clock, makes up no ids,
// and can be run again from what these functions returned. Each run has a session of its
// own, which the task names in its metadata as "session" and which the plan's has no entries
// of. Of the events only an End and an agent.FinalResponse are yielded; a Recovery or a notice
// is an entry.
// Options.AskUser, Agree and Explore do not work here, and neither does Resume.
type Runner interface {
	// Go starts f and returns. Of the functions that it started, and its caller, one at a time
	// runs, until it calls Wait or Run. The context that f gets is the one to call these with.
	Go(ctx context.Context, f func(context.Context))
	// Cancel ends the runs of the functions that Go has started, which return then.
	Cancel()
	// Wait returns once until returns true.
	Wait(ctx context.Context, until func() bool)
	// Run makes a run. It returns the result, in which its error is, the last reply as the model
	// wrote it, and whether a person said stop.
	Run(ctx context.Context, r Run) (result agent.Result, reply string, stopped bool)

	Now() time.Time
	NewID() string
}

// Run is a run of the agent for a plan.
type Run struct {
	Task    string // that it works on, or is about; "": the plan
	Role    string // the template that the model is asked with; "": the task is worked on
	Session string
	Prompt  string
	Next    bool // the session has had a run: that of a task is continued, and without a prompt
	Options agent.Options
}

// sessionKey is the key of Task.Session in a task's metadata.
const sessionKey = "session"

// Session is that of the task's last run by a Runner, for whoever follows the task; "" if there
// is none.
func (t Task) Session() string { return t.Metadata[sessionKey] }

// goBeside has a task worked on.
func (r *run) goBeside(ctx context.Context, f func(context.Context)) {
	if e := r.opts.Runner; e != nil {
		e.Go(ctx, f)
		return
	}
	r.workers.Go(func() error { f(ctx); return nil })
}

// nextOutcome waits for the outcome of a task.
func (r *run) nextOutcome(ctx context.Context) outcome {
	if e := r.opts.Runner; e != nil { // the channel has room for all
		e.Wait(ctx, func() bool { return len(r.outcomes) > 0 })
	}
	return <-r.outcomes
}

func (r *run) now() time.Time {
	if e := r.opts.Runner; e != nil {
		return e.Now()
	}
	return time.Now()
}

func (r *run) newSession() *agent.Session {
	if e := r.opts.Runner; e != nil {
		return &agent.Session{ID: e.NewID()}
	}
	return agent.NewSession()
}

// deliver hands an event to the consumer.
func (r *run) deliver(ev agent.Event) {
	if r.opts.Runner == nil {
		r.events <- ev
		return
	}
	switch ev.Payload.(type) {
	case End, agent.FinalResponse: // of the plan: those of tasks are in their sessions
		r.last = append(r.last, ev)
	case Recovery, agent.Notice:
		r.recordEvent(ev)
	}
}

// yieldLast is the stream of a plan with a Runner.
func (r *run) yieldLast(yield func(agent.Event, error) bool) {
	for _, ev := range r.last {
		if !yield(ev, nil) {
			return
		}
	}
	if failed(r.stop) {
		yield(agent.Event{}, r.err)
	}
}

// failed reports whether a plan that ends so yields an error after the events.
func failed(stop agent.StopReason) bool {
	return stop.Status() == agent.Failed || stop == agent.StopInterrupted
}
