package cmdline

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// Verbatim is the ArgsUsage of a command whose arguments are a command line:
// from the first of them on, nothing is a flag of mylm. Otherwise "..." in an
// ArgsUsage allows any number of arguments.
const Verbatim = "CMD"

// Line is a command line that was read.
type Line struct {
	*cli.Context

	out  io.Writer
	set  *flag.FlagSet
	help bool
	err  error

	open  cli.Flag // the last argument is this flag, and its value is missing
	plain bool     // what follows is no flag
	typed []string // after the name of the command
}

// command is where a subcommand of c is named, behind flags at most, each with a
// value at most. It is len(args) if there are only flags, and -1 if neither is so.
func command(c *cli.Command, args []string) int {
	for i, arg := range args {
		switch {
		case arg == "--":
			return -1
		case len(arg) > 1 && arg[0] == '-':
		case Find(c, arg) != nil:
			return i
		case i == 0 || !strings.HasPrefix(args[i-1], "-"):
			return -1
		}
	}
	return len(args)
}

// NoCommand reports whether arguments are flags with their values, and none of them
// is the program's own.
func NoCommand(root *cli.Command, args []string) bool {
	if len(args) == 0 {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
	own := flagNames(root)
	return command(root, args) == len(args) && !slices.Contains(own, name) && failure.Near(name, own) == ""
}

// flagNames are the names of all flags of a command, that of its help among them.
func flagNames(c *cli.Command) []string {
	names := slices.Clone(helpNames)
	for _, f := range c.Flags {
		names = append(names, f.Names()...)
	}
	return names
}

// Find returns the subcommand of a name, or nil.
func Find(c *cli.Command, name string) *cli.Command {
	for _, sub := range c.Subcommands {
		if sub.HasName(name) {
			sub.HelpName = c.HelpName + " " + sub.Name
			return sub
		}
	}
	return nil
}

// Missing is the error of a name that no subcommand has. The hint follows a
// suggestion, if there is one.
func Missing(c *cli.Command, name, hint string) error {
	var names []string
	for _, sub := range c.Subcommands {
		names = append(names, sub.Name)
	}
	if near := cmp.Or(synonym(commandSynonyms, name, names), failure.Near(name, names)); near != "" {
		hint = "Did you mean " + c.HelpName + " " + near + "? " + hint
	}
	_, path := nameOf(c)
	return failure.Usage("there is no command %q", term.Echoed(strings.TrimSpace(path+" "+name))).WithHint(hint)
}

// commandSynonyms are words that other programs, and other commands of this one, have for the same.
var commandSynonyms = [][]string{
	{"rm", "remove", "delete", "del", "forget", "revoke", "erase", "clear"},
	{"list", "ls"},
	{"show", "view", "cat", "info", "get"},
	{"edit", "set", "change"},
	{"add", "new", "create"},
	{"search", "find", "grep"},
}

// flagSynonyms are the same for flags.
var flagSynonyms = [][]string{
	{"addr", "http", "address", "bind", "listen", "port"},
	{"workspace", "dir", "directory", "cwd", "chdir", "cd"},
	{"num-ctx", "context", "context-length", "ctx-size", "ctx"},
	{"max-tokens", "num-predict", "n-predict", "max-output-tokens"},
	{"system", "system-prompt"},
	{"output", "format"},
	{"yes", "auto-approve", "yolo", "dangerously-skip-permissions"},
}

// synonym is the name that means the same as a word, "" if none does.
func synonym(groups [][]string, word string, names []string) string {
	for _, group := range groups {
		if i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(group, name) }); i >= 0 && slices.Contains(group, strings.ToLower(word)) {
			return names[i]
		}
	}
	return ""
}

// nameOf splits the full name of a command into the program's and the rest.
func nameOf(c *cli.Command) (program, path string) {
	program, path, _ = strings.Cut(c.HelpName, " ")
	return program, path
}

