package cmdline

import (
	"context"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// Slot is the place of a word that is being typed in a command line.
type Slot struct {
	*Line
	Flag   cli.Flag // whose value the word is; nil: it is none
	Prefix string   // what of the word is before that value: --model=
	Typed  string   // the value, or the word, so far
}

// Worded is a flag that has only some values.
type Worded interface{ Words() []string }

// Candidate is what a word can become.
type Candidate struct{ Value, About string }

// Complete finds the place of a word behind others. before has the program's name.
func Complete(ctx context.Context, root *cli.Command, before []string, word string) Slot {
	s := Slot{Line: Parse(ctx, root, before, io.Discard), Typed: word}
	if s.plain {
		return s
	}
	if s.Flag = s.open; s.Flag != nil {
		return s
	}
	name, value, inline := strings.Cut(word, "=")
	if inline && strings.HasPrefix(word, "-") {
		if f := s.named(strings.TrimPrefix(name[1:], "-")); f != nil && takesValue(f) {
			s.Flag, s.Prefix, s.Typed = f, name+"=", value
		}
	}
	return s
}

// Names are the subcommands and the flags that the word can become.
func (s Slot) Names() (all []Candidate) {
	switch {
	case s.plain || s.Flag != nil:
	case strings.HasPrefix(s.Typed, "-"):
		for _, f := range s.Command.Flags {
			if d, ok := f.(cli.DocGenerationFlag); ok {
				all = append(all, Candidate{"--" + f.Names()[0], strings.ReplaceAll(d.GetUsage(), "`", "")})
			}
		}
		all = append(all, Candidate{"--" + helpNames[0], "show help"})
	case s.NArg() == 0:
		for _, sub := range s.Command.Subcommands {
			all = append(all, Candidate{sub.Name, sub.Usage})
		}
	}
	return all
}

// ValueName is what the help calls the value of a flag: NAME, PATH; "" if it has
// no name.
func ValueName(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	_, rest, _ := strings.Cut(d.GetUsage(), "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}
