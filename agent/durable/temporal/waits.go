package temporal

import (
	"context"
	"errors"
	"slices"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
)

// flush appends what is pending, also of a cancelled run.
func (e *effects) flush() error {
	if len(e.pending) == 0 {
		return nil
	}
	ctx, cancel := workflow.NewDisconnectedContext(e.ctx)
	defer cancel()
	return e.record(ctx, len(e.pending))
}

// record appends the first of the entries that are pending, and waits for the database. It
// is no local activity: a workflow task that is lost is done again, with other results of
// the local ones in it, which the record must not have before the history has them.
func (e *effects) record(ctx workflow.Context, n int) error {
	in := newEntries(e.session, e.pending[:n], e.last-len(e.pending)+n)
	err := workflow.ExecuteActivity(recordActivity.in(ctx, 0), recordActivity.name, in).Get(ctx, nil)
	if err == nil {
		e.pending = e.pending[n:]
	}
	return err
}

// start starts an activity.
type start func(input any) workflow.Future

// in starts those of a rule in a task queue, "" is that of the run.
func (e *effects) in(rule rule, queue string, more time.Duration) start {
	ctx := rule.on(e.ctx, queue, more)
	if e.home != nil && queue == e.home.Queue {
		ctx = e.home.at(e.ctx, rule, more)
	}
	return func(input any) workflow.Future { return workflow.ExecuteActivity(ctx, rule.name, input) }
}

// within starts local ones, which go on when the workflow is cancelled if the rule says so.
func (e *effects) within(rule rule, more time.Duration) start {
	ctx := e.ctx
	if rule.settle && ctx.Err() == nil {
		ctx, _ = workflow.NewDisconnectedContext(ctx)
	}
	ctx = rule.within(ctx, more)
	return func(input any) workflow.Future { return workflow.ExecuteLocalActivity(ctx, rule.name, input) }
}

// watch calls a function as soon as the workflow is cancelled, until end is called.
func (e *effects) watch(stop func()) (end func()) {
	ctx, end := workflow.WithCancel(e.ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		stop()
	})
	return end
}

// do has an activity done, again after a wait if the database was away. If the workflow was
// cancelled, so is the run.
func (e *effects) do(start start, result any, input func() any) error {
	for try := 1; ; try++ {
		if e.leaving {
			return context.Canceled
		}
		n := len(e.pending)
		err := start(input()).Get(e.ctx, result)
		if err == nil {
			e.pending = e.pending[n:]
		}
		if e.settings == nil || !is(err, notRecorded, unread) {
			return e.checked(err)
		}
		if n > 0 && e.pending[n-1].Kind() == agent.EntryCall {
			n-- // who records the call makes it
		}
		failed := e.record(e.ctx, n)
		if failed == nil && try > 1 { // the database is there, and takes no more than the entries before
			failed = workflow.Sleep(e.ctx, late)
		}
		if failed == nil && try == maxWaits {
			failed = err
		}
		if failed != nil {
			return errors.Join(errNotDone, e.checked(failed))
		}
	}
}

// maxWaits is how often an activity is done again although the database was there again
// each time: for some ten minutes.
const maxWaits = 20

// errNotDone is the error of an activity that did nothing.
var errNotDone = errors.New("it was not begun")

// is reports whether an error of an activity is of one of these types.
func is(err error, types ...string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if failed, ok := err.(*sdk.ApplicationError); ok && slices.Contains(types, failed.Type()) {
			return true
		}
	}
	return false
}

// interrupt cancels the run as the workflow was.
func (e *effects) interrupt() {
	var said string
	if workflow.GetSignalChannel(e.ctx, SignalCancel).ReceiveAsync(&said) && said != "" {
		e.cancel(interruption(said))
	}
	e.cancel(context.Canceled) // the first cause counts
}

// interruption is a cancellation of which it is known whose it was.
type interruption string

func (i interruption) Error() string { return string(i) }
func (interruption) Unwrap() error   { return context.Canceled }

// checked cancels the run if the workflow was cancelled.
func (e *effects) checked(err error) error {
	if e.ctx.Err() == nil {
		return err
	}
	e.interrupt()
	if sdk.IsCanceledError(err) {
		return context.Canceled
	}
	return err
}
