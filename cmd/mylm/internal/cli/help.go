package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

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
