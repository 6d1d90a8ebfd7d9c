package sink

import (
	"errors"
	"iter"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
)

// Sink takes what happens in a run.
type Sink interface {
	// Open comes before the first event, if a run takes place.
	Open(Run) error
	// Event takes one event. After an error the run ends.
	Event(agent.Event) error
	// Close comes last, also where no run took place.
	Close(Outcome) error
}

// Run is what is known of a run before its first event.
type Run struct {
	Session string
	Model   string
	Saved   bool
	Goal    string // of a plan
}

// Outcome is how a command ended.
type Outcome struct {
	Result  *agent.Result  // nil: no run took place
	Model   string         // "" if none was opened
	Failure *failure.Error // nil: all is well
}

// Answer is what goes to stdout, "" if that is nothing.
func (o Outcome) Answer() string {
	if o.Result == nil || o.Failure != nil && !o.Result.StopReason.Answers() {
		return ""
	}
	return o.Result.Response
}

// All are the sinks of a run. Each gets every event.
type All []Sink

// Watch gives a run to all sinks. It leaves the run when one of them cannot take
// more, and returns the run's own error.
func (all All) Watch(r Run, events iter.Seq2[agent.Event, error]) (failed error) {
	full := all.each(func(s Sink) error { return s.Open(r) })
	for ev, err := range events {
		switch {
		case err != nil:
			failed = err // the result has it too, with more
		case full == nil:
			full = all.each(func(s Sink) error { return s.Event(ev) })
		}
		if full != nil {
			break
		}
	}
	return failed
}

// Close closes all sinks.
func (all All) Close(o Outcome) error { return all.each(func(s Sink) error { return s.Close(o) }) }

func (all All) each(f func(Sink) error) (err error) {
	for _, s := range all {
		err = errors.Join(err, f(s))
	}
	return err
}
