package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"mylm/cmd/mylm/internal/failure"

	"golang.org/x/term"
)

// Streams are the standard streams of the process.
type Streams struct {
	In       *os.File
	Out, Err *os.File
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Screen writes to stdout and stderr, which may be the same terminal: what is
// drawn in place (the spinner) is cleared before anything else is written. It
// may be used by several goroutines at once.
type Screen struct {
	Streams
	OutTTY, errTTY bool
	color          bool
	AnswerColor    bool // the answer may have colours
	Still          bool // nothing is drawn in place

	size func() (columns, rows int) // nil: that of the streams

	mu     sync.Mutex
	host   Host     // nil: the streams
	drawn  bool     // something is drawn in place on stderr
	rows   []int    // widths of the rows that are drawn in place
	open   []string // rows on stdout that may change; the cursor is behind the last one
	within bool     // what is shown next on stdout belongs to the block before it
	held   []string // lines for stderr, until that is over
	column bool     // stdout, on a terminal, is not at the start of a line
	failed error    // why stdout takes no more
	whole  bool     // the last write to stdout has begun
	ended  bool     // by a signal
}

// NewScreen is the screen of some streams, with colors if stderr is a terminal
// that can show them.
func NewScreen(s Streams) *Screen {
	sc := &Screen{Streams: s, OutTTY: IsTerminal(s.Out), errTTY: IsTerminal(s.Err)}
	sc.Still = !sc.errTTY || os.Getenv("TERM") == "dumb"
	sc.SetColor("auto")
	return sc
}

// SetColor sets whether there are colors: auto, always or never.
func (s *Screen) SetColor(when string) {
	possible := when == "auto" && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	s.mu.Lock()
	defer s.mu.Unlock()
	s.color = when == "always" || possible && s.errTTY
	s.AnswerColor = when == "always" || possible && s.OutTTY
}

// Draws reports whether rows of stdout can be drawn in place.
func (s *Screen) Draws() bool { return s.OutTTY && os.Getenv("TERM") != "dumb" }

// Answer writes to stdout.
func (s *Screen) Answer(text string) { s.answer(text, false) }

// Piece writes a piece of an answer to stdout, whose line goes on with the next one:
// lines for stderr wait for its end, if both show on the terminal.
func (s *Screen) Piece(text string) { s.answer(text, true) }

func (s *Screen) answer(text string, piece bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.OutTTY {
		text = marked(Printable(text))
	}
	if s.failed != nil {
		return
	}
	if s.host != nil {
		s.host.Answer(text)
		return
	}
	if len(s.open) > 0 {
		s.endLine()
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 && len(s.held) > 0 {
		_, s.failed = io.WriteString(s.Out, text[:i+1])
		text = text[i+1:]
		s.column = false
		s.release()
	}
	_, s.failed = io.WriteString(s.Out, text)
	if text != "" {
		s.column = s.OutTTY && !strings.HasSuffix(text, "\n")
	}
	s.within = piece && s.column && s.errTTY
}

// release writes what was held.
func (s *Screen) release() {
	if len(s.held) > 0 {
		_, _ = io.WriteString(s.Err, strings.Join(s.held, "\n")+"\n")
		s.held = nil
	}
}

// Say writes whole lines to stderr.
func (s *Screen) Say(text string) { s.write(text, false) }

// Dim writes whole lines to stderr, faintly where colours are wanted.
func (s *Screen) Dim(text string) { s.write(text, true) }

func (s *Screen) write(text string, faint bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if text = Printable(text); s.errTTY {
		text = marked(text)
	}
	if s.host != nil {
		s.host.Lines(strings.TrimRight(text, "\n"), faint)
		return
	}
	text = strings.TrimRight(text, "\n")
	if faint {
		text = s.faint(text)
	}
	if !s.within {
		if s.errTTY {
			s.endLine()
		}
		_, _ = io.WriteString(s.Err, text+"\n")
		return
	}
	open := s.open[:max(0, len(s.open)-len(s.held))]
	s.held = append(s.held, strings.Split(text, "\n")...)
	if len(s.open) > 0 || !s.column {
		s.redraw(nil, open)
	}
}

// faint adds colour to text that is clean already.
func (s *Screen) faint(text string) string {
	if !s.color {
		return text
	}
	// Each line by itself, so that a pager or a log does not smear the colour.
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = faintOn + l + colorOff
	}
	return strings.Join(lines, "\n")
}

const (
	faintOn  = "\x1b[2m"
	colorOff = "\x1b[0m"
	clearRow = "\r\x1b[K"
)

// Erase clears what is drawn in place.
func (s *Screen) Erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Screen) clear() {
	switch {
	case !s.drawn:
		return
	case s.host != nil:
		s.host.Draw(nil)
	default:
		_, _ = io.WriteString(s.Err, s.clearing())
	}
	s.drawn, s.rows = false, nil
}

