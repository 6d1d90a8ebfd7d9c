package markdown

import (
	"bytes"
	"slices"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is the parser. goldmark's package of extensions is not used: it
// compiles expressions at every start of the program. Definitions of links are
// not resolved, since the text that they are about is final when they come.
var markdown = sync.OnceValue(func() parser.Parser {
	inline := append(parser.DefaultInlineParsers(), util.Prioritized(strikethrough{}, 500))
	return parser.NewParser(
		parser.WithBlockParsers(withoutTables(parser.DefaultBlockParsers())...),
		parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(util.Prioritized(tables{}, 200), util.Prioritized(tasks{}, 300)),
	)
})

func parse(source []byte) ast.Node { return markdown().Parse(text.NewReader(source)) }

// withoutTables replaces the parser of underlined headings by one that leaves
// tables alone.
func withoutTables(blocks []util.PrioritizedValue) []util.PrioritizedValue {
	blocks[0].Value = underlined{parser.NewSetextHeadingParser()}
	return blocks
}

// underlined parses headings that are underlined. The line below a table is none.
type underlined struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (u underlined) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	if p, ok := pc.LastOpenedBlock().Node.(*ast.Paragraph); ok && len(bytes.Trim(line, "-= \t\n")) == 0 {
		if header, _ := tableIn(p, reader.Source()); header >= 0 {
			return nil, parser.NoChildren
		}
	}
	return u.BlockParser.Open(parent, reader, pc)
}

// tables makes tables of paragraphs.
type tables struct{}

// tableIn is the line of a paragraph that is the header of a table, and how its
// columns are aligned; -1 if there is none.
func tableIn(p *ast.Paragraph, source []byte) (header int, align []east.Alignment) {
	lines := p.Lines()
	for i := 1; i < lines.Len(); i++ {
		above, below := lines.At(i-1), lines.At(i)
		align := alignments(below.Value(source))
		if align == nil || len(cells(above, source)) != len(align) {
			continue
		}
		// A line that could begin another block if it were the first one is
		// not split off from what is above it.
		if w, pos := util.IndentWidth(above.Value(source), 0); i == 1 || w < 4 && above.Value(source)[pos] == '|' {
			return i - 1, align
		}
	}
	return -1, nil
}

// alignments reads the line below a table's header; nil if it is none.
func alignments(line []byte) (out []east.Alignment) {
	if line = bytes.TrimSpace(line); !bytes.ContainsAny(line, "|:") {
		return nil
	}
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = bytes.TrimSpace(cell)
		dashes := bytes.Trim(cell, ":")
		if len(dashes) == 0 || len(cell)-len(dashes) > 2 || len(bytes.Trim(dashes, "-")) > 0 {
			return nil
		}
		left, right := cell[0] == ':', cell[len(cell)-1] == ':'
		switch {
		case len(cell)-len(dashes) == 2 && !(left && right):
			return nil
		case left && right:
			out = append(out, east.AlignCenter)
		case right:
			out = append(out, east.AlignRight)
		default:
			out = append(out, east.AlignLeft)
		}
	}
	return out
}

// cells splits a row at its unescaped bars.
func cells(line text.Segment, source []byte) (out []text.Segment) {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	line.Padding = 0
	row := line.Value(source)
	start, end := 0, len(row)
	if end > 0 && row[0] == '|' {
		start++
	}
	if end > start && row[end-1] == '|' && !escaped(row, end-1) {
		end--
	}
	for i := start; i <= end; i++ {
		if i == end || row[i] == '|' && !escaped(row, i) {
			cell := text.NewSegment(line.Start+start, line.Start+i)
			cell = cell.TrimLeftSpace(source)
			out = append(out, cell.TrimRightSpace(source))
			start = i + 1
		}
	}
	return out
}

// escaped reports whether there is an odd number of backslashes before row[i].
func escaped(row []byte, i int) bool {
	n := i
	for n > 0 && row[n-1] == '\\' {
		n--
	}
	return (i-n)%2 == 1
}

// Transform implements parser.ParagraphTransformer.
func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	header, align := tableIn(p, source)
	if header < 0 {
		return
	}
	table := east.NewTable()
	table.Alignments = align
	for i := header; i < p.Lines().Len(); i++ {
		if i == header+1 {
			continue
		}
		line := p.Lines().At(i)
		row := east.NewTableRow(align)
		row.SetPos(line.Start)
		for _, c := range cells(line, source) {
			cell := east.NewTableCell()
			cell.SetPos(c.Start)
			cell.Lines().Append(c)
			row.AppendChild(row, cell)
		}
		table.AppendChild(table, row)
	}
	table.SetPos(p.Lines().At(header).Start)
	p.Parent().InsertAfter(p.Parent(), p, table)
	if header == 0 {
		p.Parent().RemoveChild(p.Parent(), p)
		return
	}
	p.Lines().SetSliced(0, header)
	last := p.Lines().At(header - 1)
	p.Lines().Set(header-1, last.TrimRightSpace(source))
}

// tasks reads the box of an item of a task list.
type tasks struct{}

// The values of the attribute of such an item.
const (
	taskKey  = "task"
	taskOpen = "[ ] "
	taskDone = "[x] "
)

// Transform implements parser.ParagraphTransformer.
func (tasks) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	item, ok := p.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != p || p.Lines().Len() == 0 {
		return
	}
	line := p.Lines().At(0)
	box := line.Value(reader.Source())
	if len(box) < len(taskOpen) || len(bytes.TrimSpace(box[len(taskOpen):])) == 0 || box[0] != '[' || !slices.Contains([]byte(" xX"), box[1]) || box[2] != ']' || box[3] != ' ' || line.Padding > 0 {
		return
	}
	state := taskDone
	if box[1] == ' ' {
		state = taskOpen
	}
	item.SetAttributeString(taskKey, state)
	line.Start += len(taskOpen)
	p.Lines().Set(0, line.TrimLeftSpace(reader.Source()))
}

// strikethrough parses text between tildes.
type strikethrough struct{}

// Trigger implements parser.InlineParser.
func (strikethrough) Trigger() []byte { return []byte{'~'} }

// Parse implements parser.InlineParser.
func (s strikethrough) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 1, s)
	if node == nil || node.OriginalLength > 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

// IsDelimiter implements parser.DelimiterProcessor.
func (strikethrough) IsDelimiter(b byte) bool { return b == '~' }

// CanOpenCloser implements parser.DelimiterProcessor.
func (strikethrough) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char && opener.OriginalLength == closer.OriginalLength
}

// OnMatch implements parser.DelimiterProcessor.
func (strikethrough) OnMatch(int) ast.Node { return east.NewStrikethrough() }
