package main

import (
	"fmt"
	"strings"
)

// What a person is asked about stands behind a gutter that nothing else has, so
// that no command can write our own words below itself.
const (
	gutter    = "  | "
	goesOn    = "  : " // the line above goes on here
	noteStart = "    " // our words about the text, in brackets
)

// row is one row of a preview on the terminal, and how much of the text it
// stands for.
type row struct {
	text         string
	lines, bytes int
}

// preview is a text for somebody to decide on, as it fits on a terminal.
type preview struct {
	whole  []row
	shown  []string
	unseen string // what is not shown, in words; "" if everything is
	size   string // lines and bytes, if it had to be shortened
}

// newPreview lays text out for a terminal of so many columns, in at most height
// rows.
func newPreview(text string, columns, height int) preview {
	width := max(20, columns-len(gutter)-1)
	lines := strings.Split(strings.TrimRight(visible(text), "\n"), "\n")
	p := preview{}
	for _, l := range lines {
		p.whole = append(p.whole, wrap(l, width)...)
	}
	if len(p.whole) <= height {
		p.shown = texts(p.whole)
		return p
	}
	p.size = fmt.Sprintf("%s, %s", plural(len(lines), "line"), plural(len(text), "byte"))
	folded, cut := fold(lines, width)
	var missing []string
	if len(folded) > height {
		head := height * 2 / 3
		tail := len(folded) - (height - head - 1)
		left := row{}
		for _, r := range folded[head:tail] {
			left.lines, left.bytes = left.lines+r.lines, left.bytes+r.bytes
		}
		what := fmt.Sprintf("%s (%s)", plural(left.lines, "line"), plural(left.bytes, "byte"))
		missing = append(missing, what)
		p.shown = append(texts(folded[:head]), noteStart+"[... "+what+" not shown ...]")
		folded = folded[tail:]
	}
	p.shown = append(p.shown, texts(folded)...)
	if cut > 0 {
		missing = append(missing, "the rest of "+plural(cut, "long line"))
	}
	p.unseen = strings.Join(missing, " and ")
	return p
}

// wrap breaks a line into rows.
func wrap(line string, width int) []row {
	line = strings.ReplaceAll(line, "\t", "    ")
	rows := []row{{text: gutter, lines: 1, bytes: 1}}
	for {
		piece := cut(line, width)
		last := &rows[len(rows)-1]
		last.text += piece
		last.bytes += len(piece)
		if line = line[len(piece):]; line == "" {
			return rows
		}
		rows = append(rows, row{text: goesOn})
	}
}

// fold is the text with several blank lines in one row, and with at most two
// rows of a line. It says how many lines are cut.
func fold(lines []string, width int) (rows []row, long int) {
	for len(lines) > 0 {
		blank := 0
		for blank < len(lines) && strings.TrimSpace(lines[blank]) == "" {
			blank++
		}
		if blank > 1 {
			rows = append(rows, row{fmt.Sprintf("%s[%d blank lines]", noteStart, blank), blank, blank})
			lines = lines[blank:]
			continue
		}
		line := wrap(lines[0], width)
		lines = lines[1:]
		if len(line) > 3 {
			rest := row{}
			for _, r := range line[2:] {
				rest.bytes += r.bytes
			}
			rest.text = fmt.Sprintf("%s[... this line goes on for %s ...]", noteStart, plural(rest.bytes, "byte"))
			line = append(line[:2], rest)
			long++
		}
		rows = append(rows, line...)
	}
	return rows, long
}

func texts(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.text
	}
	return out
}
