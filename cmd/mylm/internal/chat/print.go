package chat

import (
	"slices"
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

// say shows lines, which have no control characters. They do not split a block of an
// answer: until its end they stay below it.
func (m *model) say(style, text string) {
	var rows []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, row := range m.wrap(line) {
			rows = append(rows, m.styled(style, row))
		}
	}
	m.show(rows)
}

// show is say for rows.
func (m *model) show(rows []string) {
	if m.within || m.open != "" {
		m.held = append(m.held, rows...)
	} else {
		m.lines = append(m.lines, rows...)
	}
}

// release puts what was held into the scrollback.
func (m *model) release() { m.lines, m.held = append(m.lines, m.held...), nil }

// wrap breaks a line between words. The last column stays free: a terminal that
// stands there erases it with the rest of the line.
func (m *model) wrap(line string) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	columns := max(1, m.width-1)
	if len(line) <= columns {
		return []string{line}
	}
	return strings.Split(wrapWords(line, columns), "\n")
}

// wrapWords breaks a line between words. The library would also break it behind
// hyphens, and thus the names of flags.
func wrapWords(line string, columns int) string {
	const hyphen = "\ue000" // of the private use area
	line = ansi.Wrap(strings.ReplaceAll(line, "-", hyphen), columns, "")
	return strings.ReplaceAll(line, hyphen, "-")
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
			if m.within = i.within; !m.within {
				m.release()
			}
		case i.beside != nil:
			m.show(i.beside)
		case i.end:
			m.endAnswer()
		case i.whole:
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
			if slices.Contains(m.dialogs, i.dismiss) && i.dismiss.approval != nil {
				m.record(i.dismiss, reply{absent: true})
			}
			m.dismiss(i.dismiss)
		case i.begun:
			m.begun = true
		case i.copy != "":
			cmds = append(cmds, tea.SetClipboard(i.copy))
		case i.clear:
			m.lines = nil
			cmds = append(cmds, clearScreen())
		case i.done != nil:
			m.endJob(i.done, i.unsent)
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
		m.print(whole)
		m.release()
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
	m.release()
}

func (m *model) endRows() {
	m.lines, m.openRows, m.within = append(m.lines, m.openRows...), nil, false
}

func (m *model) endLine() {
	if m.open != "" {
		m.print(m.open)
		m.open = ""
	}
}

// print puts text of an answer into the scrollback.
func (m *model) print(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		m.lines = append(m.lines, m.wrap(line)...)
	}
}

// printed is the message that lines have been printed.
type printed struct{}

// released is the message that the library has what is drawn without them.
type released struct{ replaces bool }

// flush prints lines above what is drawn, some at a time: more than there are free
// rows would push what is drawn out of the screen, and what is drawn may be a frame
// behind. One portion follows the other, so that they keep their order. Nothing is
// printed before something is drawn: the library takes all of the screen for its own
// until then.
func (m *model) flush() tea.Cmd {
	if !m.begun || m.holding || len(m.lines) == 0 || m.away {
		return nil
	}
	n := min(len(m.lines), max(1, m.height-m.tallest-1))
	text := strings.Join(m.lines[:n], "\n")
	if text == "" {
		text = " " // an empty one is not printed
	}
	m.lines, m.printing, m.holding = m.lines[n:], true, true
	m.chat.out.print()
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}

// clearScreen clears the screen and draws at its top.
func clearScreen() tea.Cmd {
	return tea.Sequence(tea.Raw(ansi.CursorHomePosition+ansi.EraseEntireScreen), tea.ClearScreen)
}
