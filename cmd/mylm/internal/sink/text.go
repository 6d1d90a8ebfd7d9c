package sink

import (
	"strings"

	"mylm/cmd/mylm/internal/markdown"
)

// text streams text to stdout without the white space around a reply.
func (t *Terminal) text(s string) {
	r := &t.reply
	if r.start {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return
		}
		r.start = false
	}
	text := strings.TrimRight(s, " \t\r\n")
	if text == "" {
		r.space = bounded(r.space + s)
		return
	}
	t.spinner.Hide()
	r.shown = true
	t.show(r.space + text)
	r.space = bounded(s[len(text):])
}

// proseWidth is the most columns of a row: longer ones are hard to read.
const proseWidth = 120

// show adds to the text on stdout. The last column stays empty: a terminal would
// go on to the next row.
func (t *Terminal) show(text string) {
	if t.format == nil {
		t.screen.Piece(text)
		return
	}
	columns, _ := t.screen.Size()
	if t.format.Width = min(columns-1, proseWidth); t.stream == nil {
		t.stream = markdown.New(*t.format)
	}
	t.stream.Resize(t.format.Width)
	final := t.stream.Write(text)
	t.screen.Rows(final, t.stream.Open(), t.stream.Within())
}
