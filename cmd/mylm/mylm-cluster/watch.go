package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/plans"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
)

// Pauses between two looks at a session: the first after something has happened, and
// the longest.
const (
	soon = 50 * time.Millisecond
	late = time.Second
)

// cancelWithin is how long the end of a run that was cancelled is waited for: a model call
// learns of it with a heartbeat, at most 10 s later.
const cancelWithin = 30 * time.Second

// watch follows a run in its session until the run is over.
type watch struct {
	*link
	record   record
	run      client.WorkflowRun // nil: its workflow is not known any more
	player   player
	own      bool // it was started here: an interrupt cancels it, and the person decides about its calls
	canceled bool
	person   term.Prompter

	failures map[string]bool // that were reported
	asked    time.Time       // when Temporal was last asked for failures

	over chan struct{} // closed when the workflow has ended
	out  temporal.Output
	err  error
}

// follow waits for the workflow.
func (w *watch) follow(ctx context.Context) {
	w.over, w.failures, w.asked = make(chan struct{}), map[string]bool{}, time.Now()
	if w.run == nil {
		close(w.over)
		return
	}
	go func() {
		defer close(w.over)
		w.err = w.run.Get(ctx, &w.out)
	}()
}

// next returns the entries that have come, once there are some or the run is over.
func (w *watch) next(ctx context.Context) (entries []agent.Entry, over bool, err error) {
	for pause := soon; ; pause = min(2*pause, late) {
		select {
		case <-w.over:
			over = true
		default:
		}
		if !over {
			if err := w.ask(ctx); err != nil {
				return nil, false, err
			}
			w.reportFailures(ctx)
		}
		entries, err := w.record.next(ctx)
		if len(entries) > 0 || over || err != nil {
			return entries, over, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-w.over:
		case <-time.After(pause):
		}
	}
}

// ask looks whether calls wait for a decision where nothing has come for some time, and says
// so once of each.
func (w *watch) ask(ctx context.Context) error {
	if w.canceled {
		return nil
	}
	all := slices.DeleteFunc(w.player.waits(), func(p *player) bool {
		return !p.mayWait() || p.told == p.last.Seq || time.Since(p.looked) < late
	})
	var runs []string
	for _, p := range all {
		runs, p.looked = append(runs, p.result.Session), time.Now()
	}
	for i, said := range w.askAll(ctx, runs) {
		p := all[i]
		if said.err != nil || said.q == nil {
			continue // it may wait for a worker
		}
		p.told = p.last.Seq
		if err := w.waits(ctx, p, said.q); err != nil {
			return err
		}
	}
	return nil
}

// failuresEvery is how often Temporal is asked for failures, and how long that may take.
const failuresEvery = 5 * time.Second

// reportFailures says what failed and is tried again, each message once: nothing of it is
// in the session.
func (w *watch) reportFailures(ctx context.Context) {
	if w.run == nil || time.Since(w.asked) < failuresEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, failuresEvery)
	defer cancel()
	for _, p := range w.player.waits() {
		d, err := w.DescribeWorkflow(ctx, w.workflow(cmp.Or(p.result.Session, w.record.id)), "")
		if err != nil {
			continue // it is not essential
		}
		for _, a := range d.RawResponse.GetPendingActivities() {
			text := term.OneLine(term.Printable(a.GetLastFailure().GetMessage()), 300)
			if text == "" || w.failures[text] {
				continue
			}
			w.failures[text] = true
			w.person.Screen.Say(fmt.Sprintf("mylm-cluster: retrying (attempt %d), since this failed: %s", a.GetAttempt(), text))
		}
	}
	w.asked = time.Now()
}

// events are those of the run, to its end.
func (w *watch) events(ctx context.Context, first []agent.Entry, over bool) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for entries := first; ; {
			for _, e := range entries {
				for _, ev := range w.player.play(e) {
					if !yield(ev, nil) {
						return
					}
				}
			}
			if over {
				result, err := w.result(ctx)
				if err == nil || result.StopReason != "" {
					if !yield(w.player.final(result), nil) {
						return
					}
				}
				if err != nil {
					yield(agent.Event{}, err)
				}
				return
			}
			var err error
			if entries, over, err = w.next(ctx); err != nil {
				if ctx, err = w.interrupted(ctx, err); err != nil {
					yield(agent.Event{}, err)
					return
				}
			}
		}
	}
}

// interrupted cancels the run once, if that is wanted, and returns a context in which its
// end is waited for.
func (w *watch) interrupted(ctx context.Context, err error) (context.Context, error) {
	if ctx.Err() == nil || !w.own || w.canceled {
		return ctx, err
	}
	w.canceled = true
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	context.AfterFunc(ctx, stop)
	if err := w.cancel(ctx, w.record.id, ""); err != nil {
		return ctx, fmt.Errorf("the run could not be cancelled, and goes on: %w", err)
	}
	return ctx, nil
}

