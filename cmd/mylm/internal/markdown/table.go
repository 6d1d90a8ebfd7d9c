package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// measuredRows is how many rows of a table decide on its columns, so that the
// rows below can be final as they come.
const measuredRows = 32

const (
	columnGap    = " │ "
	columnGapLen = 3
	leastNatural = 3
	leastColumn  = 4 // below it a table is shown as a list of its cells
)

// tableState is a table of which rows are final.
type tableState struct {
	source  string // of its header
	natural []int  // columns that its cells would take
	widths  []int  // that they get; nil: it is shown as a list
}

// refit fits the columns into a width.
func (t *tableState) refit(columns int) { t.widths = fit(t.natural, columns) }

// measure finds the columns of a table by its first rows.
func (r *renderer) measure(n *east.Table, columns int) *tableState {
	t := &tableState{natural: slices.Repeat([]int{leastNatural}, len(n.Alignments))}
	rows := 0
	for row := n.FirstChild(); row != nil && rows <= measuredRows; row = row.NextSibling() {
		for i, cell := range r.cellsOf(n, row) {
			for _, s := range wrap(cell.text.String(), maxBlock, false) {
				t.natural[i] = max(t.natural[i], s.width)
			}
		}
		rows++
	}
	t.refit(columns)
	return t
}

// cellsOf is the text of a row's cells, as many as the table has columns.
func (r *renderer) cellsOf(n *east.Table, row ast.Node) []*styled {
	out := make([]*styled, len(n.Alignments))
	head := row == n.FirstChild()
	cell := row.FirstChild()
	for i := range out {
		out[i] = &styled{}
		if cell != nil {
			r.inline(out[i], cell, style{bold: head})
			cell = cell.NextSibling()
		}
	}
	return out
}

// fit divides a width among columns: those that need less than an equal share get
// what they need. It is nil if the share is too small.
func fit(natural []int, columns int) []int {
	left := columns - columnGapLen*(len(natural)-1)
	if sum(natural) <= left {
		return slices.Clone(natural)
	}
	if left < leastColumn*len(natural) {
		return nil
	}
	widths := make([]int, len(natural))
	open := len(natural)
	for changed := true; changed && open > 0; {
		changed = false
		for share, i := left/open, 0; i < len(natural); i++ {
			if widths[i] == 0 && natural[i] <= share {
				widths[i] = max(natural[i], 1)
				left -= widths[i]
				open--
				changed = true
			}
		}
	}
	for i := range widths {
		if widths[i] == 0 {
			widths[i] = left / open
			left -= widths[i]
			open--
		}
	}
	return widths
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// table renders a table, or if its header is final the rows that go on with it.
func (r *renderer) table(n *east.Table, begun *tableState, columns int) []string {
	t := begun
	if t == nil {
		t = r.measure(n, columns)
	}
	header := r.cellsOf(n, n.FirstChild())
	if t.widths == nil {
		return r.records(n, header, begun != nil, columns)
	}
	var out []string
	if begun == nil {
		rule := make([]string, len(t.widths))
		for i, w := range t.widths {
			rule[i] = strings.Repeat("─", w)
		}
		out = append(r.tableRow(n, header, t.widths), r.paint(strings.Join(rule, "─┼─"), style{role: faint}))
	}
	for row := n.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
		out = append(out, r.tableRow(n, r.cellsOf(n, row), t.widths)...)
	}
	return out
}

// tableRow renders a row whose cells are wrapped in their columns.
func (r *renderer) tableRow(n *east.Table, cells []*styled, widths []int) []string {
	gap := r.paint(columnGap, style{role: faint})
	texts, wrapped, height := make([]string, len(cells)), make([][]segment, len(cells)), 0
	for i, c := range cells {
		texts[i] = c.text.String()
		wrapped[i] = wrap(texts[i], widths[i], false)
		height = max(height, len(wrapped[i]))
	}
	out := make([]string, height)
	for y := range out {
		var b strings.Builder
		for i, lines := range wrapped {
			text, blank := "", widths[i]
			if y < len(lines) {
				text, blank = r.row(cells[i], texts[i], lines[y]), max(0, widths[i]-lines[y].width)
			}
			left := 0
			switch n.Alignments[i] {
			case east.AlignRight:
				left = blank
			case east.AlignCenter:
				left = blank / 2
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(strings.Repeat(" ", left) + text + strings.Repeat(" ", blank-left))
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// records renders a table that is too wide as a list of its cells, each behind
// the name of its column.
func (r *renderer) records(n *east.Table, header []*styled, begun bool, columns int) []string {
	var out []string
	for row := n.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
		if begun || len(out) > 0 {
			out = append(out, r.paint(strings.Repeat("─", columns), style{role: faint}))
		}
		for i, cell := range r.cellsOf(n, row) {
			var t styled
			t.join(header[i])
			if t.text.Len() > 0 {
				t.add(": ", style{bold: true})
			}
			t.join(cell)
			out = append(out, r.rows(&t, columns)...)
		}
	}
	if len(out) == 0 && !begun {
		for _, h := range header {
			out = append(out, r.rows(h, columns)...)
		}
	}
	return out
}

// join adds another styled text.
func (t *styled) join(other *styled) {
	text, pos := other.text.String(), 0
	for _, run := range other.runs {
		t.add(text[pos:run.end], run.style)
		pos = run.end
	}
}
