package markdown

import (
	"bytes"
	"fmt"
	"strings"

	"mylm/cmd/mylm/internal/term"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// renderer turns blocks into rows.
type renderer struct {
	width  int
	color  bool
	colors colors
	source []byte
}

func newRenderer(o Options) renderer {
	if o.Width == 0 {
		o.Width = 80
	}
	return renderer{width: boundedWidth(o.Width), color: o.Color, colors: colorsOn(o.Background)}
}

// narrowest is the width below which nothing is indented any more.
const narrowest = 10

func boundedWidth(columns int) int { return max(columns, narrowest) }

// clean is text without control characters.
func clean(s string) string { return strings.ReplaceAll(term.Printable(s), "\t", "    ") }

// paint is a text as it is shown in a style.
func (r *renderer) paint(text string, s style) string {
	if !r.color || text == "" {
		return text
	}
	if on := r.colors.sgr(s); on != "" {
		return on + text + reset
	}
	return text
}

// rows is styled text in rows of so many columns.
func (r *renderer) rows(t *styled, columns int) []string {
	return r.broken(t, wrap(t.text.String(), columns, false))
}

func (r *renderer) broken(t *styled, segments []segment) []string {
	text := t.text.String()
	out := make([]string, len(segments))
	for i, s := range segments {
		out[i] = r.row(t, text, s)
	}
	return out
}

func (r *renderer) row(t *styled, text string, s segment) string {
	if !r.color {
		return text[s.start:s.end]
	}
	var b strings.Builder
	for pos, i := s.start, first(t.runs, s.start); pos < s.end; i++ {
		end := min(t.runs[i].end, s.end)
		b.WriteString(r.paint(text[pos:end], t.runs[i].style))
		pos = end
	}
	return b.String()
}

// first is the run that the text at an offset is in.
func first(runs []run, offset int) int {
	low, high := 0, len(runs)
	for low < high {
		if mid := (low + high) / 2; runs[mid].end <= offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// blankBefore reports whether the line above an offset is empty, but for the
// marks of quotes.
func blankBefore(source []byte, offset int) bool {
	end := lineStart(source, offset)
	return end > 0 && len(bytes.Trim(source[lineStart(source, end-1):end], " \t>\n")) == 0
}

func lineStart(source []byte, offset int) int {
	return bytes.LastIndexByte(source[:offset], '\n') + 1
}

// children renders the blocks in n, in so many columns.
func (r *renderer) children(n ast.Node, columns int) []string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		rows := r.block(c, columns)
		if len(out) > 0 && len(rows) > 0 && blankBefore(r.source, c.Pos()) {
			out = append(out, "")
		}
		out = append(out, rows...)
	}
	return out
}

// block renders one block.
func (r *renderer) block(n ast.Node, columns int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return r.heading(n, columns)
	case *ast.ThematicBreak:
		return []string{r.paint(strings.Repeat("─", columns), style{role: faint})}
	case *ast.Blockquote:
		return r.quote(n, columns)
	case *ast.List:
		var out []string
		number := newListState(n)
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			if len(out) > 0 && blankBefore(r.source, item.Pos()) {
				out = append(out, "")
			}
			out = append(out, r.item(item, number.next(), columns)...)
		}
		return out
	case *ast.FencedCodeBlock:
		return r.code(n.Lines(), string(n.Language(r.source)), columns)
	case *ast.CodeBlock:
		return r.code(n.Lines(), "", columns)
	case *ast.HTMLBlock:
		return r.html(n, columns)
	case *east.Table:
		return r.table(n, nil, columns)
	}
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return r.children(n, columns)
	}
	return r.paragraph(n, style{}, columns)
}

func (r *renderer) paragraph(n ast.Node, s style, columns int) []string {
	var t styled
	r.inline(&t, n, s)
	if t.text.Len() == 0 {
		return nil
	}
	return r.rows(&t, columns)
}

func (r *renderer) heading(n *ast.Heading, columns int) []string {
	if !r.color {
		var t styled
		t.add(strings.Repeat("#", n.Level)+" ", style{})
		r.inline(&t, n, style{})
		return r.rows(&t, columns)
	}
	s := style{role: heading, bold: true, underlined: n.Level == 1}
	if n.Level > 2 {
		s.role = plain
	}
	return r.paragraph(n, s, columns)
}

// indented puts a mark before the first row and blanks before the others.
func indented(rows []string, mark string, width int) []string {
	if len(rows) == 0 {
		rows = []string{""}
	}
	blanks := strings.Repeat(" ", width)
	for i, row := range rows {
		switch {
		case i == 0:
			rows[i] = mark + row
		case row != "":
			rows[i] = blanks + row
		}
	}
	rows[0] = strings.TrimRight(rows[0], " ")
	return rows
}

func (r *renderer) quote(n ast.Node, columns int) []string {
	inner := columns - 2
	if inner < narrowest {
		return r.children(n, columns)
	}
	bar := r.paint("│", style{role: faint})
	rows := r.children(n, inner)
	for i, row := range rows {
		rows[i] = strings.TrimRight(bar+" "+row, " ")
	}
	return rows
}

// listState numbers the items of a list.
type listState struct {
	ordered bool
	number  int
}

func newListState(n *ast.List) *listState { return &listState{n.IsOrdered(), n.Start} }

// next is the mark of the next item.
func (l *listState) next() string {
	if !l.ordered {
		return "• "
	}
	l.number++
	return fmt.Sprintf("%d. ", l.number-1)
}

func (r *renderer) item(n ast.Node, mark string, columns int) []string {
	width := len([]rune(mark))
	mark = r.paint(mark, style{role: faint})
	if box, ok := n.AttributeString(taskKey); ok {
		box := box.(string)
		mark, width = r.paint(box, style{bold: true}), len(box)
	}
	if columns-width < narrowest {
		return append([]string{strings.TrimRight(mark, " ")}, r.children(n, columns)...)
	}
	return indented(r.children(n, columns-width), mark, width)
}

func (r *renderer) html(n *ast.HTMLBlock, columns int) []string {
	var t styled
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		t.add(clean(string(line.Value(r.source))), style{role: faint})
	}
	if n.HasClosure() {
		t.add(clean(string(n.ClosureLine.Value(r.source))), style{role: faint})
	}
	return r.rows(t.trimmed(), columns)
}

// trimmed is t without the newlines at its end.
func (t *styled) trimmed() *styled {
	var out styled
	text := strings.TrimRight(t.text.String(), "\n")
	pos := 0
	for _, run := range t.runs {
		if end := min(run.end, len(text)); end > pos {
			out.add(text[pos:end], run.style)
			pos = end
		}
	}
	return &out
}

func (r *renderer) code(lines *text.Segments, language string, columns int) []string {
	h := newHighlighter(language)
	var out []string
	for i := range lines.Len() {
		line := lines.At(i)
		out = append(out, r.codeLine(h, strings.TrimSuffix(string(line.Value(r.source)), "\n"), columns)...)
	}
	return out
}

// codeIndent sets code off from text.
const codeIndent = "  "

func (r *renderer) codeLine(h *highlighter, line string, columns int) []string {
	t := h.line(clean(line))
	rows := r.broken(t, wrap(t.text.String(), columns-len(codeIndent), true))
	for i, row := range rows {
		if row != "" {
			rows[i] = codeIndent + row
		}
	}
	return rows
}
