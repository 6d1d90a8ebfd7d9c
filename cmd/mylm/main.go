package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"

	"mylm/tools/sandbox"
)

func main() {
	sandbox.Main()
	os.Exit(run(os.Args, streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is the whole program: it returns the exit code.
func run(args []string, s streams) (code int) {
	screen := newScreen(s, "auto")
	defer func() {
		if p := recover(); p != nil {
			screen.say(fmt.Sprintf("mylm: internal error: %v\n%s", p, debug.Stack()))
			screen.say("  This is a bug in mylm. Please report it with the lines above and `mylm version`.")
			code = exitError
		}
	}()
	dropEmptyVariables()
	ctx, stop := interruptible(screen)
	defer stop()

	help := &sink{Writer: s.out}
	app := newApp(s, help)
	args = hoist(app, args)
	err := app.RunContext(ctx, args)
	if err == nil && help.failed != nil {
		err = fmt.Errorf("the text could not be written: %w", help.failed)
	}
	if err == nil {
		return exitOK
	}
	f := asFailure(err)
	if !errors.Is(err, errReported) {
		f.report(screen)
		_ = printFailure(s.out, wantedForm(args), f) // stderr has it as well
	}
	return f.code
}

// errReported marks an error that the user has been told about.
var errReported = errors.New("reported")

// dropEmptyVariables makes an empty variable of ours count as none.
func dropEmptyVariables() {
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); value == "" && strings.HasPrefix(name, "MYLM_") {
			_ = os.Unsetenv(name)
		}
	}
}

// interruptible returns a context that the first signal to end cancels. The
// second one ends the process at once.
func interruptible(s *screen) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	done := make(chan struct{})
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
				s.erase()
				os.Exit(exitInterrupted)
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

// interruptibly waits for f until ctx is done. A read of a pipe that nobody
// writes to cannot be ended from here: it ends with the process, which is about
// to.
func interruptibly[T any](ctx context.Context, f func() (T, error)) (T, error) {
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
