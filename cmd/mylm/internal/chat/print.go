package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"mylm/cmd/mylm/internal/term"
)

// Colours, as numbers of SGR.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// styled colours a text without line breaks.
func (m *model) styled(style, text string) string {
	if !m.color || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// say puts lines into the scrollback. The text has no control characters.
func (m *model) say(style, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		for _, row := range m.wrap(line) {
			m.lines = append(m.lines, m.styled(style, row))
		}
	}
}

// wrap breaks a line between words. The last column stays free: a terminal that
// stands there erases it with the rest of the line.
func (m *model) wrap(line string) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	columns := max(1, m.width-1)
	if len(line) <= columns {
		return []string{line}
	}
	return strings.Split(ansi.Wrap(line, columns, ""), "\n")
}

// take takes what other goroutines have put into the feed.
func (m *model) take(items []item) (cmds []tea.Cmd) {
	for _, i := range items {
		switch {
		case i.answer != "":
			m.addAnswer(i.answer)
		case i.answers:
			m.endLine()
			m.job.wrote()
			m.lines, m.openRows = append(m.lines, i.final...), i.open
		case i.end:
			m.endAnswer()
		case i.whole: // above open rows, which go on
			m.endLine()
			style := ""
			if i.faint {
				style = faint
			}
			m.say(style, i.lines)
		case i.draws:
			m.drawn = i.rows
		case i.dialog != nil:
			m.openDialog(i.dialog)
		case i.dismiss != nil:
			m.dismiss(i.dismiss)
		case i.begun:
			m.begun = true
		case i.copy != "":
			cmds = append(cmds, tea.SetClipboard(i.copy))
		case i.clear:
			m.lines = nil
			cmds = append(cmds, clearScreen())
		case i.prefill != "":
			m.editor.set(i.prefill)
		case i.done != nil:
			m.endJob(i.done)
		}
	}
	return cmds
}

// addAnswer shows a piece of an answer: whole lines are final.
func (m *model) addAnswer(text string) {
	text = term.Printable(text)
	m.endRows()
	m.job.wrote()
	whole, rest := "", m.open+text
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
		whole, rest = rest[:i], rest[i+1:]
		m.say("", whole)
	}
	// A line without end is final as far as it fills rows.
	if rows := m.wrap(rest); len(rows) > 1 {
		n := strings.LastIndex(rest, rows[len(rows)-1])
		if n > 0 {
			m.lines = append(m.lines, rows[:len(rows)-1]...)
			rest = rest[n:]
		}
	}
	m.open = rest
}

// endAnswer makes what is open of an answer final.
func (m *model) endAnswer() {
	m.endLine()
	m.endRows()
}

func (m *model) endRows() {
	m.lines, m.openRows = append(m.lines, m.openRows...), nil
}

func (m *model) endLine() {
	if m.open != "" {
		m.say("", m.open)
		m.open = ""
	}
}

// printed is the message that lines have been printed.
type printed struct{}

// flush prints lines above what is drawn, some at a time: more than there are free
// rows would push what is drawn out of the screen, and what is drawn may be a frame
// behind. One portion follows the other, so that they keep their order. Nothing is
// printed before something is drawn: the library takes all of the screen for its own
// until then.
func (m *model) flush() tea.Cmd {
	if !m.begun || m.printing || len(m.lines) == 0 || m.away {
		return nil
	}
	n := min(len(m.lines), max(1, m.height-m.tallest-1))
	text := strings.Join(m.lines[:n], "\n")
	if text == "" {
		text = " " // an empty one is not printed
	}
	m.lines, m.printing = m.lines[n:], true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}

// clearScreen clears the screen and draws at its top.
func clearScreen() tea.Cmd {
	return tea.Sequence(tea.Raw(ansi.CursorHomePosition+ansi.EraseEntireScreen), tea.ClearScreen)
}
