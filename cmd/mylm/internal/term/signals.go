package term

import (
	"context"
	"os"
	"os/signal"

	"mylm/cmd/mylm/internal/failure"
)

// Interruptible returns a context that the first signal to end cancels, or a
// stdout that nobody reads any more. A second signal ends the process at once.
func Interruptible(s *Screen) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	done := make(chan struct{})
	whenUnread(s.Out, done, cancel)
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig == os.Interrupt && editing.Load() {
					continue
				}
			case <-done:
				return
			}
			if ctx.Err() != nil {
				s.Erase()
				os.Exit(failure.ExitInterrupted)
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// Wait waits for f until ctx is done. A read of a pipe that nobody
// writes to cannot be ended from here: it ends with the process, which is about
// to.
func Wait[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
