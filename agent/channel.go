package agent

import (
	"context"
	"iter"
)

// Channel turns a run's events into a channel, for a consumer that selects. The
// channel is closed when the run is over; the function waits for that and
// returns what Collect would. Cancelling ctx, which must be the run's own
// context or an ancestor of it, ends both: events that nobody takes are then
// dropped, but the result is not.
func Channel(ctx context.Context, events iter.Seq2[Event, error]) (<-chan Event, func() (Result, error)) {
	ch := make(chan Event)
	done := make(chan struct{})
	var result Result
	var failed error
	go func() {
		defer close(done)
		defer close(ch)
		for ev, err := range events {
			if err != nil {
				failed = err
				continue
			}
			if f, ok := ev.Payload.(FinalResponse); ok {
				result = f.Result
			}
			select {
			case ch <- ev:
			case <-ctx.Done():
			}
		}
	}()
	return ch, func() (Result, error) {
		<-done
		return result, failed
	}
}
