package cmdline

import (
	"fmt"
	"io"
	"strings"

	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

var helpNames = []string{"help", "h"}

// The form of the help, in columns.
const (
	helpWidth  = 100 // of a line at most, and of all where no terminal is narrower
	helpIndent = 3
	helpText   = 32 // where the text about a flag starts
	helpNarrow = 72 // of a line: below that it starts at helpBelow
	helpBelow  = 10
)

// Help prints the help of a command: each of its uses, what it does, examples
// (its UsageText), and its flags in groups, the groups in the order of their first flags.
// All but the examples is broken between words where the terminal ends.
func Help(c *cli.Command, out io.Writer) error {
	var b strings.Builder
	width := helpWidth
	if s, ok := out.(*term.Screen); ok && s.OutTTY {
		columns, _ := s.Size()
		width = min(width, columns-1) // at the last column some terminals go on to the next row
	}
	fmt.Fprintf(&b, "NAME:\n%s\nUSAGE:\n", wrapped(strings.Repeat(" ", helpIndent)+c.HelpName+" - ", c.Usage, helpIndent, width))
	for _, use := range uses(c) {
		b.WriteString(wrapped("", use, helpIndent, width))
	}
	if c.Description != "" {
		b.WriteString("\nDESCRIPTION:\n" + described(c.Description, width))
	}
	if c.UsageText != "" {
		fmt.Fprintf(&b, "\nEXAMPLES:\n   %s\n", strings.ReplaceAll(c.UsageText, "\n", "\n   "))
	}
	if len(c.Subcommands) > 0 {
		b.WriteString("\nCOMMANDS:\n")
		name := 0
		for _, sub := range c.Subcommands {
			name = max(name, len(sub.Name))
		}
		for _, sub := range c.Subcommands {
			b.WriteString(wrapped(fmt.Sprintf("   %-*s  ", name, sub.Name), sub.Usage, name+5, width))
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
			b.WriteString(flagLines(f, width))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// described is a description: paragraphs, and lines with an indent, which are as they
// are written.
func described(text string, width int) string {
	var b, paragraph strings.Builder
	flush := func() {
		if paragraph.Len() > 0 {
			b.WriteString(wrapped("", paragraph.String(), helpIndent, width))
		}
		paragraph.Reset()
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph.WriteString(line + " ")
			continue
		}
		flush()
		b.WriteString(strings.TrimRight(strings.Repeat(" ", helpIndent)+line, " ") + "\n")
	}
	flush()
	return b.String()
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
func flagLines(f cli.Flag, width int) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return f.String() + "\n"
	}
	spelled, text := flagTexts(f, d)
	line, column := strings.Repeat(" ", helpIndent)+spelled, helpText
	if width < helpNarrow {
		column = helpBelow
	}
	if len(line)+2 > column {
		return line + "\n" + wrapped("", text, column, width)
	}
	return wrapped(line+strings.Repeat(" ", column-len(line)), text, column, width)
}

// wrapped is a text behind a beginning, in lines that are broken between words. All
// but the beginning is indented so far.
func wrapped(head, text string, indent, width int) string {
	space := strings.Repeat(" ", indent)
	if head == "" {
		head = space
	}
	rows := term.Fold(strings.Repeat(".", len(head)-indent)+strings.Join(strings.Fields(text), " "), max(1, width-indent), len(text)+1)
	return head + strings.ReplaceAll(rows[len(head)-indent:], "\n", "\n"+space) + "\n"
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