// result is what the run came to, and the error if its workflow failed.
func (w *watch) result(ctx context.Context) (agent.Result, error) {
	r := w.player.result
	if w.player.end != nil && w.run == nil || w.err != nil && sdk.IsCanceledError(w.err) {
		r.StopReason = agent.StopInterrupted
		if w.player.end != nil {
			r.StopReason, r.Err = w.player.end.StopReason, errors.New(w.player.end.Error)
		}
		r.Status = r.StopReason.Status()
	} else if w.err != nil {
		return r, w.err
	} else if w.run != nil {
		o := w.out
		r.Run, r.Session, r.Status, r.StopReason, r.Turns = o.Run, o.Session, o.Status, o.StopReason, o.Turns
		switch {
		case o.Limit != nil:
			r.Err = o.Limit
		case o.Fault != nil:
			r.Err = o.Fault
		case o.Error != "":
			r.Err = errors.New(o.Error)
		}
	}
	if w.player.plan != nil {
		r.Response = w.player.plan.Output
		return r, nil
	}
	var err error
	switch r.StopReason {
	case agent.StopInterrupted, agent.StopModelError, agent.StopInternal, agent.StopTimeout, agent.StopContextFull, "":
	default:
		r.Response, err = w.answer(ctx)
	}
	return r, err
}

// answer is the last answer in the session.
func (w *watch) answer(ctx context.Context) (text string, err error) {
	session, err := w.sessions.Open(ctx, w.record.id)
	if err != nil {
		return "", err
	}
	for _, e := range session.Joined() {
		if reply, ok := e.Payload.(agent.ReplyEntry); ok && e.Run == w.player.run {
			text = strings.TrimSpace(reply.Answer)
		}
	}
	return text, nil
}

// show watches a run to its end, and prints what it is.
func (c *cluster) show(ctx *cli.Context, w *watch) error {
	out, err := c.output(ctx)
	if err != nil {
		return err
	}
	w.person.Screen, w.person.View = c.screen, out.terminal
	waiting, stop := context.WithCancel(context.WithoutCancel(ctx.Context))
	defer stop()
	w.follow(waiting)
	first, over, err := w.next(ctx.Context)
	live := ctx.Context
	if err != nil {
		if live, err = w.interrupted(live, err); err != nil {
			return w.left(explained(ctx.Context, err))
		}
	}
	about, shown := sink.Run{Session: w.record.id, Saved: true}, out.sinks
	planOnly := ctx.Bool("plan-only")
	if planOnly {
		shown = sink.All{out.terminal}
	}
	for _, e := range first { // the session line comes first, and names the model
		if begins, ok := e.Payload.(agent.RunEntry); ok {
			if begins.Setup != nil {
				about.Model = begins.Setup.Labels["model"]
			}
			if begins.Name == plan.RunName && !planOnly {
				about.Goal = "…" // until the plan is there
			}
		}
	}
	var result *agent.Result
	events := func(yield func(agent.Event, error) bool) {
		for ev, err := range w.events(live, first, over) {
			if end, ok := ev.Payload.(agent.FinalResponse); ok && ev.Task == "" {
				r := end.Result
				result = &r
			}
			if !yield(ev, err) {
				return
			}
		}
	}
	err = shown.Watch(about, events)
	o := sink.Outcome{Result: result, Saved: true, Model: about.Model}
	switch {
	case err != nil:
		o.Failure = w.left(explained(ctx.Context, err))
	case result != nil:
		if f := failure.Ended(*result); f != nil {
			o.Failure = w.adapted(f, *result)
		}
	}
	if result != nil && w.out.Unkept != "" { // the workflow has ended
		c.screen.Say("mylm-cluster: this run was not remembered: " + term.OneLine(w.out.Unkept, 500))
	}
	c.screen.Complete()
	if o.Failure != nil {
		shown = out.sinks
	}
	if err := shown.Close(o); err != nil && c.screen.Failed() == nil {
		return err
	}
	form, _ := sink.Form(ctx)
	if v := w.player.plan; o.Failure == nil && v != nil && (planOnly || form == sink.Text && v.onlyMade()) {
		return plans.Print(c.screen, form, plan.Planned{Goal: v.Goal, Tasks: v.Tasks})
	}
	if o.Failure == nil {
		return nil
	}
	c.say(o.Failure)
	return errors.Join(failure.ErrReported, o.Failure)
}

// left is why a run is not followed to its end, with how that can be done.
func (w *watch) left(f *failure.Error) *failure.Error {
	select {
	case <-w.over:
		return f
	default:
	}
	left := *f
	left.Hint = strings.TrimSpace(f.Hint + "\nThe run goes on: mylm-cluster tail " + w.record.id + " follows it.")
	return &left
}

// moreWith are the flags for limits of a plan.
var moreWith = map[string]string{"plan.MaxTurns": "--max-turns", "plan.MaxIterations": "--max-iterations"}

// adapted is a failure with hints that hold here: flags of a run are those of its worker.
func (w *watch) adapted(f *failure.Error, r agent.Result) *failure.Error {
	id := w.record.id
	switch {
	case r.StopReason == agent.StopInterrupted:
		if r.Err != nil && !w.canceled {
			f.Err = errors.New(cmp.Or(whose(r.StopReason, r.Err.Error()), f.Err.Error()))
		}
		if w.player.plan != nil {
			f.Hint = "mylm-cluster agent run --resume " + id + " does what is left."
		}
	case r.StopReason == agent.StopDenied:
		f.Hint = "mylm-cluster show " + id + " shows the call. --yes allows every call of a run."
	case strings.HasSuffix(f.Hint, "mylm resume"): // a plan, which is not resumed here
		f.Hint = "mylm-cluster show " + id + " shows what was done. mylm-cluster agent run --resume " + id + " does what is left."
		var limit *agent.LimitError
		if errors.As(r.Err, &limit) && moreWith[limit.Limit] != "" {
			f.Hint += " " + moreWith[limit.Limit] + " allows more."
		}
	case strings.Contains(f.Hint, "--"):
		f.Hint = "For the worker: " + f.Hint
	}
	return f
}
