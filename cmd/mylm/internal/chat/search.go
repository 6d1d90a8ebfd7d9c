package chat

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"mylm/cmd/mylm/internal/term"
)

// search is a search in the history, from the last text on.
type search struct {
	query  string
	at     int    // the text that was found; len of the history: none
	before string // what was in the editor
	failed string // why nothing, or no other, was found; "" if something was
}

// find looks for the query before an entry.
func (s *search) find(h *history, before int) {
	for i := min(before, len(h.all)) - 1; i >= 0; i-- {
		if s.query != "" && strings.Contains(strings.ToLower(h.all[i]), strings.ToLower(s.query)) {
			s.at, s.failed = i, ""
			return
		}
	}
	if s.failed = ""; s.query != "" {
		s.failed = "not found: "
	}
}

func (s *search) found(h *history) string {
	if s.at < len(h.all) {
		return h.all[s.at]
	}
	return s.before
}

// searchKey carries a key of the search out. Any other key takes what was found,
// and is carried out there.
func (m *model) searchKey(k tea.KeyPressMsg) (used bool) {
	s := m.search
	switch name := k.String(); {
	case name == "ctrl+r":
		if s.find(m.history, s.at); s.failed != "" && s.at < len(m.history.all) {
			s.failed = "no earlier one: "
		}
	case name == "backspace":
		if r := []rune(s.query); len(r) > 0 {
			s.query = string(r[:len(r)-1])
		}
		s.find(m.history, len(m.history.all))
	case name == "esc" || name == "ctrl+g":
		m.editor.set(s.before)
		m.search = nil
	case k.Text != "":
		s.query += k.Text
		s.find(m.history, len(m.history.all))
	default:
		m.editor.set(s.found(m.history))
		m.search = nil
		return name == "enter" || name == "tab"
	}
	return true
}

// searchRows draw the search.
func (m *model) searchRows() ([]string, place) {
	s := m.search
	label := cmp.Or(s.failed, "search: ")
	head := ansi.Truncate(label+term.Visible(s.query), m.columns()-1, "…")
	found := ansi.Truncate(prompt+term.OneLine(term.Visible(s.found(m.history)), 500), m.columns(), "…")
	return []string{found, head}, place{m.method.StringWidth(head), 1}
}
