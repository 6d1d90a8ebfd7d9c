package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/ask"
)

// Person answers questions on the terminal. What he said bears on how the end of
// a run is reported.
type Person struct {
	term.Prompter
	Stopped   bool   // the answer to a question was to stop
	Forbidden bool   // a rule forbade a call
	Bound     string // what asks for questions, so that --yes does not count; "" if nothing does
}

// BoundBy says why --yes is no remedy.
func (p *Person) BoundBy() string {
	return p.Bound + " asks for questions, so that --yes does not count"
}

// tool is the tool ask_user; none where there is nobody to ask, which is an
// error if it is one of those that are named.
func (p *Person) tool(only []string) ([]*tools.Tool, error) {
	named := slices.Contains(only, ask.Name)
	if only != nil && !named {
		return nil, nil
	}
	reason := p.Absent()
	if reason != "" && named {
		return nil, fmt.Errorf("%s needs somebody to ask: %w", ask.Name, reason)
	}
	if reason != "" {
		return nil, nil
	}
	t, err := ask.New(p.Answer)
	return []*tools.Tool{t}, err
}

// Answer puts a question of the model's to the person. Its text stands behind
// the gutter, as all that others wrote and somebody decides on.
func (p *Person) Answer(ctx context.Context, q ask.Question) (string, error) {
	columns, height := term.Size()
	height = max(5, height-term.QuestionRows-len(q.Options))
	var b strings.Builder
	b.WriteString("\nThe model asks:\n\n")
	b.WriteString(strings.Join(term.NewPreview(q.Text, columns, height).Shown, "\n"))
	b.WriteString("\n\n")
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, term.Visible(term.OneLine(o, max(20, columns-8))))
	}
	if len(q.Options) > 0 {
		b.WriteString("\nNumber, or your own answer (Enter: none): ")
	} else {
		b.WriteString("Answer (Enter: none): ")
	}
	text, err := p.Ask(ctx, b.String())
	var no term.Nobody
	if errors.As(err, &no) {
		return "", ask.ErrNoAnswer
	}
	return text, err
}
