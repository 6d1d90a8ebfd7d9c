package term

import (
	"context"
	"os"
)

// Host holds the terminal while a conversation takes place, and shows what goes to
// a Screen. Its methods are called by one goroutine at a time, except Ask and
// Release.
type Host interface {
	Answer(text string) // a piece of text for stdout, without control characters
	// Rows are of an answer: some that are final, and what replaces the open ones;
	// with colours. within: a block of it goes on.
	Rows(final, open []string, within bool)
	EndAnswer()                    // what is open of it is final
	Lines(text string, faint bool) // whole lines for stderr, without control characters
	Draw(rows []string)            // in place; none: nothing any more
	Absent() Nobody                // why nobody can be asked a question, or ""
	// Ask asks a question and returns the line that is typed.
	Ask(ctx context.Context, question string, secret bool) (string, error)
	// Release gives the terminal back, before the process ends at once.
	Release()
}

// Attach has a host show everything, until detach is called.
func (s *Screen) Attach(h Host) (detach func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = h
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clear()
		s.host = nil
	}
}

// On is a screen that writes to another file than the terminal on which s shows.
func (s *Screen) On(f *os.File) *Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Screen{Streams: Streams{In: s.In, Out: f, Err: f}, OutTTY: s.OutTTY, errTTY: s.errTTY, color: s.color, AnswerColor: s.AnswerColor, Still: true, size: s.Size}
}

// Color reports whether there are colors.
func (s *Screen) Color() bool { return s.color }

// hostRows has the host draw rows in place.
func (s *Screen) hostRows(rows []string, columns int) {
	cut := make([]string, len(rows))
	for i, r := range rows {
		cut[i] = Cut(Printable(r), columns-1)
	}
	s.host.Draw(cut)
	s.drawn = true
}
