package cmdline

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

var helpNames = []string{"help", "h"}

// The form of the help, in columns.
const (
	helpWidth  = 100 // of a line
	helpIndent = 3
	helpText   = 32 // where the text about a flag starts
)

// Help prints the help of a command: each of its uses, what it does, examples
// (its UsageText), and its flags in groups, the groups in the order of their first flags.
func Help(c *cli.Command, out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "NAME:\n   %s - %s\n\nUSAGE:\n", c.HelpName, c.Usage)
	for _, use := range uses(c) {
		fmt.Fprintf(&b, "   %s\n", use)
	}
	if c.Description != "" {
		text := strings.ReplaceAll(c.Description, "\n", "\n   ")
		fmt.Fprintf(&b, "\nDESCRIPTION:\n   %s\n", strings.ReplaceAll(text, "\n   \n", "\n\n"))
	}
	if c.UsageText != "" {
		fmt.Fprintf(&b, "\nEXAMPLES:\n   %s\n", strings.ReplaceAll(c.UsageText, "\n", "\n   "))
	}
	if len(c.Subcommands) > 0 {
		b.WriteString("\nCOMMANDS:\n")
		width := 0
		for _, sub := range c.Subcommands {
			width = max(width, len(sub.Name))
		}
		for _, sub := range c.Subcommands {
			fmt.Fprintf(&b, "   %-*s  %s\n", width, sub.Name, sub.Usage)
		}
	}
	var groups []string
	members := map[string][]cli.Flag{}
	for _, f := range c.Flags {
		group := ""
		if named, ok := f.(grouped); ok {
			group = named.GetCategory()
		}
		if members[group] == nil && group != "" {
			groups = append(groups, group)
		}
		members[group] = append(members[group], f)
	}
	members[""] = append(members[""], &cli.BoolFlag{Name: helpNames[0], Aliases: helpNames[1:], Usage: "show help"})
	for _, group := range append(groups, "") {
		title := group
		switch {
		case group == "" && len(groups) > 0:
			title = "Other"
		case group == "":
			title = "Flags"
		}
		fmt.Fprintf(&b, "\n%s:\n", strings.ToUpper(title))
		for _, f := range members[group] {
			b.WriteString(flagLines(f))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// grouped is a flag that may have a group.
type grouped interface{ GetCategory() string }

// uses are the ways to call a command, one line each.
func uses(c *cli.Command) (all []string) {
	flags := ""
	if len(c.Flags) > 0 && strings.Contains(c.HelpName, " ") {
		flags = " [FLAG...]"
	}
	switch {
	case len(c.Subcommands) > 0:
		return []string{c.HelpName + " COMMAND [ARGUMENT...]"}
	case c.ArgsUsage == Verbatim:
		return []string{c.HelpName + flags + " [--] " + Verbatim + " [ARGUMENT...]"}
	}
	args := c.ArgsUsage
	for args != "" {
		one, rest, more := strings.Cut(args, " | ")
		for more && strings.Count(one, "[") > strings.Count(one, "]") { // it is within brackets
			var next string
			next, rest, more = strings.Cut(rest, " | ")
			one += " | " + next
		}
		all, args = append(all, c.HelpName+flags+" "+one), rest
	}
	if all == nil {
		all = []string{c.HelpName + flags}
	}
	return all
}

// flagLines are the lines of the help about a flag: its names, and what it does
// in a column beside or below them.
func flagLines(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return f.String() + "\n"
	}
	spelled, text := flagTexts(f, d)
	line := strings.Repeat(" ", helpIndent) + spelled
	column := strings.Repeat(" ", helpText)
	if len(line)+2 > helpText {
		line += "\n" + column
	} else {
		line += column[len(line):]
	}
	width := helpText
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > helpWidth:
			line, width = line+"\n"+column, helpText
		default:
			line, width = line+" ", width+1
		}
		line, width = line+word, width+n
	}
	return line + "\n"
}

// flagTexts are the names of a flag with its value, and what it does.
func flagTexts(f cli.Flag, d cli.DocGenerationFlag) (names, text string) {
	short := false
	for _, name := range f.Names() {
		if len(name) == 1 {
			names, short = "-"+name+", "+names, true
		} else {
			names += "--" + name + ", "
		}
	}
	if names = strings.TrimSuffix(names, ", "); !short {
		names = "    " + names
	}
	if value := valueName(f, d); value != "" {
		names += " " + value
	}
	text = strings.ReplaceAll(d.GetUsage(), "`", "")
	if value := strings.Trim(d.GetDefaultText(), `"`); d.TakesValue() && value != "" && value != "0" {
		text += " (default: " + value + ")"
	}
	for _, name := range d.GetEnvVars() {
		text += " [$" + name + "]"
	}
	return names, text
}

// valueName is what the help calls the value of a flag, "" if it takes none.
func valueName(f cli.Flag, d cli.DocGenerationFlag) string {
	if !d.TakesValue() {
		return ""
	}
	if name := ValueName(f); name != "" {
		return name
	}
	if worded, ok := f.(Worded); ok && worded.Words() != nil {
		return strings.Join(worded.Words(), "|")
	}
	if checked, ok := f.(checkedFlag); ok {
		if _, number := checked.DocGenerationFlag.(*cli.IntFlag); number {
			return "NUMBER"
		}
	}
	return "VALUE"
}
