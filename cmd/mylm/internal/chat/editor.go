package chat

import (
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"mylm/cmd/mylm/internal/term"
)

// Bounds of a pasted text that is put in like a typed one. A longer one is a block.
const (
	pasteBytes = 2000
	pasteLines = 12
	blocksKept = 10
)

// cell is what the cursor steps over: a character as a person sees it, a line end,
// or a block of pasted text.
type cell struct {
	text  string // what is sent
	shown string // what is drawn; "" for a line end
}

// editor holds the text that is typed. The zero value is empty.
type editor struct {
	cells []cell
	at    int    // the cell before which the cursor stands
	cut   []cell // what Ctrl-Y puts in

	blocks []string // the last texts that were put in as blocks
}

// cellsOf takes text apart.
func cellsOf(text string) (cells []cell) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for len(text) > 0 {
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if cluster == "" {
			cluster = text[:1]
		}
		text = text[len(cluster):]
		c := cell{text: cluster, shown: term.Visible(cluster)}
		switch cluster {
		case "\n":
			c.shown = ""
		case "\t":
			c.shown = "    "
		}
		cells = append(cells, c)
	}
	return cells
}

// block is a long pasted text as one cell.
func block(text string) cell {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	return cell{text: text, shown: "[pasted " + term.Plural(lines, "line") + ", " + size(len(text)) + "]"}
}

func size(n int) string {
	if n < 1000 {
		return term.Plural(n, "byte")
	}
	return term.Bytes(int64(n))
}

// paste puts in a pasted text.
func (e *editor) paste(text string) {
	if len(text) > pasteBytes || strings.Count(text, "\n")+strings.Count(text, "\r") > pasteLines {
		b := block(text)
		e.blocks = append(e.blocks[max(0, len(e.blocks)-blocksKept+1):], b.text)
		e.put(b)
		return
	}
	e.insert(text)
}

func (e *editor) insert(text string) { e.put(cellsOf(text)...) }

func (e *editor) put(cells ...cell) {
	e.cells = slices.Insert(e.cells, e.at, cells...)
	e.at += len(cells)
}

// set replaces the text. What was pasted as a block is one again.
func (e *editor) set(text string) {
	*e = editor{cut: e.cut, blocks: e.blocks}
	put := func(text string) {
		if len(text) > pasteBytes {
			e.put(block(text))
		} else {
			e.insert(text)
		}
	}
	for {
		at, found := len(text), ""
		for _, b := range e.blocks {
			if i := strings.Index(text, b); i >= 0 && (i < at || i == at && len(b) > len(found)) {
				at, found = i, b
			}
		}
		put(text[:at])
		if found == "" {
			return
		}
		e.put(block(found))
		text = text[at+len(found):]
	}
}

func (e *editor) empty() bool { return len(e.cells) == 0 }

// text is what is sent.
func (e *editor) text() string { return join(e.cells, func(c cell) string { return c.text }) }

// shown is the text with blocks named.
func (e *editor) shown() string {
	return join(e.cells, func(c cell) string {
		if c.text == "\n" {
			return "\n"
		}
		return c.shown
	})
}

func join(cells []cell, of func(cell) string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(of(c))
	}
	return b.String()
}

// remove deletes the cells from i to j, and keeps them for Ctrl-Y if they are more
// than one step.
func (e *editor) remove(i, j int, keep bool) {
	i, j = max(i, 0), min(j, len(e.cells))
	if i >= j {
		return
	}
	if keep {
		e.cut = slices.Clone(e.cells[i:j])
	}
	e.cells = slices.Delete(e.cells, i, j)
	switch {
	case e.at >= j:
		e.at -= j - i
	case e.at > i:
		e.at = i
	}
}

// lineStart and lineEnd are the ends of the line in which the cursor stands.
func (e *editor) lineStart() int {
	i := e.at
	for i > 0 && e.cells[i-1].text != "\n" {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.at
	for i < len(e.cells) && e.cells[i].text != "\n" {
		i++
	}
	return i
}

// wordStart and wordEnd are where a step by words leads.
func (e *editor) wordStart() int {
	i := e.at
	for i > 0 && !e.word(i-1) {
		i--
	}
	for i > 0 && e.word(i-1) {
		i--
	}
	return i
}

func (e *editor) wordEnd() int {
	i := e.at
	for i < len(e.cells) && !e.word(i) {
		i++
	}
	for i < len(e.cells) && e.word(i) {
		i++
	}
	return i
}

func (e *editor) word(i int) bool {
	for _, r := range e.cells[i].text {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || len(e.cells[i].text) > pasteBytes
	}
	return false
}

// edit carries out a key of an editor, and reports whether it is one.
func (e *editor) edit(key string) bool {
	switch key {
	case "left", "ctrl+b":
		e.at = max(0, e.at-1)
	case "right", "ctrl+f":
		e.at = min(len(e.cells), e.at+1)
	case "home", "ctrl+a":
		e.at = e.lineStart()
	case "end", "ctrl+e":
		e.at = e.lineEnd()
	case "ctrl+home":
		e.at = 0
	case "ctrl+end":
		e.at = len(e.cells)
	case "alt+b", "ctrl+left", "alt+left":
		e.at = e.wordStart()
	case "alt+f", "ctrl+right", "alt+right":
		e.at = e.wordEnd()
	case "backspace", "ctrl+h", "shift+backspace":
		e.remove(e.at-1, e.at, false)
	case "delete", "ctrl+d":
		e.remove(e.at, e.at+1, false)
	case "ctrl+w", "alt+backspace":
		e.remove(e.wordStart(), e.at, true)
	case "alt+d":
		e.remove(e.at, e.wordEnd(), true)
	case "ctrl+u":
		e.remove(e.lineStart(), e.at, true)
	case "ctrl+k":
		e.remove(e.at, max(e.lineEnd(), min(e.at+1, e.lineEnd())), true)
	case "ctrl+y":
		e.put(e.cut...)
	default:
		return false
	}
	return true
}
