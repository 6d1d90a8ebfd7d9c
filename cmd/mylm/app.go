package main

import (
	"regexp"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// commands are in the order of the help. What a command takes is made when it
// is named.
var commands = []struct {
	name, usage string
	make        func(*term.Screen) *cli.Command
}{
	{"ask", "answer a question, with tools where they help", askCommand},
	{"agent", "break a goal down into tasks, and do them", agentCommand},
	{"resume", "resume a session, with another question or where it stopped", resumeCommand},
	{"sessions", "look at, search, export and delete what was asked and done", sessionsCommand},
	{"replay", "run a session again with its recorded replies, and report differences", replayCommand},
	{"memory", "look at, search and change what is remembered", memoryCommand},
	{"undo", "restore the files that the last run changed here", undoCommand},
	{"policy", "what runs without a question, what is asked about, what is forbidden", policyCommand},
	{"tools", "list the tools that a model can call", toolsCommand},
	{"models", "list the models that can be asked", modelsCommand},
	{"prompts", "show or replace the words that mylm says to models", promptsCommand},
	{"parse", "show how a model's reply is read", parseCommand},
	{"sandbox", "run a program as commands of a model are run", sandboxCommand},
	{"config", "show or edit the settings", configCommand},
	{"version", "print the version", versionCommand},
}

// newApp is the command line for some arguments.
func newApp(s *term.Screen, args []string) *cli.App {
	app := &cli.App{
		Name:                      "mylm",
		Usage:                     "tools for language models that cannot call functions",
		Description:               "Try it with nothing installed:   mylm ask -m demo \"what files are here?\"\nWith Ollama running:              mylm ask \"what files are here?\"",
		Flags:                     []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "version", Usage: "print the version"}, cli.HelpFlag},
		HideVersion:               true, // the library's own takes -v
		HideHelpCommand:           true, // the library's own takes any name
		DisableSliceFlagSeparator: true, // a path may hold a comma
		Reader:                    s.In,
		Writer:                    s,
		ErrWriter:                 s.Err,
		ExitErrHandler:            func(*cli.Context, error) {}, // program decides about exit codes
		OnUsageError:              onUsageError,
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				question := term.Echoed(strings.Join(c.Args().Slice(), " "))
				return failure.Usage("there is no command %q", term.Echoed(name)).WithHint("mylm help lists the commands; to ask a question: mylm ask \"" + question + "\"")
			}
			if c.Bool("version") {
				return printVersion(s)
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, row := range commands {
		c := &cli.Command{}
		if slices.Contains(args, row.name) {
			c = row.make(s)
		}
		c.Name, c.Usage = row.name, row.usage
		prepare(c, app.Name+" "+c.Name)
		app.Commands = append(app.Commands, c)
	}
	app.Commands = append(app.Commands, helpCommand())
	return app
}

// prepare gives a command and its subcommands what all have in common.
func prepare(c *cli.Command, path string) {
	c.OnUsageError = onUsageError
	c.HideHelpCommand = true
	for _, sub := range c.Subcommands {
		sub.HelpName = path + " " + sub.Name
		prepare(sub, sub.HelpName)
	}
	if most := strings.Fields(c.ArgsUsage); c.Action != nil && !strings.Contains(c.ArgsUsage, "...") && c.ArgsUsage != commandLine {
		action := c.Action
		c.Action = func(ctx *cli.Context) error {
			if err := errMoreArgs(ctx, len(most)); err != nil {
				return err
			}
			return action(ctx)
		}
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Present() {
				return failure.Usage("%s: there is no %q", path, term.Echoed(ctx.Args().First())).WithHint("mylm help " + c.Name + " lists its subcommands")
			}
			return cli.ShowSubcommandHelp(ctx)
		}
	}
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	name := "help"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != "mylm" {
		name = "help " + c.Command.Name
		if path := strings.TrimPrefix(c.Command.HelpName, "mylm "); path != "" {
			name = "help " + path
		}
	}
	msg := err.Error()
	if flag, ok := strings.CutPrefix(msg, "flag provided but not defined: "); ok {
		msg = "there is no flag " + term.Echoed(flag)
	}
	if flag, ok := strings.CutPrefix(msg, "flag needs an argument: -"); ok {
		msg = "flag needs an argument: --" + strings.TrimLeft(flag, "-")
	}
	long := regexp.MustCompile(`"(?:[^"\\]|\\.){99,}"`) // a value that the library quotes
	return failure.Usage("%s", long.ReplaceAllStringFunc(msg, term.Echoed)).WithHint("mylm " + name + " lists the flags; a question that begins with - goes behind --")
}

func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "list the commands, or the flags of one", ArgsUsage: "[COMMAND...]",
		Action: func(c *cli.Context) error {
			commands, path := c.App.Commands, ""
			var of *cli.Command
			for _, name := range c.Args().Slice() {
				next := find(commands, name)
				if next == nil {
					return failure.Usage("there is no command %q", term.Echoed(strings.TrimSpace(path+" "+name))).WithHint("mylm help lists the commands")
				}
				of, commands, path = next, next.Subcommands, strings.TrimSpace(path+" "+name)
			}
			if of == nil {
				return cli.ShowAppHelp(c)
			}
			template := cli.CommandHelpTemplate
			if len(of.Subcommands) > 0 {
				template = cli.SubcommandHelpTemplate
			}
			if !slices.Contains(of.Flags, cli.HelpFlag) {
				of.Flags = append(of.Flags, cli.HelpFlag)
			}
			cli.HelpPrinter(c.App.Writer, template, of)
			return nil
		},
	}
}

// errNoArgs is for commands that take no arguments.
func errNoArgs(c *cli.Context) error { return errMoreArgs(c, 0) }

// errMoreArgs is for commands that take at most n arguments.
func errMoreArgs(c *cli.Context, n int) error {
	if c.NArg() <= n {
		return nil
	}
	takes := "no arguments"
	if n > 0 {
		takes = "at most " + term.Plural(n, "argument")
	}
	return failure.Usage("%s takes %s, but got %q", strings.TrimPrefix(c.Command.HelpName, "mylm "), takes, term.Echoed(c.Args().Get(n)))
}
