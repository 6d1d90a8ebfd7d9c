package markdown

import (
	"strings"
	"unicode/utf8"
)

// Options say how Markdown is shown.
type Options struct {
	Width      int        // columns of a row; 0 is 80, and less than 10 is 10
	Color      bool       // colours and weights; without them the marks stay
	Background Background // of the terminal
}

// Bounds of what is parsed at once, so that a redraw stays short. They count
// bytes.
const (
	maxBlock = 4096
	maxLine  = 2048
)

// Stream renders a document that comes in pieces. However it is cut, the final
// rows are the same. It is used by one goroutine at a time.
type Stream struct {
	r   renderer
	out emitter

	lines  breaker
	source string // what is not final: lines, and at the end a part of one
	list   *listState
	table  *tableState
	fence  *fence
}

// New is a stream at its beginning.
func New(o Options) *Stream { return &Stream{r: newRenderer(o)} }

// Resize sets the width for the rows that are not final yet.
func (s *Stream) Resize(width int) {
	s.r.width = boundedWidth(width)
	if s.table != nil {
		s.table.refit(s.r.width)
	}
}

// Write adds text and returns the rows that became final by it, each with a
// newline.
func (s *Stream) Write(text string) (final string) {
	s.source += s.lines.add(text)
	s.settle()
	return s.out.take()
}

// Within reports whether a block has begun that is not over: what is shown now would
// split it.
func (s *Stream) Within() bool {
	return s.fence != nil || s.table != nil || s.list != nil || strings.Trim(s.source, " \t\n") != ""
}

// Open is the rows of the block that may still change, each with a newline. A
// last line is left out as long as it has only marks, which may turn out to be of
// different kinds.
func (s *Stream) Open() string {
	source := s.source
	if n := len(source); n > 0 && !utf8.FullRuneInString(source[lastRune(source):]) {
		source = source[:lastRune(source)]
	}
	if i := strings.LastIndexByte(source, '\n') + 1; strings.Trim(source[i:], " \t-+*_=#>|:`~0123456789.)") == "" {
		source = source[:i]
	}
	view := s.out.fork()
	if s.fence != nil {
		if source != "" {
			f := *s.fence
			view.emit(f.line(&s.r, source))
		}
		return view.take()
	}
	s.show(&view, completed(source))
	return view.take()
}

// completed ends the bold text and the code that the last line of source leaves
// open, so that their marks are not shown until the closing ones come.
func completed(source string) string {
	i := strings.LastIndexByte(source, '\n') + 1
	line := strings.TrimRight(source[i:], "*`")
	if line == "" || strings.HasSuffix(line, "\\") || strings.Contains(source, "```") || strings.Contains(source, "~~~") {
		return source
	}
	if strings.HasSuffix(line, " ") { // the marks open something, of which nothing is there
		source = source[:i] + strings.TrimRight(line, " ")
		line = source[i:]
	}
	if line == "" {
		return source
	}
	switch {
	case strings.Count(line, "`")%2 == 1:
		line += "`"
	case strings.Count(line, "**")%2 == 1:
		line += "**"
	default:
		return source
	}
	return source[:i] + line
}

// lastRune is where the last rune of s begins, whole or not.
func lastRune(s string) int {
	i := len(s) - 1
	for i > 0 && i > len(s)-utf8.UTFMax && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// Close returns the remaining rows. After it the stream is at the beginning of
// another document.
func (s *Stream) Close() (final string) {
	s.source = withNewline(s.source)
	s.settle()
	if s.fence == nil {
		s.show(&s.out, s.source)
	}
	final = s.out.take()
	*s = Stream{r: s.r}
	return final
}

// Render renders a whole document at once. A Stream comes to the same rows, but
// ends blocks that are too long.
func Render(text string, o Options) string {
	s := New(o)
	s.show(&s.out, withNewline(s.lines.add(text)))
	return s.out.take()
}

// withNewline ends the last line of text.
func withNewline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// emitter collects rows. It puts an empty one between blocks that have one in the
// source.
type emitter struct {
	rows    strings.Builder
	started bool
	blank   bool
}

func (e *emitter) emit(rows []string) {
	if len(rows) == 0 {
		return
	}
	if e.blank && e.started {
		e.rows.WriteByte('\n')
	}
	e.started, e.blank = true, false
	for _, row := range rows {
		e.rows.WriteString(row)
		e.rows.WriteByte('\n')
	}
}

func (e *emitter) take() string {
	rows := e.rows.String()
	e.rows.Reset()
	return rows
}

// fork is an emitter without rows that goes on from here.
func (e *emitter) fork() emitter { return emitter{started: e.started, blank: e.blank} }

// breaker prepares text: newlines end its lines, and one is added to a line that
// is too long, at the next space, or in a word as long again.
type breaker struct{ column int }

func (b *breaker) add(text string) string {
	text = strings.ReplaceAll(text, "\r", "")
	var out strings.Builder
	start := 0
	for i := range len(text) {
		c := text[i]
		long := b.column >= maxLine && c == ' ' || b.column >= 2*maxLine && utf8.RuneStart(c) || b.column >= 2*maxLine+utf8.UTFMax
		if long && c != '\n' {
			out.WriteString(text[start:i])
			out.WriteByte('\n')
			start, b.column = i, 0
		}
		b.column++
		if c == '\n' {
			b.column = 0
		}
	}
	out.WriteString(text[start:])
	return out.String()
}
