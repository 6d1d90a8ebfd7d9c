package cmdline

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// Man writes the manual page of a program in roff, for man(7). It has what the
// help has, command by command. version is printed at the foot of the page.
func Man(root *cli.Command, version string, out io.Writer) error {
	m := &page{}
	m.line(`.TH "` + strings.ToUpper(root.Name) + `" "1" "" "` + roff(root.Name+" "+version) + `" "User Commands"`)
	m.line(`.SH NAME`)
	m.text(root.Name + " - " + root.Usage)
	m.line(`.SH SYNOPSIS`)
	for _, use := range uses(root) {
		m.line(`.B ` + roff(use))
		m.line(`.br`)
	}
	if root.Description != "" {
		m.line(`.SH DESCRIPTION`)
		m.paragraphs(root.Description)
	}
	if root.UsageText != "" {
		m.line(`.SH EXAMPLES`)
		m.verbatim(strings.Split(root.UsageText, "\n"))
	}
	m.line(`.SH COMMANDS`)
	for _, sub := range root.Subcommands {
		m.command(root.HelpName, sub)
	}
	_, err := io.WriteString(out, m.String())
	return err
}

// page is the text of a manual page.
type page struct{ strings.Builder }

func (m *page) line(s string) { m.WriteString(s + "\n") }

// text is a line of running text, which must not begin as a request does.
func (m *page) text(s string) {
	s = roff(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	m.line(s)
}

// command is the section of a command, and of those below it.
func (m *page) command(parent string, c *cli.Command) {
	c.HelpName = parent + " " + c.Name
	m.line(`.SS ` + roff(c.HelpName))
	m.text(c.Usage)
	for _, use := range uses(c) {
		m.line(`.PP`)
		m.line(`.B ` + roff(use))
	}
	if c.Description != "" {
		m.line(`.PP`)
		m.paragraphs(c.Description)
	}
	if c.UsageText != "" {
		m.line(`.PP`)
		m.verbatim(strings.Split(c.UsageText, "\n"))
	}
	for _, f := range c.Flags {
		if d, ok := f.(cli.DocGenerationFlag); ok {
			names, text := flagTexts(f, d)
			m.line(`.TP`)
			m.line(`.B ` + roff(strings.TrimSpace(names)))
			m.text(text)
		}
	}
	for _, sub := range c.Subcommands {
		m.command(c.HelpName, sub)
	}
}

// paragraphs are running text, with indented lines shown as they are.
func (m *page) paragraphs(text string) {
	var shown []string
	flush := func() {
		if shown != nil {
			m.verbatim(shown)
		}
		shown = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "   "):
			shown = append(shown, line[3:])
		case line == "":
			flush()
			m.line(`.PP`)
		default:
			flush()
			m.text(line)
		}
	}
	flush()
}

func (m *page) verbatim(lines []string) {
	m.line(".RS 4\n.nf")
	for _, l := range lines {
		m.text(l)
	}
	m.line(".fi\n.RE")
}

// roff escapes what would be an escape or another kind of dash or quote.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", "\\(ga", `~`, `\(ti`, `^`, `\(ha`, `"`, `\(dq`).Replace(s)
}
