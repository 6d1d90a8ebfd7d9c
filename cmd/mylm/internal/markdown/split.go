package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// fence is a fenced code block at the top level whose lines are final as they
// come.
type fence struct {
	mark      byte // of which the closing line has at least size
	size      int
	indent    int // blanks that are removed from lines
	highlight highlighter
}

// newFence reads the first line of a fenced code block.
func newFence(opening, language string) *fence {
	text := strings.TrimLeft(opening, " ")
	size := len(text) - len(strings.TrimLeft(text, text[:1]))
	return &fence{text[0], size, len(opening) - len(text), *newHighlighter(language)}
}

// closedBy reports whether a line ends the block.
func (f *fence) closedBy(line string) bool {
	text := strings.TrimLeft(line, " ")
	marks := strings.TrimRight(text, " \t")
	return len(line)-len(text) < 4 && len(marks) >= f.size && strings.Trim(marks, string(f.mark)) == ""
}

// line renders a line of the block.
func (f *fence) line(r *renderer, line string) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	for i := 0; i < f.indent && strings.HasPrefix(line, " "); i++ {
		line = line[1:]
	}
	return r.codeLine(&f.highlight, line, r.width)
}

// settle takes what is final from the source. What it does depends on the lines
// so far and not on the pieces that they came in.
func (s *Stream) settle() {
	for s.step() {
	}
}

// step takes the next part that is final, and reports whether there was one.
func (s *Stream) step() bool {
	if s.fence != nil {
		line, rest, whole := strings.Cut(s.source, "\n")
		if !whole {
			return false
		}
		s.source = rest
		if s.fence.closedBy(line) {
			s.fence = nil
		} else {
			s.out.emit(s.fence.line(&s.r, line))
		}
		return true
	}
	s.skipBlank()
	lines, full := window(s.source)
	if lines == "" {
		return false
	}
	s.r.source = []byte(lines)
	doc := parse(s.r.source)
	first, last := doc.FirstChild(), doc.LastChild()
	if first == nil {
		return false
	}
	if cut := lineStart(s.r.source, last.Pos()); first != last && cut > 0 {
		s.finish(doc, last, cut)
		s.list, s.table = nil, nil
		return true
	}
	switch n := first.(type) {
	case *ast.FencedCodeBlock:
		opening, rest, _ := strings.Cut(s.source, "\n")
		s.fence, s.source = newFence(opening, string(n.Language(s.r.source))), rest
		return true
	case *ast.List:
		item := n.LastChild()
		if cut := lineStart(s.r.source, item.Pos()); item != n.FirstChild() && cut > 0 {
			s.finish(n, item, cut)
			return true
		}
	case *east.Table:
		rows := n.ChildCount() - 1
		if endsBlank(lines) || rows == 0 && s.table == nil {
			break
		}
		if rows == 0 {
			return false
		}
		if rows > measuredRows || full || s.table != nil {
			if s.table == nil {
				s.table = s.r.measure(n, s.r.width)
				head := strings.SplitAfterN(lines, "\n", 3)
				s.table.source = head[0] + head[1]
				s.out.emit(s.r.table(n, nil, s.r.width))
			} else {
				s.out.emit(s.r.table(n, s.table, s.r.width))
			}
			s.source = s.table.source + s.source[len(lines):]
			return true
		}
	}
	if full || closed(first) || endsBlank(lines) && closedByBlank(first) {
		s.finish(doc, nil, len(lines))
		s.list, s.table = nil, nil
		return true
	}
	return false
}

// skipBlank drops empty lines at the beginning.
func (s *Stream) skipBlank() {
	for {
		line, rest, whole := strings.Cut(s.source, "\n")
		if !whole || strings.Trim(line, " \t") != "" {
			return
		}
		s.source, s.out.blank = rest, true
	}
}

// window is the whole lines at the beginning of source, of which the last one may
// exceed maxBlock, and whether it does.
func window(source string) (lines string, full bool) {
	if len(source) > maxBlock {
		if end := strings.IndexByte(source[maxBlock-1:], '\n'); end >= 0 {
			return source[:maxBlock+end], true
		}
	}
	return source[:strings.LastIndexByte(source, '\n')+1], false
}

// endsBlank reports whether the last line is empty.
func endsBlank(lines string) bool {
	return lineIsBlank(lines[strings.LastIndexByte(lines[:len(lines)-1], '\n')+1:])
}

func lineIsBlank(line string) bool { return strings.Trim(line, " \t\n") == "" }

// closed reports whether a block takes no more lines, whatever they are.
func closed(n ast.Node) bool {
	switch n.(type) {
	case *ast.Heading, *ast.ThematicBreak:
		return true
	}
	return false
}

// closedByBlank reports whether a block takes no more lines after an empty one.
func closedByBlank(n ast.Node) bool {
	switch n.(type) {
	case *ast.Paragraph, *ast.Blockquote, *east.Table:
		return true
	}
	return false
}

// finish renders the blocks in n before one, nil for all. They end at an offset.
func (s *Stream) finish(n, before ast.Node, cut int) {
	s.render(&s.out, n, before)
	if s.source = s.source[cut:]; blankBefore(s.r.source, cut) {
		s.out.blank = true
	}
}

// show renders source, which continues what is final, without changing the
// stream.
func (s *Stream) show(to *emitter, source string) {
	view := *s
	if s.list != nil {
		list := *s.list
		view.list = &list
	}
	view.r.source = []byte(source)
	view.render(to, parse(view.r.source), nil)
}

// render renders the blocks in n before one; those of a document with their
// lists item by item. It counts the items.
func (s *Stream) render(to *emitter, n, before ast.Node) {
	for c := n.FirstChild(); c != before; c = c.NextSibling() {
		if blankBefore(s.r.source, c.Pos()) {
			to.blank = true
		}
		switch n := c.(type) {
		case *ast.List:
			if c != n.Parent().FirstChild() || s.list == nil {
				s.list = newListState(n)
			}
			s.render(to, n, nil)
		case *ast.ListItem:
			if s.list == nil {
				s.list = newListState(n.Parent().(*ast.List))
			}
			to.emit(s.r.item(n, s.list.next(), s.r.width))
		case *east.Table:
			if s.table != nil && c == c.Parent().FirstChild() {
				to.emit(s.r.table(n, s.table, s.r.width))
			} else {
				to.emit(s.r.table(n, nil, s.r.width))
			}
		default:
			to.emit(s.r.block(c, s.r.width))
		}
	}
}