// EndAnswer ends the last line of the answer.
func (s *Screen) EndAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLine()
}

func (s *Screen) endLine() {
	if s.host != nil {
		s.host.EndAnswer()
	}
	if len(s.open) > 0 { // they are shown with it
		s.held = nil
	}
	s.newLine()
	s.within = false
	s.release()
}

func (s *Screen) newLine() {
	if s.column {
		_, _ = io.WriteString(s.Out, "\n")
		s.column, s.open = false, nil
	}
}

// Report prints a failure, and what to do about it, on stderr. There is none if
// the reader of stdout has closed it.
func (s *Screen) Report(f *failure.Error) {
	if s.Unread() {
		return
	}
	if s.attached() == nil { // who answers there ends it
		s.EndAnswer()
	}
	s.Say(s.Folded("mylm: "+f.Error(), 2))
	if f.Hint != "" {
		s.Say(s.Folded("  "+strings.ReplaceAll(strings.TrimSpace(f.Hint), "\n", "\n  "), 2))
	}
}

// narrow is a width in which no deep indent leaves room for text.
const narrow = 30

// Folded is a text whose lines are broken between words where they are wider than the
// terminal, if stdout and stderr are one. The rest of a line is indented so far, or as
// the line is.
func (s *Screen) Folded(text string, indent int) string {
	if !s.OutTTY || !s.errTTY || s.attached() != nil {
		return text
	}
	columns, _ := s.Size()
	if columns--; columns-indent < narrow {
		indent = min(indent, 4)
	}
	var out []string
	for line := range strings.SplitSeq(Printable(text), "\n") {
		body := strings.TrimLeft(line, " ")
		at := len(line) - len(body)
		if columns-at < narrow {
			at = min(at, indent)
		}
		first, _, _ := strings.Cut(Fold(body, max(1, columns-at), 2), "\n")
		out = append(out, strings.Repeat(" ", at)+first)
		rest := strings.TrimLeft(body[len(first):], " ")
		hang := max(at, indent)
		for row := range strings.Lines(Fold(rest, max(1, columns-hang), len(rest))) {
			out = append(out, strings.Repeat(" ", hang)+strings.TrimSuffix(row, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

// Write writes to stdout unchanged. After an error, nothing more is written.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.failed != nil {
		return 0, s.failed
	}
	if s.host != nil {
		s.host.Answer(Printable(string(b)))
		return len(b), nil
	}
	n, err := s.Out.Write(b)
	s.failed = err
	return n, err
}

// Failed is why stdout takes no more, nil as long as it does, and if its reader ended by
// the signal that ends this process.
func (s *Screen) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended && errors.Is(s.failed, syscall.EPIPE) {
		return nil
	}
	return s.failed
}

// interrupted notes a signal to end, and reports whether there was one before.
func (s *Screen) interrupted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.ended
	s.ended = true
	return before
}

// Unread reports whether the reader of stdout has closed it.
func (s *Screen) Unread() bool { return errors.Is(s.Failed(), syscall.EPIPE) }

// Complete is called before the last write to stdout: what its reader does from
// then on does not matter.
func (s *Screen) Complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = true
}

// closed notes that the reader of stdout has closed it, and reports whether it
// would have got more.
func (s *Screen) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole {
		s.failed = syscall.EPIPE
	}
	return !s.whole
}

// drawRows shows rows faintly and in place on stderr, until something else is
// written. They never fill the last column: a terminal would go on to the next
// row, which clearing leaves behind.
func (s *Screen) drawRows(rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.column || s.Still {
		return // stdout is in the middle of a line of the same terminal
	}
	columns, _ := s.Size()
	if s.host != nil {
		s.hostRows(rows, columns)
		return
	}
	var b strings.Builder
	b.WriteString(s.clearing())
	s.rows = s.rows[:0]
	for i, r := range rows {
		r = marked(Cut(Printable(r), columns-1))
		if i > 0 {
			b.WriteString("\n")
		}
		s.rows = append(s.rows, columnsOf(r))
		b.WriteString(s.faint(r))
	}
	_, _ = io.WriteString(s.Err, b.String())
	s.drawn = true
}

// clearing is what clears the rows that were drawn. A terminal that was made
// narrower meanwhile has wrapped them, as most do: then they take more rows
// than were written.
func (s *Screen) clearing() string {
	if len(s.rows) == 0 {
		return clearRow
	}
	up := s.wrapped(s.rows) - 1 // the last one is where the cursor stands
	if up == 0 {
		return clearRow
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}

// wrapped is how many rows of the terminal rows of some widths take.
func (s *Screen) wrapped(widths []int) (n int) {
	columns, _ := s.Size()
	for _, width := range widths {
		n += max(1, (width+columns-1)/columns)
	}
	return n
}

// columnsOf is how many columns a text takes.
func columnsOf(text string) (n int) {
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}
