package main

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

// person asks questions on the terminal, whatever stdin and stdout are
// connected to. Where there is no terminal, or CI is set, there is nobody.
type person struct {
	screen  *screen
	view    pausing // while a question stands; may be nil
	stopped bool    // the answer to a question was to stop

	asking sync.Mutex // tasks of a plan run side by side: one question at a time

	forbidden bool   // a rule forbade a call
	bound     string // what asks for questions, so that --yes does not count; "" if nothing does
}

// boundBy says why --yes is no remedy.
func (p *person) boundBy() string {
	return p.bound + " asks for questions, so that --yes does not count"
}

// pausing is what moves on the terminal, and gets out of the way of a question.
type pausing interface {
	pause()
	resume()
}

// nobody is the reason why a question was not answered, as a sentence.
type nobody string

func (n nobody) Error() string { return string(n) }

const (
	noTerminal = nobody("There is no terminal to ask on")
	inCI       = nobody("CI is set: nobody is asked")
	noAnswer   = nobody("There was no answer")
)

// openTTY opens the terminal of the process for reading and for writing.
func openTTY() (in, out *os.File, err error) {
	if in, err = os.OpenFile(ttyIn, os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile(ttyOut, os.O_WRONLY, 0); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// ttySize is the size of the terminal that questions are asked on: 80 by 24,
// the size of the DEC VT100, where it does not say.
func ttySize() (columns, rows int) {
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

// ask shows a question on the terminal and returns the line that is typed. What
// was typed before the question stood there is no answer to it.
func (p *person) ask(ctx context.Context, question string) (string, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if os.Getenv("CI") != "" {
		return "", inCI
	}
	in, out, err := openTTY()
	if err != nil {
		return "", noTerminal
	}
	defer out.Close()
	if p.view != nil {
		p.view.pause()
		defer p.view.resume()
	}
	if p.screen.outTTY {
		p.screen.endAnswer()
	}
	if err := flushInput(in); err != nil {
		in.Close()
		return "", fmt.Errorf("the terminal does not drop what was typed ahead, so nothing is asked on it: %w", err)
	}
	if _, err := fmt.Fprint(out, printable(question)); err != nil {
		in.Close()
		return "", noTerminal
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

// choose lets the user pick one of several lines by number.
func (p *person) choose(ctx context.Context, title string, lines []string) (int, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", title)
	for i, l := range lines {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, l)
	}
	fmt.Fprintf(&b, "\nNumber [1]: ")
	for {
		answer, err := p.ask(ctx, b.String())
		var no nobody
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
