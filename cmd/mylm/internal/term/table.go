package term

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Table holds rows until Flush writes them in aligned columns.
type Table struct {
	screen *Screen
	bytes.Buffer
}

// Columns is a table on stdout, head first; "" is none. Each write is of whole lines,
// whose cells are separated by tabs. On a terminal the last column breaks between
// words, and where it would be too narrow, it goes below the others.
func (s *Screen) Columns(head string) *Table {
	t := &Table{screen: s}
	if head != "" {
		fmt.Fprintln(t, head)
	}
	return t
}

// between are the columns of a terminal between two of a table, and leastCell the ones
// that a text needs to be read as one.
const (
	between   = 2
	leastCell = 24
)

// Flush writes the table.
func (t *Table) Flush() error {
	var rows [][]string
	var widths []int // of all columns but the last
	for line := range strings.Lines(t.String()) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, c := range cells[:len(cells)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(c))
		}
		rows = append(rows, cells)
	}
	t.Reset()
	var b strings.Builder
	for _, cells := range rows {
		head, at := "", 0
		for i, c := range cells[:len(cells)-1] {
			at += widths[i] + between
			head += c + strings.Repeat(" ", max(0, at-displaywidth.String(head+c)))
		}
		b.WriteString(t.screen.row(head, cells[len(cells)-1], at))
	}
	_, err := io.WriteString(t.screen.Out, b.String())
	return err
}

// row is a row whose last cell begins in a column, as lines.
func (s *Screen) row(head, last string, at int) string {
	columns, _ := s.Size()
	columns-- // a terminal that stands in the last one goes on to the next row
	if !s.OutTTY || displaywidth.String(head+last) <= columns {
		return head + last + "\n"
	}
	if columns-at < leastCell && at > 0 {
		head = Fold(strings.TrimRight(head, " "), columns, len(head)) + "\n"
		at = 4
		head += strings.Repeat(" ", at)
	}
	rows := Fold(last, max(1, columns-at), len(last)+1)
	return head + strings.ReplaceAll(rows, "\n", "\n"+strings.Repeat(" ", at)) + "\n"
}