// Parse reads the arguments of a program, its name among them. root is the
// program; out takes the help. An error of the command line is returned by Run;
// the flags after it are still set.
func Parse(ctx context.Context, root *cli.Command, args []string, out io.Writer) *Line {
	root.HelpName = root.Name
	c, rest := root, args[min(1, len(args)):]
	var early []string // flags that were typed before their command
	for len(rest) > 0 {
		n := command(c, rest)
		if n < 0 || n == len(rest) {
			break
		}
		early = append(early, rest[:n]...)
		c, rest = Find(c, rest[n]), rest[n+1:]
	}
	typed := rest
	rest = append(early, rest...)
	l := &Line{out: out, set: flag.NewFlagSet(c.Name, flag.ContinueOnError)}
	l.Context = cli.NewContext(nil, l.set, nil)
	l.Context.Context, l.Command = ctx, c
	l.typed = typed
	for _, f := range c.Flags {
		l.err = cmp.Or(l.err, f.Apply(l.set))
	}
	words := []string{"--"}
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			words, rest, l.plain = append(words, rest...), nil, true
		case len(arg) < 2 || arg[0] != '-':
			if words = append(words, arg); c.ArgsUsage == Verbatim {
				words, rest, l.plain = append(words, rest...), nil, true
			}
		default:
			used, err := l.flag(arg, rest)
			rest = rest[used:]
			l.err = cmp.Or(l.err, err)
		}
	}
	l.err = cmp.Or(l.err, l.set.Parse(words))
	return l
}

// flag sets the flag that arg names. used is how many of the arguments after it are its value.
func (l *Line) flag(arg string, rest []string) (used int, err error) {
	typed, value, inline := strings.Cut(arg, "=")
	name := strings.TrimPrefix(typed[1:], "-") // one or two dashes are the same
	f := l.named(name)
	if f == nil {
		if !inline && slices.Contains(helpNames, name) {
			l.help = true
			return 0, nil
		}
		if first, others, ok := l.combined(typed); ok {
			_, err := l.flag(first, nil)
			used, last := l.flag(others+arg[len(typed):], rest)
			return used, cmp.Or(err, last)
		}
		c := l.Command
		program, path := nameOf(c)
		isRoot, question := path == "", program+" ask "+strings.Join(quoted(l.typed), " ")
		switch wrong := len(c.Subcommands) > 0 && len(l.typed) > 0 && !strings.HasPrefix(l.typed[0], "-"); {
		case wrong && isRoot:
			return 0, Missing(c, l.typed[0], program+" help lists the commands; to ask a question: "+question)
		case wrong:
			return 0, Missing(c, l.typed[0], program+" help "+path+" lists its subcommands")
		}
		err := l.usage("there is no flag %s", term.Echoed(typed))
		if near := cmp.Or(synonym(flagSynonyms, name, flagNames(c)), failure.Near(name, flagNames(c))); near != "" {
			err.Hint = "Did you mean --" + near + "? " + err.Hint
		} else if isRoot {
			err.Hint = "To ask a question: " + question
		} else if len(c.Subcommands) > 0 {
			err.Hint = "Flags belong to a command; " + err.Hint
		} else if strings.ContainsAny(arg, " \t\n") && strings.Contains(c.ArgsUsage, "...") {
			err.Hint += "; put -- before a text that begins with -"
		}
		return 0, err
	}
	name = f.Names()[0]
	switch {
	case inline:
	case !takesValue(f):
		value = "true"
	case len(rest) == 0:
		l.open = f
		return 0, l.usage("--%s needs a value", name)
	default:
		value, used = rest[0], 1
	}
	err = check(f, value)
	if err == nil {
		set := value
		if list, ok := l.set.Lookup(name).Value.(*cli.StringSlice); ok {
			// Set splits a value at its commas, which a path may hold.
			set = cli.NewStringSlice(append(list.Value(), value)...).Serialize()
		}
		err = l.set.Set(name, set)
	}
	switch {
	case err == nil:
		return used, nil
	case strings.HasPrefix(err.Error(), "it must be "):
		return used, l.usage("--%s is %s; %w", name, term.Quoted(value), err)
	}
	return used, l.usage("--%s: %w", name, err)
}

