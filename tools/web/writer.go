package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxIndent is how deeply quotes and lists are nested. Each line of the
	// innermost begins with all of them, so that a page of nothing else would
	// grow with the square of its length.
	maxIndent = 8

	// maxMarkdown is the size at which a page is cut: at four times
	// DefaultMaxBytes, which is more than a page of text becomes.
	maxMarkdown = 4 * DefaultMaxBytes
)

// indent is what lines of a quote or a list item begin with: the first one, and
// the rest.
type indent struct{ first, rest string }

// writer writes Markdown. What separates two words is written with the second one,
// so that empty elements leave nothing.
type writer struct {
	b        strings.Builder
	indents  []indent
	deep     int      // indents beyond maxIndent
	newlines int      // owed: 1 ends the line, 2 leave one blank
	space    bool     // owed
	marks    []string // owed: what opens emphasis, a link, a heading
	flat     int      // above 0 blocks do not break lines: in a heading, in a cell
	cell     bool     // a bar would end it
}

func (w *writer) full() bool { return w.b.Len() > maxMarkdown }

// reset forgets what was written, as if the page began here.
func (w *writer) reset() {
	w.b.Reset()
	w.newlines, w.space = 0, false
}

// text writes running text, in which white space is white space.
func (w *writer) text(s string) {
	for s != "" {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			w.word(s[:i])
		}
		if s = s[i:]; s != "" {
			w.space = true
			_, size := utf8.DecodeRuneInString(s)
			s = s[size:]
		}
	}
}

// word writes text as it is, behind what is owed.
func (w *writer) word(s string) {
	if !w.breakLine() && w.space {
		w.b.WriteByte(' ')
	}
	w.space = false
	for _, m := range w.marks {
		w.b.WriteString(m)
	}
	w.marks = w.marks[:0]
	if w.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	w.b.WriteString(s)
}

// breakLine writes the newlines that are owed, and reports whether a line
// begins.
func (w *writer) breakLine() bool {
	switch {
	case w.b.Len() == 0:
	case w.newlines == 0:
		return false
	default:
		w.b.WriteByte('\n')
		if w.newlines > 1 {
			w.b.WriteString(strings.TrimRight(w.blank(), " "))
			w.b.WriteByte('\n')
		}
	}
	w.newlines = 0
	for i := range w.indents {
		w.b.WriteString(w.indents[i].first)
		w.indents[i].first = w.indents[i].rest
	}
	return true
}

// blank is what a blank line begins with: the indents that have begun.
func (w *writer) blank() string {
	var b strings.Builder
	for _, in := range w.indents {
		if in.first != in.rest {
			break
		}
		b.WriteString(in.rest)
	}
	return b.String()
}

// line ends a line, block a paragraph.
func (w *writer) line()  { w.separate(1) }
func (w *writer) block() { w.separate(2) }

func (w *writer) separate(newlines int) {
	if w.flat > 0 {
		w.space = true
		return
	}
	w.newlines = max(w.newlines, newlines)
	w.space = false
}

// verbatim writes lines that keep their white space.
func (w *writer) verbatim(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		w.newlines = max(w.newlines, 1)
		w.word(strings.TrimRight(line, " \t\r"))
	}
}

// push begins an indented part, pop ends it.
func (w *writer) push(first, rest string) {
	if len(w.indents) == maxIndent {
		w.deep++
		return
	}
	w.indents = append(w.indents, indent{first, rest})
}

func (w *writer) pop() {
	if w.deep > 0 {
		w.deep--
		return
	}
	w.indents = w.indents[:len(w.indents)-1]
}

// openMark writes a mark in front of the next word; closeMark writes its counterpart
// behind the last one, or nothing if none came between.
func (w *writer) openMark(mark string) { w.marks = append(w.marks, mark) }

func (w *writer) closeMark(mark string) {
	if n := len(w.marks); n > 0 {
		w.marks = w.marks[:n-1]
		return
	}
	w.b.WriteString(mark)
}
