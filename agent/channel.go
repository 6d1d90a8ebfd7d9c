package agent

import (
	"context"
	"iter"
)

// Channel turns a run's events into a channel, for a consumer that selects. The
// channel is closed when the run is over; the function waits for that and
// returns the run's error. Cancelling ctx, which must be the run's own context
// or an ancestor of it, ends both: events that nobody takes are then dropped.
func Channel(ctx context.Context, events iter.Seq2[Event, error]) (<-chan Event, func() error) {
	ch := make(chan Event)
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		defer close(ch)
		for ev, err := range events {
			if err != nil {
				failed = err
				continue
			}
			select {
			case ch <- ev:
			case <-ctx.Done():
				if failed == nil {
					failed = context.Cause(ctx)
				}
			}
		}
	}()
	return ch, func() error {
		<-done
		return failed
	}
}
