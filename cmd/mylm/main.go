package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

func main() { os.Exit(run(os.Args, streams{os.Stdin, os.Stdout, os.Stderr})) }

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
	ctx, stop := interruptible(screen)
	defer stop()

	app := newApp(s)
	err := app.RunContext(ctx, hoist(app, args))
	if err == nil {
		return exitOK
	}
	f := asFailure(err)
	if !errors.Is(err, errReported) {
		f.report(screen)
	}
	return f.code
}

// errReported marks an error that the user has been told about.
var errReported = errors.New("reported")

// interruptible returns a context that the first interrupt cancels. The second
// one ends the process at once.
func interruptible(s *screen) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for range 2 {
			select {
			case <-signals:
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

func newApp(s streams) *cli.App {
	app := &cli.App{
		Name:        "mylm",
		Usage:       "give a language model that cannot call functions hands",
		Description: "Try it with nothing installed:   mylm ask -m demo \"what files are here?\"\nWith Ollama running:              mylm ask \"what files are here?\"",
		Commands: []*cli.Command{
			askCommand(s), toolsCommand(s), modelsCommand(s), promptsCommand(s), configCommand(s), versionCommand(s),
		},
		HideVersion:     true,
		Reader:          s.in,
		Writer:          s.out,
		ErrWriter:       s.err,
		ExitErrHandler:  func(*cli.Context, error) {}, // run decides about exit codes
		OnUsageError:    onUsageError,
		CommandNotFound: func(*cli.Context, string) {},
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return usageError("there is no command %q", name).withHint("mylm help lists the commands; to ask a question: mylm ask \"" + strings.Join(c.Args().Slice(), " ") + "\"")
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		prepare(c)
	}
	return app
}

// prepare gives a command and its subcommands what all have in common.
func prepare(c *cli.Command) {
	c.OnUsageError = onUsageError
	c.HideHelpCommand = true
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Present() {
				return usageError("mylm %s: there is no %q", c.Name, ctx.Args().First()).withHint("mylm help " + c.Name + " lists what there is")
			}
			return cli.ShowSubcommandHelp(ctx)
		}
	}
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	name := "help"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != "mylm" {
		name = "help " + c.Command.Name
	}
	msg := err.Error()
	if flag, ok := strings.CutPrefix(msg, "flag provided but not defined: "); ok {
		msg = "there is no flag " + flag
	}
	return usageError("%s", msg).withHint("mylm " + name + " lists the flags; a question that begins with - goes behind --")
}
