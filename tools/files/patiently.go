package files

import (
	"context"
	"fmt"
)

// patiently runs f, which works on path, and waits for it until ctx is done. A
// file system may never answer (a network server that is gone), and nothing
// can end such a wait: f is left to it, and closes what it opened afterwards.
func patiently[T any](ctx context.Context, path string, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil { // in this goroutine it would end the program
				o.err = fmt.Errorf("the tool crashed: %v", p)
			}
			done <- o
		}()
		o.result, o.err = f()
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return none, fmt.Errorf("%s does not answer, and was given up: %w", path, ctx.Err())
	}
}