// combined splits the first of several short flags off, as in -qm; all but the last
// of them take no value.
func (l *Line) combined(typed string) (first, rest string, ok bool) {
	if len(typed) < 3 || typed[1] == '-' {
		return "", "", false
	}
	for i, r := range typed[1:] {
		f := l.named(string(r))
		if f == nil || i < len(typed)-2 && takesValue(f) {
			return "", "", false
		}
	}
	return typed[:2], "-" + typed[2:], true
}

// quoted is words as they are typed in a shell.
func quoted(words []string) (out []string) {
	for _, word := range words {
		out = append(out, term.ShellQuote(term.Echoed(word)))
	}
	return out
}

// named is the flag of a name, without its dashes; nil if there is none.
func (l *Line) named(name string) cli.Flag {
	for _, f := range l.Command.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// checkedFlag is a flag whose value is checked when it is read.
type checkedFlag struct {
	cli.DocGenerationFlag
	check func(value string) error
	words []string // the only values there are; nil: others
}

// GetCategory is the group of the flag in the help.
func (f checkedFlag) GetCategory() string {
	if named, ok := f.DocGenerationFlag.(grouped); ok {
		return named.GetCategory()
	}
	return ""
}

// Words implements Worded.
func (f checkedFlag) Words() []string { return f.words }

// Int makes a flag refuse numbers outside a range. A most of 0 is no bound.
func Int(f *cli.IntFlag, least, most int) cli.Flag {
	return checkedFlag{DocGenerationFlag: f, check: func(value string) error {
		switch n, err := strconv.Atoi(value); {
		case err != nil:
			return errors.New("it must be a whole number")
		case most > 0 && (n < least || n > most):
			return fmt.Errorf("it must be from %d to %d", least, most)
		case n < least:
			return fmt.Errorf("it must be at least %d", least)
		}
		return nil
	}}
}

// Group puts flags into a group of the help.
func Group(name string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.BoolFlag:
			f.Category = name
		case *cli.StringFlag:
			f.Category = name
		case *cli.StringSliceFlag:
			f.Category = name
		case *cli.IntFlag:
			f.Category = name
		case checkedFlag:
			Group(name, f.DocGenerationFlag)
		}
	}
	return flags
}

// OneOf makes a flag refuse all but some words.
func OneOf(f *cli.StringFlag, words ...string) cli.Flag {
	return checkedFlag{f, func(value string) error {
		if slices.Contains(words, value) {
			return nil
		}
		return errors.New("it must be " + term.Alternatives(words))
	}, words}
}

// check refuses what the library would call a "parse error".
func check(f cli.Flag, value string) error {
	switch f := f.(type) {
	case checkedFlag:
		return f.check(value)
	case *cli.BoolFlag:
		if _, err := strconv.ParseBool(value); err != nil {
			return errors.New("it must be true or false")
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

func (l *Line) usage(format string, args ...any) *failure.Error {
	program, path := nameOf(l.Command)
	return failure.Usage(format, args...).WithHint(strings.TrimSpace(program+" help "+path) + " lists the flags")
}

// Run carries the command out.
func (l *Line) Run() error {
	c := l.Command
	program, path := nameOf(c)
	switch {
	case l.err != nil:
		return l.err
	case l.help, c.Action == nil && l.NArg() == 0:
		return Help(c, l.out)
	case c.Action == nil:
		return Missing(c, l.Args().First(), program+" help "+path+" lists its subcommands")
	case len(c.Subcommands) == 0 && !strings.Contains(c.ArgsUsage, "...") && c.ArgsUsage != Verbatim:
		if err := AtMost(l.Context, len(strings.Fields(c.ArgsUsage))); err != nil {
			return err
		}
	}
	return c.Action(l.Context)
}

// AtMost returns an error if there are more than n arguments.
func AtMost(c *cli.Context, n int) error {
	if c.NArg() <= n {
		return nil
	}
	takes, hint := "no arguments", "Leave it out. "
	if n > 0 {
		takes, hint = "at most "+term.Plural(n, "argument"), "Leave it out, or put quotes around an argument with blanks. "
	}
	program, path := nameOf(c.Command)
	return failure.Usage("%s takes %s, but got %q", path, takes, term.Echoed(c.Args().Get(n))).
		WithHint(hint + strings.TrimSpace(program+" help "+path) + " shows how it is used.")
}
