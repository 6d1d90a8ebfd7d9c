package main

import (
	"mylm/cmd/mylm/internal/cli"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/term"
)

func askCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[QUESTION...] [-]",
		Description: `The question is the arguments, or stdin, or both: then stdin is what it is about.
"-", first or last, waits for stdin to end; without it a pipe that says nothing for 2 s is left alone.

   mylm ask "which of these files is the largest?"
   git diff | mylm ask "write a commit message"
   mylm ask --file main.go "what does this do?"

What only reads in the working directory runs at once. Before anything else runs
you are asked on the terminal; without one it is denied, unless --yes is given or
mylm policy list shows a rule that allows it. Deny rules hold in any case.`,
		Flags: append(askFlags(),
			&cli.BoolFlag{Name: "continue", Aliases: []string{"c"}, Usage: "continue the last session of this project"}),
		Action: func(c *cli.Context) error {
			if c.Bool("continue") {
				return goOn(c, s, "last", c.Args)
			}
			return order{words: c.Args}.do(c, s)
		},
	}
}

// askSettings are what can be set for a question.
func askSettings() []config.Setting {
	return []config.Setting{
		config.ModelName, config.ProfileName, config.Host, config.Temperature, config.Seed, config.MaxTokens, config.NumCtx, config.KeepAlive, config.Think,
		config.Timeout, config.FirstTokenTimeout, config.StepTimeout, config.MaxTime, config.MaxContextTokens, config.MaxToolResultTokens,
		config.SummarizeAfterTurns, config.KeepRecentTurns, config.SelfEval, config.DryRun, config.SandboxMode, config.AllowNet, config.System, config.Tree,
		config.MaxTurns, config.MaxRepeatedCalls, config.MaxConsecutiveErrors, config.MaxMalformed, config.Tools, config.AllowHosts, config.Workspace, config.Confirm, config.Unasked, config.Yes, config.Embedder, config.Memory, config.Save,
	}
}

// askFlags are those of everything that asks a question.
func askFlags() []cli.Flag {
	flags := config.Flags(askSettings()...)
	flags = append(flags,
		&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, Usage: "send the text of `PATH` with the question (repeatable)"},
		&cli.BoolFlag{Name: "clip", Usage: "shorten input that is too long for the model, visibly, instead of refusing it"},
	)
	return append(append(flags, outputFlags()...),
		&cli.StringFlag{Name: "color", Usage: "auto, always or never", Value: "auto"},
		&cli.BoolFlag{Name: "verbose", Usage: "show thought, tool output and statistics too"},
		&cli.BoolFlag{Name: "show-prompt", Usage: "print what would be sent, and send nothing"},
	)
}
