package files

import (
	"context"
	"fmt"

	"mylm/tools"
)

// patiently runs f, which looks at path, and waits for it until ctx is done. A
// file system may never answer (a network server that is gone), and nothing
// can end such a wait: f is left to it, and closes what it opened afterwards.
func patiently(ctx context.Context, path string, f func() (tools.Result, error)) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	type outcome struct {
		result tools.Result
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
		return tools.Result{}, fmt.Errorf("reading %s was given up: %w", path, ctx.Err())
	}
}
