package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mylm/agent"
)

// approve allows what only reads and asks about everything else.
func (p *person) approve(ctx context.Context, r agent.ApprovalRequest) (agent.Decision, error) {
	if r.Effect.OnlyReads() {
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	verdict, err := p.decide(ctx, r)
	var no nobody
	switch {
	case errors.As(err, &no):
		p.screen.say(fmt.Sprintf("mylm: denied: %s %s\n  %s; --yes allows everything.", oneLine(r.Name, 60), oneLine(r.Preview, 200), no))
		return agent.Decision{Reason: "nobody is there to allow it"}, nil
	case err != nil:
		return agent.Decision{}, err
	case verdict == agent.Stop:
		p.stopped = true
		return agent.Decision{Verdict: agent.Stop, Reason: "the user said no and stopped the run"}, nil
	case verdict == agent.Deny:
		return agent.Decision{Reason: "the user said no"}, nil
	}
	return agent.Decision{Verdict: verdict}, nil
}

// questionRows is what the question takes besides the preview.
const questionRows = 10

// decide asks until it gets an answer. What does not fit on the terminal is
// allowed with a whole yes, or when all of it was looked at.
func (p *person) decide(ctx context.Context, r agent.ApprovalRequest) (agent.Verdict, error) {
	columns, height := ttySize()
	view := newPreview(r.Preview, columns, max(5, height-questionRows))
	head := fmt.Sprintf("\nThe model wants to use %s (%s):\n\n", oneLine(r.Name, 60), r.Effect)
	if view.size != "" {
		head += noteStart + view.size + "; this is how much of it fits here:\n\n"
	}
	head += strings.Join(view.shown, "\n") + "\n\n"
	unseen := view.unseen
	for {
		answer, err := p.ask(ctx, head+choices(unseen))
		if err != nil {
			return agent.Deny, err
		}
		head = ""
		switch strings.ToLower(answer) {
		case "yes":
			return agent.Allow, nil
		case "y":
			if unseen == "" {
				return agent.Allow, nil
			}
		case "n", "no":
			return agent.Deny, nil
		case "s", "stop":
			return agent.Stop, nil
		case "v", "view":
			seen, err := p.page(ctx, texts(view.whole), max(5, height-2))
			if err != nil {
				return agent.Deny, err
			}
			if seen {
				unseen = ""
			}
			head = "\n"
		}
	}
}

func choices(unseen string) string {
	if unseen == "" {
		return "Allow it? [y]es, [n]o, [s]top: "
	}
	return unseen + ": not shown.\nAllow it? [v]iew all of it, [n]o, [s]top, or type yes to allow it unseen: "
}

// page shows rows page by page, and reports whether the last one was reached.
func (p *person) page(ctx context.Context, rows []string, height int) (whole bool, err error) {
	pages := (len(rows) + height - 1) / height
	for i := range pages {
		text := strings.Join(rows[i*height:min(len(rows), (i+1)*height)], "\n") + "\n"
		if i == pages-1 {
			text += fmt.Sprintf("[page %d of %d, the last] Enter goes back to the question: ", i+1, pages)
		} else {
			text += fmt.Sprintf("[page %d of %d] Enter for the next, q for the question: ", i+1, pages)
		}
		answer, err := p.ask(ctx, text)
		if err != nil {
			return false, err
		}
		if strings.HasPrefix(strings.ToLower(answer), "q") && i < pages-1 {
			return false, nil
		}
	}
	return true, nil
}
