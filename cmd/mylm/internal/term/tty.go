package term

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"mylm/cmd/mylm/internal/failure"

	"golang.org/x/term"
)

// Prompter asks questions on the terminal, whatever stdin and stdout are
// connected to. If there is no terminal, or CI is set, there is nobody to ask.
type Prompter struct {
	Screen *Screen
	View   Pauser // pauses during a question; may be nil

	asking sync.Mutex // tasks of a plan run side by side: one question at a time
}

// Pauser draws on the terminal, and pauses during a question.
type Pauser interface {
	Pause()
	Resume()
}

// Nobody is the reason why a question was not answered, as a sentence.
type Nobody string

// Error implements error.
func (n Nobody) Error() string { return string(n) }

// Why nobody was asked.
const (
	NoTerminal = Nobody("There is no terminal to ask on")
	inCI       = Nobody("CI is set: nobody is asked")
	noAnswer   = Nobody("There was no answer")
)

// OpenTTY opens the terminal of the process for reading and for writing.
func OpenTTY() (in, out *os.File, err error) {
	if in, err = os.OpenFile(ttyIn, os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile(ttyOut, os.O_WRONLY, 0); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// Size is the size of the terminal that questions are asked on: 80 by 24, the
// size of the DEC VT100, if it is unknown.
func Size() (columns, rows int) {
	columns, rows = 80, 24
	f, err := os.OpenFile(ttyOut, os.O_WRONLY, 0)
	if err != nil {
		return columns, rows
	}
	defer f.Close()
	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
		columns, rows = w, h
	}
	return columns, rows
}

// Ask shows a question on the terminal and returns the line that is typed.
// Input typed before the question was shown is not an answer to it.
func (p *Prompter) Ask(ctx context.Context, question string) (string, error) {
	return p.ask(ctx, question, false)
}

// AskSecret is Ask for a line that the terminal does not show.
func (p *Prompter) AskSecret(ctx context.Context, question string) (string, error) {
	return p.ask(ctx, question, true)
}

// ask puts a question on the terminal. Without one, and where CI is set, nobody can be asked.
func (p *Prompter) ask(ctx context.Context, question string, secret bool) (string, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if h := p.Screen.attached(); h != nil {
		if p.View != nil {
			p.View.Pause()
			defer p.View.Resume()
		}
		return h.Ask(ctx, Printable(question), secret)
	}
	if os.Getenv("CI") != "" {
		return "", inCI
	}
	in, out, err := OpenTTY()
	if err != nil {
		return "", NoTerminal
	}
	defer out.Close()
	if p.View != nil {
		p.View.Pause()
		defer p.View.Resume()
	}
	if p.Screen.OutTTY {
		p.Screen.EndAnswer()
	}
	before, err := term.GetState(int(in.Fd()))
	if err == nil {
		err = flushInput(in)
	}
	if err != nil {
		in.Close()
		return "", fmt.Errorf("the terminal does not drop what was typed ahead, so nothing is asked on it: %w", err)
	}
	if _, err := fmt.Fprint(out, Printable(question)); err != nil {
		in.Close()
		return "", NoTerminal
	}
	typed, err := Wait(ctx, func() (string, error) {
		defer in.Close()
		if secret {
			text, err := term.ReadPassword(int(in.Fd()))
			return string(text), err
		}
		text, err := bufio.NewReader(in).ReadString('\n')
		return strings.TrimSpace(text), err
	})
	if err != nil || secret {
		fmt.Fprintln(out)
	}
	switch {
	case err == nil:
		return typed, nil
	case ctx.Err() != nil:
		_ = term.Restore(int(out.Fd()), before) // the read ends with the process, which is about to
		return "", ctx.Err()
	}
	return "", noAnswer
}

// attached is the host, nil if there is none.
func (s *Screen) attached() Host {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host
}

// Typed is a command line as it is typed here: in a conversation behind a !.
func (s *Screen) Typed(line string) string {
	if s.attached() != nil {
		return "!" + line
	}
	return line
}

// Choose lets the user pick one of several lines by number.
func (p *Prompter) Choose(ctx context.Context, title string, lines []string) (int, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", title)
	for i, l := range lines {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, l)
	}
	fmt.Fprintf(&b, "\nNumber [1]: ")
	for {
		answer, err := p.Ask(ctx, b.String())
		var no Nobody
		if errors.As(err, &no) {
			return -1, nil
		}
		if err != nil {
			return -1, err
		}
		if answer == "" {
			return 0, nil
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(lines) {
			return n - 1, nil
		}
		b.Reset()
		fmt.Fprintf(&b, "A number from 1 to %d: ", len(lines))
	}
}

// Absent is why nobody can be asked, or "".
func (p *Prompter) Absent() Nobody {
	if h := p.Screen.attached(); h != nil {
		return h.Absent()
	}
	if os.Getenv("CI") != "" {
		return inCI
	}
	in, out, err := OpenTTY()
	if err != nil {
		return NoTerminal
	}
	in.Close()
	out.Close()
	return ""
}

// sameSignal is how long a signal of one kind counts once: timeout(1) sends its own to
// the process and to the group of it, and shells that end do the like.
const sameSignal = 250 * time.Millisecond

// Interruptible returns a context that the first signal to end cancels, or the
// end of stdout's reader. A second signal ends the process at once.
func Interruptible(s *Screen) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	done := make(chan struct{})
	onClosed(s.Out, done, func() {
		if s.closed() {
			cancel()
		}
	})
	go func() {
		var first os.Signal
		var at time.Time
		for {
			select {
			case sig := <-signals:
				if sig == os.Interrupt && keyOfEditor() || sig == first && time.Since(at) < sameSignal {
					continue
				}
				first, at = sig, time.Now()
			case <-done:
				return
			}
			if s.interrupted() {
				if h := s.attached(); h != nil {
					h.Release()
				} else {
					s.Erase()
				}
				os.Exit(failure.ExitInterrupted)
			}
			cancel()
		}
	}()
	return ctx, func() { // the signals stay caught: the program is ending, with its own exit code
		close(done)
		cancel()
	}
}

// Wait waits for f until ctx is done. A read of an idle pipe cannot be ended: it
// ends with the process.
func Wait[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Size is that of the terminal on stderr, or else stdout, 80 by 24 if it is
// unknown.
func (s *Screen) Size() (columns, rows int) {
	if s.size != nil {
		return s.size()
	}
	for _, f := range []*os.File{s.Err, s.Out} {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return 80, 24
}

// marks are what stands for the signs of mylm where the terminal may lack them.
var marks = strings.NewReplacer("✓", "+", "✗", "x", "▶", ">", "⋯", ".", "│", "|", "─", "-", "┼", "+", "•", "*")

// marked is a text for a terminal, with signs that it has.
func marked(text string) string {
	if plain() {
		return marks.Replace(text)
	}
	return text
}

// plain reports whether the terminal may lack characters beyond ASCII: the locale
// is of another encoding than UTF-8, or it is the console of Linux.
func plain() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8") || os.Getenv("TERM") == "linux"
}
