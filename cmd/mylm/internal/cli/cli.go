package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

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

// Missing is the error of a name that no subcommand has. The hint follows a
// suggestion, if there is one.
func (c *Command) Missing(name, hint string) error {
	var names []string
	for _, sub := range c.Subcommands {
		names = append(names, sub.Name)
	}
	if near := failure.Near(name, names); near != "" {
		hint = "Did you mean " + c.HelpName + " " + near + "? " + hint
	}
	path := strings.TrimSpace(strings.TrimPrefix(c.HelpName, "mylm") + " " + name)
	return failure.Usage("there is no command %q", term.Echoed(path)).WithHint(hint)
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
		var names []string
		for _, f := range c.Command.Flags {
			names = append(names, f.Doc().Names...)
		}
		err := c.usage("there is no flag %s", term.Echoed("-"+name))
		if near := failure.Near(name, names); near != "" {
			err.Hint = "Did you mean --" + near + "? " + err.Hint
		}
		return 0, err
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

func (c *Context) usage(format string, args ...any) *failure.Error {
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
		return cmd.Missing(c.Args[0], "mylm help "+path+" lists its subcommands")
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

// Flag is a flag of a command. It holds what was typed.
type Flag interface {
	Doc() Doc
	Set(text string) error
}

// Doc is what the help says about a flag.
type Doc struct {
	Names    []string // the first is its name
	Usage    string   // `QUOTED` is what the value is called
	Default  string
	Variable string
	Bool     bool // it takes no value
	List     bool // it can be repeated
}

// The types of flags.
type (
	BoolFlag        = flag[bool]
	IntFlag         = flag[int]
	StringFlag      = flag[string]
	StringSliceFlag = flag[[]string]
)

type flag[T any] struct {
	Name        string
	Aliases     []string
	Usage       string
	Value       T      // unless it is set
	DefaultText string // what the help gives for the default instead of Value

	set bool
}

// Doc implements Flag.
func (f *flag[T]) Doc() Doc {
	d := Doc{Names: append([]string{f.Name}, f.Aliases...), Usage: f.Usage, Default: f.DefaultText}
	switch v := any(f.Value).(type) {
	case bool:
		d.Bool = true
	case []string:
		d.List = true
	case int:
		if v != 0 && d.Default == "" {
			d.Default = strconv.Itoa(v)
		}
	case string:
		if v != "" && d.Default == "" {
			d.Default = strconv.Quote(v)
		}
	}
	return d
}

// Set implements Flag.
func (f *flag[T]) Set(text string) error {
	var err error
	switch v := any(&f.Value).(type) {
	case *bool:
		if *v, err = strconv.ParseBool(text); err != nil {
			return errors.New("it is neither true nor false")
		}
	case *int:
		if *v, err = strconv.Atoi(text); err != nil {
			return errors.New("it is no whole number")
		}
	case *string:
		*v = text
	case *[]string:
		*v = append(*v, text)
	}
	f.set = true
	return nil
}

// flag is the flag of a name; nil if there is none.
func (c *Context) flag(name string) Flag {
	for _, f := range c.Command.Flags {
		if slices.Contains(f.Doc().Names, name) {
			return f
		}
	}
	return nil
}

// value is what a flag of the command holds; nothing if there is no such flag.
func value[T any](c *Context, name string) (v T, set bool) {
	if f, ok := c.flag(name).(*flag[T]); ok {
		return f.Value, f.set
	}
	return v, false
}

// Bool is the value of a flag.
func (c *Context) Bool(name string) bool { v, _ := value[bool](c, name); return v }

// Int is the value of a flag.
func (c *Context) Int(name string) int { v, _ := value[int](c, name); return v }

// String is the value of a flag.
func (c *Context) String(name string) string { v, _ := value[string](c, name); return v }

// StringSlice is the value of a flag.
func (c *Context) StringSlice(name string) []string { v, _ := value[[]string](c, name); return v }

// IsSet reports whether a flag was typed.
func (c *Context) IsSet(name string) bool {
	_, text := value[string](c, name)
	_, number := value[int](c, name)
	_, on := value[bool](c, name)
	_, list := value[[]string](c, name)
	return text || number || on || list
}

var helpNames = []string{"help", "h"}

// Help prints the help of a command.
func (c *Command) Help(out io.Writer) error {
	// Columns are two spaces apart.
	w := tabwriter.NewWriter(out, 1, 8, 2, ' ', 0)
	line, options := c.HelpName+" [command options]", "OPTIONS"
	if !strings.Contains(c.HelpName, " ") {
		line, options = c.HelpName+" [global options] command [command options]", "GLOBAL OPTIONS"
	}
	if c.ArgsUsage != "" {
		line += " " + c.ArgsUsage
	}
	fmt.Fprintf(w, "NAME:\n   %s - %s\n\nUSAGE:\n   %s\n", c.HelpName, c.Usage, line)
	if c.Description != "" {
		text := strings.ReplaceAll(c.Description, "\n", "\n   ")
		fmt.Fprintf(w, "\nDESCRIPTION:\n   %s\n", strings.ReplaceAll(text, "\n   \n", "\n\n"))
	}
	if len(c.Subcommands) > 0 {
		fmt.Fprint(w, "\nCOMMANDS:\n")
		for _, sub := range c.Subcommands {
			fmt.Fprintf(w, "   %s\t%s\n", strings.Join(append([]string{sub.Name}, sub.Aliases...), ", "), sub.Usage)
		}
	}
	fmt.Fprintf(w, "\n%s:\n", options)
	for _, f := range c.Flags {
		fmt.Fprintf(w, "   %s\n", f.Doc())
	}
	fmt.Fprintf(w, "   %s\n", Doc{Names: helpNames, Usage: "show help", Bool: true})
	return w.Flush()
}

// String is the line of the help: names, a tab, what it does.
func (d Doc) String() string {
	usage, value := d.Usage, ""
	if before, quoted, ok := strings.Cut(usage, "`"); ok {
		name, after, _ := strings.Cut(quoted, "`")
		usage, value = before+name+after, " "+name
	} else if !d.Bool {
		value = " value"
	}
	names := make([]string, len(d.Names))
	for i, name := range d.Names {
		names[i] = "--" + name + value
		if len(name) == 1 {
			names[i] = names[i][1:]
		}
	}
	spelled := strings.Join(names, ", ")
	if d.List {
		spelled += " [ " + spelled + " ]"
	}
	if d.Default != "" {
		usage += " (default: " + d.Default + ")"
	}
	if d.Variable != "" {
		usage += " [$" + d.Variable + "]"
	}
	return spelled + "\t" + usage
}
