package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Prompter asks questions on the terminal, whatever stdin and stdout are
// connected to. Where there is no terminal, or CI is set, there is nobody.
type Prompter struct {
	Screen *Screen
	View   Pauser // gets out of the way of a question; may be nil

	asking sync.Mutex // tasks of a plan run side by side: one question at a time
}

// Pauser is what moves on the terminal, and gets out of the way of a question.
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

// Size is the size of the terminal that questions are asked on: 80 by 24,
// the size of the DEC VT100, where it does not say.
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

// Ask shows a question on the terminal and returns the line that is typed. What
// was typed before the question stood there is no answer to it.
func (p *Prompter) Ask(ctx context.Context, question string) (string, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
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
	if err := flushInput(in); err != nil {
		in.Close()
		return "", fmt.Errorf("the terminal does not drop what was typed ahead, so nothing is asked on it: %w", err)
	}
	if _, err := fmt.Fprint(out, Printable(question)); err != nil {
		in.Close()
		return "", NoTerminal
	}
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		defer in.Close()
		text, err := bufio.NewReader(in).ReadString('\n')
		typed <- line{strings.TrimSpace(text), err}
	}()
	select {
	case l := <-typed:
		if l.err != nil {
			fmt.Fprintln(out)
			return "", noAnswer
		}
		return l.text, nil
	case <-ctx.Done():
		// The read ends with the process, which is about to.
		fmt.Fprintln(out)
		return "", ctx.Err()
	}
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

// Absent is why nobody can be asked, "" if somebody can.
func (p *Prompter) Absent() Nobody {
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
