package main

import (
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// The rules of the terminal. Everything that mylm prints follows this table.
//
//	what                        where    when
//	answer                      stdout   at the end, whole; as it comes if stdout is a terminal
//	text before a tool call     stdout   only as it comes, on a terminal
//	--json object               stdout   at the end, instead of the answer
//	tool calls, notices         stderr   always, but not with --quiet
//	thought, statistics         stderr   with --verbose
//	spinner                     stderr   if stderr is a terminal that can, not with --quiet
//	tree of a plan              stderr   in place if stderr is a terminal that can, else a line per step, not with --quiet
//	errors and what to do       stderr   always
//	questions (allow? which?)   /dev/tty if there is one and CI is not set; else the answer is no
//
// A run that did not end with an answer prints one on stdout all the same where
// there is something to hold: the last text of the model at a limit. After a
// failure of the model, an interrupt, a timeout, unreadable replies or a full
// context stdout stays empty.
//
// Nothing that a model or a tool wrote reaches a terminal with its control
// characters; a pipe or a file gets the answer as it was written.
//
//	exit  meaning
//	0     complete
//	1     internal error, or the model failed
//	2     wrong usage or configuration
//	3     no server at the address, or no such model
//	4     the last sensitive call was denied and none succeeded after it
//	5     any other end without an answer: a limit, a loop, failing tools
//	6     the model's replies could not be read
//	7     the conversation does not fit the model's context
//	124   nothing came from the model for too long
//	130   interrupted

// streams are the standard streams of the process.
type streams struct {
	in       *os.File
	out, err *os.File
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// screen writes to stdout and stderr, which may be the same terminal: what is
// drawn in place (the spinner) is cleared before anything else is written. It
// may be used by several goroutines at once.
type screen struct {
	streams
	outTTY, errTTY bool
	color          bool
	still          bool // nothing is drawn in place

	mu     sync.Mutex
	drawn  bool  // something stands on the current line of stderr, to be cleared
	rows   []int // how wide the rows are that drawRows has shown, the last of them on that line
	column bool  // stdout, on a terminal, is not at the start of a line
	failed error // the first write to stdout that failed
}

func newScreen(s streams, color string) *screen {
	sc := &screen{streams: s, outTTY: isTerminal(s.out), errTTY: isTerminal(s.err)}
	dumb := os.Getenv("TERM") == "dumb"
	sc.color = color == "always" || color == "auto" && sc.errTTY && !dumb && os.Getenv("NO_COLOR") == ""
	sc.still = !sc.errTTY || dumb
	return sc
}

// answer writes to stdout.
func (s *screen) answer(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.outTTY {
		text = printable(text)
	}
	if _, err := io.WriteString(s.out, text); err != nil && s.failed == nil {
		s.failed = err
	}
	if text != "" {
		s.column = s.outTTY && !strings.HasSuffix(text, "\n")
	}
}

// say writes whole lines to stderr.
func (s *screen) say(text string) { s.write(s.foreign(text)) }

// dim writes whole lines to stderr, faintly where colours are wanted.
func (s *screen) dim(text string) { s.write(s.faint(s.foreign(text))) }

func (s *screen) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.freshLine()
	_, _ = io.WriteString(s.err, strings.TrimRight(text, "\n")+"\n")
}

// faint adds colour to text that is clean already.
func (s *screen) faint(text string) string {
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

// foreign removes control characters from what goes to a terminal.
func (s *screen) foreign(text string) string {
	if !s.errTTY {
		return text
	}
	return printable(text)
}

// draw shows a line faintly and in place on stderr, until something else is
// written. It never fills the last column: a terminal would go on to the next
// row, which clearing leaves behind.
func (s *screen) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.column || s.still {
		return // stdout is in the middle of a line of the same terminal
	}
	columns, _ := s.size()
	_, _ = io.WriteString(s.err, clearRow+s.faint(cut(s.foreign(text), columns-1)))
	s.drawn = true
}

// erase clears what draw has shown.
func (s *screen) erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *screen) clear() {
	if s.drawn {
		_, _ = io.WriteString(s.err, s.clearing())
		s.drawn, s.rows = false, nil
	}
}

// freshLine ends a line of stdout that is still open, if both streams show on
// the terminal.
func (s *screen) freshLine() {
	if s.column && s.errTTY {
		_, _ = io.WriteString(s.out, "\n")
		s.column = false
	}
}

// endAnswer ends the last line of the answer.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.column {
		_, _ = io.WriteString(s.out, "\n")
		s.column = false
	}
}
