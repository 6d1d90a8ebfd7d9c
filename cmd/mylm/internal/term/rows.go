package term

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Rows writes rows to stdout, a terminal that draws: some that are final, and
// below them some that the next call replaces. Each ends with a newline, and none
// is wider than the terminal. They are written as they are: clean text, and
// escape sequences of colours. within reports that a block goes on, which lines
// for stderr do not split: they are shown below it.
func (s *Screen) Rows(final, open string, within bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	final, open = marked(final), marked(open)
	if s.host != nil {
		s.host.Rows(lines(final), lines(open), within)
		return
	}
	if s.within = within && s.errTTY; !s.within && len(s.held) > 0 {
		final += strings.Join(s.held, "\n") + "\n"
		s.held = nil
	}
	s.redraw(lines(final), lines(open))
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// redraw replaces the open rows, from the first one that differs. Of open rows
// that the terminal has no room for, the last ones are shown: what has scrolled
// away cannot be replaced.
func (s *Screen) redraw(final, open []string) {
	open = slices.Concat(open, s.held)
	if len(final)+len(open)+len(s.open) == 0 || s.failed != nil {
		return
	}
	if len(s.open) == 0 {
		s.newLine()
	}
	_, height := s.Size()
	if most := max(1, height-1); len(open) > most {
		open = open[len(open)-most:]
	}
	rows := slices.Concat(final, open)
	same := 0
	for same < min(len(rows), len(s.open)) && rows[same] == s.open[same] {
		same++
	}
	if same == len(rows) && len(open) > 0 {
		same-- // the cursor goes behind it
	}
	old, rest := s.open[same:], rows[same:]
	var b strings.Builder
	switch {
	case len(old) == 0 && same > 0 && len(rest) > 0:
		b.WriteByte('\n')
	case len(old) == 1 && len(rest) > 0 && strings.HasPrefix(rest[0], old[0]): // a row that goes on
		rest[0] = rest[0][len(old[0]):]
		old = nil
	case len(old) > 0:
		b.WriteString(s.back(old))
	}
	erase := ""
	if len(old) > 0 {
		erase = "\x1b[K"
	}
	b.WriteString(strings.Join(rest, erase+"\n"))
	if erase != "" {
		b.WriteString("\x1b[J")
	}
	if len(open) == 0 && len(rows) > 0 {
		b.WriteByte('\n')
	}
	s.open, s.column = open, len(open) > 0
	_, s.failed = io.WriteString(s.Out, b.String())
}

// back moves the cursor from the end of some rows to their beginning.
func (s *Screen) back(rows []string) string {
	widths := make([]int, len(rows))
	for i, row := range rows {
		widths[i] = displaywidth.Options{ControlSequences: true}.String(row)
	}
	if up := s.wrapped(widths) - 1; up > 0 {
		return fmt.Sprintf("\r\x1b[%dA", up)
	}
	return "\r"
}
