package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/sandbox"
)

func main() {
	sandbox.Main()
	os.Exit(program(os.Args, term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// program runs the command and returns the exit code. A crash is an internal error.
func program(args []string, s term.Streams) (code int) {
	c := &cluster{screen: term.NewScreen(s)}
	log.SetOutput(io.Discard) // libraries write about connections into the middle of what is shown
	defer func() {
		if p := recover(); p != nil {
			c.screen.EndAnswer()
			c.screen.Say(fmt.Sprintf("mylm-cluster: internal error: %v\n%s", p, debug.Stack()))
			code = failure.ExitError
		}
	}()
	ctx, stop := term.Interruptible(c.screen)
	defer stop()
	line := cmdline.Parse(ctx, c.app(), args, c.screen)
	err := line.Run()
	if failed := c.screen.Failed(); err == nil && failed != nil {
		err = fmt.Errorf("the text could not be written: %w", failed)
	}
	switch {
	case c.screen.Unread():
		return failure.ExitUnread
	case err == nil:
		return failure.ExitOK
	}
	f := explained(ctx, err)
	if !errors.Is(err, failure.ErrReported) {
		c.report(line.Context, f)
	}
	return f.Code
}

// cluster is what the commands work with.
type cluster struct{ screen *term.Screen }

// app is the command line.
func (c *cluster) app() *cli.Command {
	app := &cli.Command{
		Name: "mylm-cluster", Usage: "mylm on many machines: runs on Temporal, memory and sessions on PostgreSQL",
		UsageText: `mylm-cluster migrate                               # makes the tables in the database
mylm-cluster worker -m qwen3:8b --workspace ~/shop # on any machine, any number of them
mylm-cluster ask "which host is staging?"
mylm-cluster agent run "find out which test is slow, and why"`,
		Subcommands: []*cli.Command{
			c.askCommand(), c.agentCommand(), c.workerCommand(), c.tailCommand(), c.approveCommand(), c.cancelCommand(), c.statsCommand(),
			{Name: "list", Usage: "list sessions, the last changed first, plans with their tasks", Flags: join(databaseFlags(), limitFlag(20), jsonFlag()), Action: c.listSessions},
			{Name: "show", Usage: "print a session, that of a plan with its tasks", ArgsUsage: "ID", Flags: join(databaseFlags(), jsonFlag()), Action: c.showSession},
			c.changesCommand(), c.memoryCommand(),
			{Name: "migrate", Usage: "make the tables, or bring them to this version", Flags: databaseFlags(), Action: c.migrate},
		},
	}
	app.Action = func(ctx *cli.Context) error {
		if name := ctx.Args().First(); name != "" {
			return cmdline.Missing(app, name, "mylm-cluster help lists the commands.")
		}
		return cmdline.Help(app, c.screen)
	}
	app.Subcommands = append(app.Subcommands, &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "list the commands, or the flags of one", ArgsUsage: "[COMMAND...]",
		Action: func(ctx *cli.Context) error {
			of := app
			for _, name := range ctx.Args().Slice() {
				sub := cmdline.Find(of, name)
				if sub == nil {
					return cmdline.Missing(of, name, "mylm-cluster help lists the commands")
				}
				of = sub
			}
			return cmdline.Help(of, c.screen)
		},
	})
	return app
}

// join is some flags and more of them.
func join(flags []cli.Flag, more ...cli.Flag) []cli.Flag { return slices.Concat(flags, more) }

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

func limitFlag(n int) cli.Flag {
	return cmdline.Int(&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "maximum number shown", Value: n}, 1, 0)
}

// id is the one argument of a command about a session.
func id(ctx *cli.Context) (string, error) {
	if name := strings.TrimSpace(ctx.Args().First()); name != "" {
		return name, nil
	}
	return "", failure.Usage("%s takes the id of a session", ctx.Command.Name).WithHint("mylm-cluster list lists them.")
}

// settings are those of a command, as mylm has them.
func settings(ctx *cli.Context) (*config.Config, error) {
	return config.Load(ctx.Context, config.Source{Flags: ctx.Command.Flags})
}
