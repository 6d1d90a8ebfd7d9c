package main

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// size is that of the terminal that stderr is, 80 by 24 where it does not say.
func (s *screen) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(s.err.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// drawRows shows rows in place on stderr, as draw shows one, until something
// else is written.
func (s *screen) drawRows(rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.column || s.still {
		return
	}
	columns, _ := s.size()
	var b strings.Builder
	b.WriteString(s.clearing())
	s.rows = s.rows[:0]
	for i, r := range rows {
		r = cut(s.foreign(r), columns-1)
		if i > 0 {
			b.WriteString("\n")
		}
		s.rows = append(s.rows, columnsOf(r))
		b.WriteString(s.faint(r))
	}
	_, _ = io.WriteString(s.err, b.String())
	s.drawn = true
}

// clearing is what clears the rows that were drawn. A terminal that was made
// narrower meanwhile has wrapped them, as most do: then they take more rows
// than were written.
func (s *screen) clearing() string {
	if len(s.rows) == 0 {
		return clearRow
	}
	columns, _ := s.size()
	up := -1 // the last one is where the cursor stands
	for _, width := range s.rows {
		up += max(1, (width+columns-1)/columns)
	}
	if up == 0 {
		return clearRow
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}

// columnsOf is how many columns a text takes.
func columnsOf(text string) (n int) {
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}
