package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// commandLine is what a command takes whose arguments are a command line.
const commandLine = "CMD"

// hoist moves flags in front of the arguments, for the library stops looking
// for flags at the first argument and would take what follows for arguments.
// Everything behind "--" is an argument, and so is everything behind the first
// argument of a command that takes a command line, whose flags are its own.
func hoist(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	out := args[:1:1]
	rest := args[1:]
	commands := app.Commands
	var flags []cli.Flag
	takesLine := false
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		c := find(commands, rest[0])
		if c == nil {
			break
		}
		out, rest = append(out, rest[0]), rest[1:]
		commands, flags = c.Subcommands, c.Flags
		takesLine = c.ArgsUsage == commandLine
	}
	if len(out) == 1 {
		return args // no command of ours
	}
	var words []string
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			words, rest = append(words, rest...), nil
		case len(arg) < 2 || arg[0] != '-':
			if words = append(words, arg); takesLine {
				words, rest = append(words, rest...), nil
			}
		default:
			arg, valued := canonical(flags, arg)
			out = append(out, arg)
			if valued && len(rest) == 0 {
				return out // its value is missing: nothing of ours may stand in for it
			}
			if valued {
				out, rest = append(out, rest[0]), rest[1:]
			}
		}
	}
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// canonical spells a flag by its full name, for the library refuses two
// spellings of one flag in the same command line. valued says that its value is
// the next argument.
func canonical(flags []cli.Flag, arg string) (spelled string, valued bool) {
	name, given, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		if inline {
			return "--" + f.Names()[0] + "=" + given, false
		}
		d, ok := f.(cli.DocGenerationFlag)
		return "--" + f.Names()[0], ok && d.TakesValue()
	}
	return arg, false
}
