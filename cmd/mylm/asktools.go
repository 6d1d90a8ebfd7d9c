package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/web"
)

// webSettings are the table [web] of the configuration.
type webSettings struct {
	AllowHosts []string `toml:"allow_hosts"`
}

// checkHosts finds hosts that cannot be meant, and says where they stand.
func checkHosts(where string, hosts []string) error {
	if len(hosts) == 0 {
		return nil
	}
	if _, err := web.New(web.Options{AllowHosts: hosts}); err != nil {
		return fmt.Errorf("%s: %s", where, strings.TrimPrefix(err.Error(), web.Name+": "))
	}
	return nil
}

// absent is why nobody can be asked, "" if somebody can.
func (p *person) absent() nobody {
	if os.Getenv("CI") != "" {
		return inCI
	}
	in, out, err := openTTY()
	if err != nil {
		return noTerminal
	}
	in.Close()
	out.Close()
	return ""
}

// question is the tool ask_user; none where there is nobody to ask, which is an
// error if it is one of those that are named.
func (p *person) question(only []string) ([]*tools.Tool, error) {
	named := slices.Contains(only, ask.Name)
	if only != nil && !named {
		return nil, nil
	}
	reason := p.absent()
	if reason != "" && named {
		return nil, fmt.Errorf("%s needs somebody to ask: %w", ask.Name, reason)
	}
	if reason != "" {
		return nil, nil
	}
	t, err := ask.New(p.answer)
	return []*tools.Tool{t}, err
}

// answer puts a question of the model's to the person. Its text stands behind
// the gutter, as all that others wrote and somebody decides on.
func (p *person) answer(ctx context.Context, q ask.Question) (string, error) {
	columns, height := ttySize()
	height = max(5, height-questionRows-len(q.Options))
	var b strings.Builder
	b.WriteString("\nThe model asks:\n\n")
	b.WriteString(strings.Join(newPreview(q.Text, columns, height).shown, "\n"))
	b.WriteString("\n\n")
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, visible(oneLine(o, max(20, columns-8))))
	}
	if len(q.Options) > 0 {
		b.WriteString("\nNumber, or your own answer (Enter: none): ")
	} else {
		b.WriteString("Answer (Enter: none): ")
	}
	text, err := p.ask(ctx, b.String())
	var no nobody
	if errors.As(err, &no) {
		return "", ask.ErrNoAnswer
	}
	return text, err
}
