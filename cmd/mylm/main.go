package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/sandbox"
)

func main() {
	sandbox.Main()
	os.Exit(program(os.Args, term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// program is the whole of it: it returns the exit code.
func program(args []string, s term.Streams) (code int) {
	screen := term.NewScreen(s)
	defer func() {
		if p := recover(); p != nil {
			screen.Say(fmt.Sprintf("mylm: internal error: %v\n%s", p, debug.Stack()))
			screen.Say("  This is a bug in mylm. Please report it with the lines above and `mylm version`.")
			code = failure.ExitError
		}
	}()
	dropEmptyVariables()
	ctx, stop := term.Interruptible(screen)
	defer stop()

	line := newApp(screen, args).Parse(ctx, args, screen)
	err := line.Run()
	if err == nil && screen.Failed != nil {
		err = fmt.Errorf("the text could not be written: %w", screen.Failed)
	}
	if err == nil {
		return failure.ExitOK
	}
	f := failure.Of(err)
	if !errors.Is(err, failure.ErrReported) {
		screen.Report(f)
		if out := formSink(wantedForm(line), s.Out); out != nil {
			_ = out.Close(sink.Outcome{Failure: f}) // stderr has it as well
		}
	}
	return f.Code
}

// dropEmptyVariables makes an empty variable of ours count as none.
func dropEmptyVariables() {
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); value == "" && strings.HasPrefix(name, "MYLM_") {
			_ = os.Unsetenv(name)
		}
	}
}
