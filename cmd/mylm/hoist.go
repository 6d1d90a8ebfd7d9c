package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// hoist moves flags in front of the arguments, for the library stops looking
// for flags at the first argument and would take what follows for arguments.
// Everything behind "--" is an argument.
func hoist(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	out := args[:1:1]
	rest := args[1:]
	commands := app.Commands
	var flags []cli.Flag
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		c := find(commands, rest[0])
		if c == nil {
			break
		}
		out, rest = append(out, rest[0]), rest[1:]
		commands, flags = c.Subcommands, c.Flags
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
			words = append(words, arg)
		default:
			out = append(out, arg)
			if takesValue(flags, arg) && len(rest) > 0 {
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

// takesValue reports whether the flag arg is followed by its value.
func takesValue(flags []cli.Flag, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	name := strings.TrimLeft(arg, "-")
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			d, ok := f.(cli.DocGenerationFlag)
			return ok && d.TakesValue()
		}
	}
	return false
}
