package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"mylm/agent"
)

// person asks questions on the terminal, whatever stdin and stdout are
// connected to. Where there is no terminal, or CI is set, there is nobody.
type person struct {
	screen *screen
	view   *view // paused while a question stands; may be nil
}

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

// errNobody says that there is nobody to ask.
var errNobody = errors.New("no terminal to ask on")

// ask shows a question on the terminal and returns the line that is typed.
func (p *person) ask(ctx context.Context, question string) (string, error) {
	if os.Getenv("CI") != "" {
		return "", errNobody
	}
	in, out, err := openTTY()
	if err != nil {
		return "", errNobody
	}
	if p.view != nil {
		p.view.pause()
	}
	if p.screen.outTTY {
		p.screen.endAnswer()
	}
	defer out.Close()
	if _, err := fmt.Fprint(out, printable(question)); err != nil {
		in.Close()
		return "", errNobody
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
		if l.err != nil && l.text == "" {
			return "", errNobody
		}
		return l.text, nil
	case <-ctx.Done():
		// The read ends with the process, which is about to.
		fmt.Fprintln(out)
		return "", ctx.Err()
	}
}

// approve allows what only reads and asks about everything else.
func (p *person) approve(ctx context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	if r.Effect.OnlyReads() {
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	preview := "    " + strings.ReplaceAll(visible(r.Preview), "\n", "\n    ")
	answer, err := p.ask(ctx, fmt.Sprintf("\nThe model wants to use %s (%s):\n\n%s\n\nAllow it? [y]es, [n]o, [s]top: ", r.Name, r.Effect, preview))
	if errors.Is(err, errNobody) {
		p.screen.say(fmt.Sprintf("mylm: denied: %s %s\n  There is no terminal to ask on; --yes allows everything.", r.Name, oneLine(r.Preview, 200)))
		return agent.Decision{Reason: "nobody is there to allow it"}, nil
	}
	if err != nil {
		return agent.Decision{}, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return agent.Decision{Verdict: agent.Allow}, nil
	case "s", "stop":
		return agent.Decision{Verdict: agent.Stop, Reason: "the user said no and stopped the run"}, nil
	}
	return agent.Decision{Reason: "the user said no"}, nil
}

// visible shows control characters as their escapes, so that a command cannot
// hide behind them.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || printable(string(r)) != "" {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
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
		if errors.Is(err, errNobody) {
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
