package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mylm/cmd/mylm/internal/term"
)

const menuShown = 8 // candidates at most

// patience is how long Tab waits for candidates.
const patience = 2 * time.Second

// menu is what the word before the cursor may become.
type menu struct {
	from  int // where the word begins
	words []Candidate
	at    int // the one that is put in; -1: none yet
}

// complete completes the word before the cursor, or goes to the next candidate.
func (m *model) complete(forward bool) {
	if m.menu != nil && len(m.menu.words) > 1 {
		step := 1
		if !forward {
			step = len(m.menu.words) - 1
		}
		m.menu.at = (max(m.menu.at, -step) + step) % len(m.menu.words)
		m.put(m.menu.words[m.menu.at].Word)
		return
	}
	from, words := m.candidates()
	m.menu = nil
	if len(words) == 0 {
		return
	}
	m.menu = &menu{from, words, -1}
	common := words[0].Word
	for _, w := range words[1:] {
		for !strings.HasPrefix(w.Word, common) {
			_, n := lastRune(common)
			common = common[:len(common)-n]
		}
	}
	typed := join(m.editor.cells[from:m.editor.at], func(c cell) string { return c.text })
	if len(words) == 1 && !strings.HasSuffix(common, "/") {
		common += " "
	}
	if strings.HasPrefix(common, typed) {
		m.put(common)
	}
	if len(words) == 1 {
		m.menu = nil
	}
}

func lastRune(s string) (rune, int) {
	r := []rune(s)
	last := r[len(r)-1]
	return last, len(string(last))
}

// put replaces the word.
func (m *model) put(text string) {
	m.editor.remove(m.menu.from, m.editor.at, false)
	m.editor.insert(text)
}

// candidates are what the word before the cursor may become, and where it begins.
func (m *model) candidates() (from int, words []Candidate) {
	e := &m.editor
	from = e.at
	for from > 0 && strings.TrimSpace(e.cells[from-1].text) != "" {
		from--
	}
	word := join(e.cells[from:e.at], func(c cell) string { return c.text })
	before := join(e.cells[:from], func(c cell) string { return c.text })
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	var all []Candidate
	sorted := true
	switch name, isCommand := strings.CutPrefix(strings.TrimSpace(before), "/"); {
	case strings.HasPrefix(word, "@") && m.chat.o.Paths != nil:
		for _, p := range m.chat.o.Paths(ctx, word[1:]) {
			all = append(all, Candidate{Word: "@" + p})
		}
	case before == "" && strings.HasPrefix(word, "/"):
		for _, c := range m.commands() {
			all = append(all, Candidate{"/" + c.Name, c.Usage})
		}
	case isCommand:
		for _, c := range m.commands() {
			if c.Name == name && c.Complete != nil {
				all, sorted = c.Complete(ctx), false
			}
		}
	}
	for _, w := range all {
		if strings.HasPrefix(w.Word, word) && !strings.Contains(w.Word, "\n") {
			words = append(words, w)
		}
	}
	if sorted {
		slices.SortFunc(words, func(a, b Candidate) int { return strings.Compare(a.Word, b.Word) })
	}
	return from, words
}

// menuRows draw the candidates.
func (m *model) menuRows() (rows []string) {
	if len(m.menu.words) < 2 {
		return nil
	}
	first := max(0, min(m.menu.at-menuShown/2, len(m.menu.words)-menuShown))
	shown := m.menu.words[first:min(len(m.menu.words), first+menuShown)]
	widest := 0
	for _, w := range shown {
		widest = max(widest, m.method.StringWidth(term.Visible(w.Word)))
	}
	for i, w := range shown {
		row := "  " + term.Visible(w.Word)
		if w.Note != "" {
			row += strings.Repeat(" ", widest+4-m.method.StringWidth(row)) + term.OneLine(term.Visible(w.Note), 200)
		}
		if row = ansi.Truncate(row, m.columns(), "…"); first+i == m.menu.at {
			row = m.styled(bold, row)
		}
		rows = append(rows, row)
	}
	if more := len(m.menu.words) - len(shown); more > 0 {
		rows = append(rows, m.styled(faint, fmt.Sprintf("  … %d more: Tab goes through all of them", more)))
	}
	return rows
}
