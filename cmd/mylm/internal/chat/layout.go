package chat

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// place is where a cell is drawn.
type place struct{ x, y int }

// layout says where every cell goes in so many columns, and after the last one the
// cursor's place at the end. Rows begin behind the prompt.
func (e *editor) layout(method ansi.Method, columns, indent int) []place {
	at := place{indent, 0}
	places := make([]place, 0, len(e.cells)+1)
	for _, c := range e.cells {
		w := method.StringWidth(c.shown)
		if at.x > indent && at.x+w > columns {
			at = place{indent, at.y + 1}
		}
		places = append(places, at)
		at.x += w
		if c.text == "\n" {
			at = place{indent, at.y + 1}
		}
	}
	if at.x >= columns {
		at = place{indent, at.y + 1}
	}
	return append(places, at)
}

// rows are what is drawn, at most so many around the cursor, and the cursor in
// them. A mask replaces every character.
func (e *editor) rows(method ansi.Method, columns, most int, prompt string, mask bool) (rows []string, cursor place) {
	indent := method.StringWidth(prompt)
	places := e.layout(method, columns, indent)
	last := places[len(places)-1].y
	cursor = places[e.at]
	first := 0
	if last >= most {
		first = min(max(0, cursor.y-most/2), last-most+1)
	}
	lines := make([]strings.Builder, min(most, last-first+1))
	for i := range lines {
		if i+first == 0 {
			lines[i].WriteString(prompt)
		} else {
			lines[i].WriteString(strings.Repeat(" ", indent))
		}
	}
	for i, c := range e.cells {
		y := places[i].y - first
		if y < 0 || y >= len(lines) {
			continue
		}
		shown := c.shown
		if mask {
			shown = strings.Repeat("*", method.StringWidth(shown))
		}
		lines[y].WriteString(ansi.Truncate(shown, columns-indent, "…"))
	}
	for i := range lines {
		rows = append(rows, lines[i].String())
	}
	cursor.y -= first
	return rows, cursor
}

// step moves the cursor a row up or down, and reports whether there was one.
func (e *editor) step(method ansi.Method, columns, indent, by int) bool {
	places := e.layout(method, columns, indent)
	want := place{places[e.at].x, places[e.at].y + by}
	if want.y < 0 || want.y > places[len(places)-1].y {
		return false
	}
	for i, p := range places {
		if p.y == want.y && p.x <= want.x {
			e.at = i
		}
	}
	return true
}
