package chat

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"mylm/cmd/mylm/internal/term"
)

const (
	prompt      = "> "
	promptWidth = len(prompt)
	editorRows  = 10 // of the editor at most
	queueRows   = 3
)

// columns are those that may be drawn in: the last one stays free.
func (m *model) columns() int { return max(10, m.width-1) }

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.left || m.away {
		return tea.NewView("")
	}
	var rows []string
	if len(m.lines) == 0 && !m.printing { // what comes before it is printed first
		m.answered = slices.Concat(m.openRows)
		if m.open != "" {
			m.answered = append(m.answered, m.wrap(m.open)...)
		}
		m.answered = append(m.answered, m.heldRows(len(m.answered))...)
	}
	rows = append(rows, m.answered...)
	rows = append(rows, m.activity()...)
	for i, q := range m.queue {
		if i == queueRows {
			rows = append(rows, m.styled(faint, fmt.Sprintf("  … %d more", len(m.queue)-i)))
			break
		}
		rows = append(rows, m.styled(faint, ansi.Truncate("next: "+term.OneLine(term.Visible(q), 200), m.columns(), "…")))
	}
	var below []string
	var cursor place
	if d := m.dialog(); d != nil {
		below, cursor = m.dialogRows(d)
	} else {
		below, cursor = m.editorRows()
	}
	most := max(3, m.height-2)
	if over := len(rows) + len(below) - most; over > 0 { // what is typed matters most
		cut := min(over, len(rows))
		rows = rows[cut:]
		if over -= cut; over > 0 {
			below, cursor.y = below[over:], max(0, cursor.y-over)
		}
	}
	cursor.y += len(rows)
	rows = append(rows, below...)
	m.tallest = max(m.tallest, len(rows))
	v := tea.NewView(strings.Join(rows, "\n"))
	v.Cursor = tea.NewCursor(cursor.x, cursor.y)
	return v
}

// aroundHeld are the rows that what is held leaves to the block of the answer above
// it, and to what is below.
const aroundHeld = 10

// heldRows are the end of what is held below so many rows of the answer's block, which
// stays in sight.
func (m *model) heldRows(above int) []string {
	most := max(1, m.height-aroundHeld)
	if over := len(m.held) - most; over > 0 && above > 0 {
		note := "… " + term.Plural(over+1, "more row") + ", with the end of the paragraph"
		return append([]string{m.styled(faint, ansi.Truncate(note, m.columns(), "…"))}, m.held[over+1:]...)
	}
	return m.held
}

// activity says what is happening.
func (m *model) activity() (rows []string) {
	switch {
	case m.job == nil:
	case m.job.canceled:
		rows = []string{"stopping"}
	case len(m.drawn) > 0:
		rows = m.drawn
	case m.dialog() == nil && m.job.pieces > 0:
		rows = []string{"writing"}
	}
	for i, r := range rows {
		rows[i] = m.styled(faint, ansi.Truncate(r, m.columns(), "…"))
	}
	return rows
}

// editorRows are the editor, what is completed or searched, and the status.
func (m *model) editorRows() (rows []string, cursor place) {
	if m.search != nil {
		rows, cursor = m.searchRows()
	} else {
		rows, cursor = m.editor.rows(m.method, m.columns(), min(editorRows, max(1, m.height-4)), prompt, false)
		rows[0] = strings.Replace(rows[0], prompt, m.styled(bold, prompt), 1)
	}
	if m.menu != nil {
		rows = append(rows, m.menuRows()...)
	}
	last := m.statusLine()
	if m.hint != "" {
		last = ansi.Truncate(m.hint, m.columns(), "…")
	}
	return append(rows, m.styled(faint, last)), cursor
}

// statusLine is the last row: as many parts as fit, the important ones first.
func (m *model) statusLine() string {
	s := m.shownStatus
	parts := []string{s.Model}
	if s.Yolo { // a narrow terminal shows it, too
		parts = append(parts, "yolo")
	}
	switch {
	case s.Window > 0 && s.Context > 0:
		parts = append(parts, fmt.Sprintf("context %d%% of %s", (100*s.Context+s.Window/2)/s.Window, thousands(s.Window)))
	case s.Context > 0:
		parts = append(parts, "context "+thousands(s.Context))
	}
	parts = append(parts, s.Project)
	if s.Messages > 0 {
		parts = append(parts, term.Plural(s.Messages, "turn"))
	}
	if s.Tokens > 0 {
		text := thousands(s.Tokens) + strings.TrimLeft(term.Plural(s.Tokens, "token"), "0123456789")
		if s.Rate > 0 {
			text += fmt.Sprintf(", %.0f/s", s.Rate)
		}
		parts = append(parts, text)
	}
	parts = append(parts, s.Sandbox)
	line := ""
	for _, p := range parts {
		p = term.OneLine(term.Printable(p), 60)
		if p == "" {
			continue
		}
		longer := line + p
		if line != "" {
			longer = line + " · " + p
		}
		if ansi.StringWidth(longer) > m.columns() {
			continue
		}
		line = longer
	}
	return line
}

// thousands is a count for a person: 950, 1.2k, 33k.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}
