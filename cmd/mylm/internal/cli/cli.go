package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// CommandLine is the ArgsUsage of a command whose arguments are a command line:
// from the first of them on, nothing is a flag of ours.
const CommandLine = "CMD"

// Command is a command, or a group of them.
type Command struct {
	Name        string
	Aliases     []string
	Usage       string // one line
	ArgsUsage   string // its arguments; "..." in it allows any number
	Description string
	Flags       []Flag
	Subcommands []*Command
	Action      func(*Context) error // nil for a group, which prints its help

	HelpName string // its path, set while it is looked up
}

// Context is a command line that was read.
type Context struct {
	Context context.Context
	Command *Command
	Args    []string
	Out     io.Writer // for the help

	help bool
	err  error
}

// Find is the subcommand of a name; nil if there is none.
func (c *Command) Find(name string) *Command {
	for _, sub := range c.Subcommands {
		if sub.Name == name || slices.Contains(sub.Aliases, name) {
			sub.HelpName = c.HelpName + " " + sub.Name
			return sub
		}
	}
	return nil
}

// Parse reads the arguments of a program, its name among them. An error of the
// command line is returned by Run; flags behind it are set all the same.
func (c *Command) Parse(ctx context.Context, args []string, out io.Writer) *Context {
	c.HelpName = c.Name
	rest := args[min(1, len(args)):]
	for len(rest) > 0 {
		sub := c.Find(rest[0])
		if sub == nil {
			break
		}
		c, rest = sub, rest[1:]
	}
	line := &Context{Context: ctx, Command: c, Out: out}
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			line.Args, rest = append(line.Args, rest...), nil
		case len(arg) < 2 || arg[0] != '-':
			if line.Args = append(line.Args, arg); c.ArgsUsage == CommandLine {
				line.Args, rest = append(line.Args, rest...), nil
			}
		default:
			used, err := line.set(arg, rest)
			rest = rest[used:]
			if err != nil && line.err == nil {
				line.err = err
			}
		}
	}
	return line
}

// set sets the flag that arg names. used is how many of the arguments behind it
// are its value.
func (c *Context) set(arg string, rest []string) (used int, err error) {
	// One or two dashes are the same.
	name, value, inline := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	f := c.flag(name)
	if f == nil {
		if !inline && slices.Contains(helpNames, name) {
			c.help = true
			return 0, nil
		}
		return 0, c.usage("there is no flag %s", term.Echoed("-"+name))
	}
	doc := f.Doc()
	switch {
	case inline:
	case doc.Bool:
		value = "true"
	case len(rest) == 0:
		return 0, c.usage("flag needs an argument: --%s", doc.Names[0])
	default:
		value, used = rest[0], 1
	}
	if err := f.Set(value); err != nil {
		return used, c.usage("invalid value %q for flag --%s: %v", term.Echoed(value), doc.Names[0], err)
	}
	return used, nil
}

func (c *Context) usage(format string, args ...any) error {
	help := "help" + strings.TrimPrefix(c.Command.HelpName, "mylm")
	return failure.Usage(format, args...).WithHint("mylm " + help + " lists the flags; a question that begins with - goes behind --")
}

// Run carries the command out.
func (c *Context) Run() error {
	cmd, path := c.Command, strings.TrimPrefix(c.Command.HelpName, "mylm ")
	switch {
	case c.err != nil:
		return c.err
	case c.help:
		return cmd.Help(c.Out)
	case cmd.Action == nil && len(c.Args) == 0:
		return cmd.Help(c.Out)
	case cmd.Action == nil:
		return failure.Usage("%s: there is no %q", cmd.HelpName, term.Echoed(c.Args[0])).WithHint("mylm help " + path + " lists its subcommands")
	case len(cmd.Subcommands) == 0 && !strings.Contains(cmd.ArgsUsage, "...") && cmd.ArgsUsage != CommandLine:
		if err := c.AtMost(len(strings.Fields(cmd.ArgsUsage))); err != nil {
			return err
		}
	}
	return cmd.Action(c)
}

// AtMost is an error if there are more than n arguments.
func (c *Context) AtMost(n int) error {
	if len(c.Args) <= n {
		return nil
	}
	takes := "no arguments"
	if n > 0 {
		takes = "at most " + term.Plural(n, "argument")
	}
	return failure.Usage("%s takes %s, but got %q", strings.TrimPrefix(c.Command.HelpName, "mylm "), takes, term.Echoed(c.Args[n]))
}

// Arg is an argument; "" if there are fewer.
func (c *Context) Arg(n int) string {
	if n >= len(c.Args) {
		return ""
	}
	return c.Args[n]
}
