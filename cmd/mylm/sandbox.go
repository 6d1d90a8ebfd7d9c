package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/sandbox"

	"github.com/urfave/cli/v2"
)

func sandboxCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: cmdline.Verbatim,
		Description: `CMD is a program with its arguments. It can write to the workspace and to directories of its
own, it can read the system and the toolchains, but not your home directory, and it has no
network. Nothing that it starts outlives it. Its exit code is that of this command.`,
		UsageText: `mylm sandbox -- make test
mylm sandbox --mode read-only -- sh -c 'ls ~; env'`,
		Flags: append(config.Flags(config.Workspace, config.AllowNet),
			cmdline.OneOf(&cli.StringFlag{Name: "mode", Usage: "what the program can write to: read-only (nothing) or workspace", Value: string(sandbox.Workspace)},
				string(sandbox.ReadOnly), string(sandbox.Workspace)),
		),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return failure.Usage("sandbox needs a program to run").WithHint("mylm sandbox -- PROGRAM ARGS...")
			}
			loaded, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags})
			if err != nil {
				return err
			}
			loaded.Settings = append(config.Settings{config.SandboxMode.In(config.Layer{}, c.String("mode"))}, loaded.Settings...)
			if err := loaded.ApplyProject(c.Context); err != nil {
				return err
			}
			policy := setup.SandboxPolicy(loaded)
			return inSandbox(c.Context, s, policy, c.Args().Slice())
		},
	}
}

// exitNotFound is a shell's exit code for a missing program.
const exitNotFound = 127

// killPatience is how long killed processes may take to end.
const killPatience = 5 * time.Second

// inSandbox runs a program on the streams of this one.
func inSandbox(ctx context.Context, s *term.Screen, policy *sandbox.Policy, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.WaitDelay = killPatience
	if cmd.Err != nil {
		return &failure.Error{Code: exitNotFound, Name: "not_found", Err: fmt.Errorf("%s cannot be run: %w", term.Echoed(args[0]), cmd.Err)}
	}
	if here, err := os.Getwd(); err != nil || !sandbox.Within(here, policy.Workspace) {
		cmd.Dir = policy.Workspace
	}
	guard, err := policy.Wrap(cmd)
	if err != nil {
		return failure.Config(fmt.Errorf("the sandbox cannot be enforced, so nothing was run: %w", err)).WithHint("Whoever trusts the program can run it without mylm sandbox.")
	}
	for _, gap := range policy.Gaps() {
		fmt.Fprintln(s.Err, "mylm: "+gap)
	}
	if term.IsTerminal(s.In) { // the terminal tells the program itself, and it may not want to end
		keys := make(chan os.Signal, 1)
		signal.Reset(os.Interrupt)
		signal.Notify(keys, os.Interrupt)
		defer signal.Stop(keys)
	}
	err = cmd.Run()
	report := guard.Release()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case report.Failed != nil:
		return failure.Config(fmt.Errorf("nothing was run: %w", report.Failed)).WithHint("reads in [sandbox] of the configuration names what can be read besides: mylm config edit")
	case errors.As(err, &exit):
		return &failure.Error{Code: shellCode(exit.ProcessState), Err: failure.ErrReported}
	}
	return err
}
