package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/sink"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/sandbox"

	"github.com/urfave/cli/v2"
)

func main() {
	sandbox.Main()
	os.Exit(program(os.Args, term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// runCommand runs another command, as a conversation does. It is a variable since
// the table of commands would otherwise refer to itself.
var runCommand func(ctx context.Context, s *term.Screen, args ...string) error

// program runs the command and returns the exit code. A crash is an internal error.
func program(args []string, s term.Streams) (code int) {
	screen := term.NewScreen(s)
	log.SetOutput(io.Discard) // net/http writes about connections into the middle of what is shown
	defer func() {
		if p := recover(); p != nil {
			screen.EndAnswer()
			screen.Say(fmt.Sprintf("mylm: internal error: %v\n%s", p, debug.Stack()))
			screen.Say("  This is a bug in mylm. Please report it with the lines above and `mylm version`.")
			code = failure.ExitError
		}
	}()
	if home := os.Getenv("HOME"); home != "" && !filepath.IsAbs(home) { // commands run elsewhere
		if abs, err := filepath.Abs(home); err == nil {
			_ = os.Setenv("HOME", abs)
		}
	}
	ctx, stop := term.Interruptible(screen)
	defer stop()

	runCommand = func(ctx context.Context, s *term.Screen, args ...string) error {
		args = append([]string{"mylm"}, args...)
		return cmdline.Parse(ctx, newApp(s, args), args, s).Run()
	}
	if cmdline.NoCommand(newApp(screen, args[:1]), args[1:]) { // mylm -m MODEL
		args = slices.Insert(slices.Clone(args), 1, "chat")
	}
	line := cmdline.Parse(ctx, newApp(screen, args), args, screen)
	err := line.Run()
	if failed := screen.Failed(); err == nil && failed != nil {
		err = fmt.Errorf("the text could not be written: %w", failed)
	}
	switch {
	case screen.Unread():
		return failure.ExitUnread
	case err == nil:
		return failure.ExitOK
	}
	f := failure.Of(err)
	if !errors.Is(err, failure.ErrReported) {
		screen.Report(f)
		form, _ := sink.Form(line.Context) // --json wins over --output
		if out := sink.New(form, s.Out); out != nil {
			_ = out.Close(sink.Outcome{Failure: f}) // stderr has it as well
		}
	}
	return f.Code
}

// commands are in the order of the help. The flags of a command are built only if
// the command is named.
var commands = []struct {
	name, usage string
	make        func(*term.Screen) *cli.Command
}{
	{"ask", "answer a question, with tools where they help", askCommand},
	{"chat", "hold a conversation on the terminal, as mylm alone does", chatCommand},
	{"acp", "serve an editor: Zed, JetBrains, Neovim, Emacs", acpCommand},
	{"agent", "break a goal down into tasks, and do them", agentCommand},
	{"resume", "resume a session, with another question or where it stopped", resumeCommand},
	{"sessions", "list, show, search, export and delete sessions", sessionsCommand},
	{"eval", "measure what a model can do with tools", evalCommand},
	{"replay", "run a session again with its recorded replies, and report differences", replayCommand},
	{"memory", "search, list and change what mylm remembers", memoryCommand},
	{"undo", "restore the files that the last run changed here", undoCommand},
	{"policy", "list the permission rules, revoke them, and check a command", policyCommand},
	{"tools", "list the tools that a model can call", toolsCommand},
	{"serve", "answer the APIs of OpenAI, Anthropic and Ollama, with function calling", serveCommand},
	{"mcp", "add, list and test MCP servers, whose tools a model can call", mcpCommand},
	{"models", "list the models and providers", modelsCommand},
	{"prompts", "show or replace the prompt templates", promptsCommand},
	{"parse", "show how a model's reply is read", parseCommand},
	{"sandbox", "run a program in the sandbox of the model's commands", sandboxCommand},
	{"config", "show or edit the settings", configCommand},
	{"doctor", "check everything that a question needs", doctorCommand},
	{"init", "write a first AGENTS.md for this project", initCommand},
	{"completion", "print a script that completes mylm's command line in a shell", completionCommand},
	{"version", "print the version", versionCommand},
}

// newApp is the command line for some arguments.
func newApp(s *term.Screen, args []string) *cli.Command {
	app := &cli.Command{
		Name:  "mylm",
		Usage: "tools for language models that cannot call functions",
		UsageText: `mylm ask -m demo "what files are here?"   # with nothing installed
mylm ask "what files are here?"           # with Ollama running
mylm doctor                               # what is missing, and what to do about it`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version"}},
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				question := term.Echoed(strings.Join(c.Args().Slice(), " "))
				if c.NArg() > 2 { // a question, whose first word may be like a command's name
					return failure.Usage("there is no command %q", term.Echoed(name)).WithHint("To ask a question: mylm ask \"" + question + "\"\nmylm help lists the commands.")
				}
				return cmdline.Missing(c.Command, name, "mylm help lists the commands; to ask a question: mylm ask \""+question+"\"")
			}
			if c.Bool("version") {
				return printVersion(s)
			}
			err := canChat(s)
			if err == nil {
				return runCommand(c.Context, s, "chat")
			}
			if !term.IsTerminal(s.In) {
				if piped, err := readStdin(c.Context, s.In, stdinPatience, s); err != nil || len(piped) > 0 {
					return cmp.Or(err, error(failure.Usage("mylm alone holds a conversation, and stdin is no terminal").WithHint("To ask what comes from a pipe or a file: mylm ask -\nmylm help lists the commands.")))
				}
			}
			if term.IsTerminal(s.In) && s.OutTTY && os.Getenv("TERM") == "dumb" {
				return err
			}
			return cmdline.Help(c.Command, s)
		},
	}
	for _, row := range commands {
		c := &cli.Command{}
		if slices.Contains(args, row.name) {
			c = row.make(s)
		}
		c.Name, c.Usage = row.name, row.usage
		app.Subcommands = append(app.Subcommands, c)
	}
	if len(args) > 1 { // commands that the help does not list
		switch args[1] {
		case completeName:
			app.Subcommands = append(app.Subcommands, completeCommand(s))
		case manName:
			app.Subcommands = append(app.Subcommands, manCommand(s))
		}
	}
	app.Subcommands = append(app.Subcommands, &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "list the commands, or the flags of one", ArgsUsage: "[COMMAND...]",
		Action: func(c *cli.Context) error {
			of := app
			for _, name := range c.Args().Slice() {
				sub := cmdline.Find(of, name)
				if sub == nil {
					return cmdline.Missing(of, name, "mylm help lists the commands")
				}
				of = sub
			}
			return cmdline.Help(of, s)
		},
	})
	return app
}
