package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/plans"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/policy"
)

// agree shows a plan and asks whether to run it. It returns the tasks if they
// were edited.
func (r *run) agree(ctx context.Context, made plan.Planned) (edited []plan.Task, err error) {
	if r.Guard.Mode() == policy.Yolo {
		return nil, nil
	}
	d := &draft{tasks: made.Tasks, tools: r.Options.Tools}
	defer d.remove()
	for note := ""; ; {
		again, err := showPlan(ctx, r.Person, d.tasks, note)
		switch {
		case err != nil:
			return nil, err
		case !again:
			return edited, nil
		}
		if note, err = d.edit(ctx, r.Person); err != nil {
			note = "The plan is as it was: " + err.Error()
		} else {
			edited = d.tasks
		}
	}
}

// showPlan asks about tasks until the answer is yes or edit. Anything else is an
// error.
func showPlan(ctx context.Context, p *setup.Person, tasks []plan.Task, note string) (edit bool, err error) {
	shown := term.Proposal{Head: "\nThe plan:\n\n", Text: plans.Text(tasks), What: "carry it out", Edit: true}
	if note != "" {
		shown.Tail = term.Visible(note) + "\n\n"
	}
	said, err := p.Consent(ctx, shown)
	var no term.Nobody
	switch {
	case errors.As(err, &no):
		remedy := "--yes carries it out without asking"
		if p.Bound != "" {
			remedy = p.WhyAsked()
		}
		return false, notCarriedOut(lowerFirst(string(no)), remedy+"; --plan-only --json prints it, and --plan FILE carries it out.")
	case err == nil && said == term.AnswerNo:
		return false, notCarriedOut("you said no", "mylm resume asks again. --plan-only --json prints a plan, and --plan FILE carries out what you make of it.")
	}
	return said == term.AnswerEdit, err
}

func notCarriedOut(why, hint string) *failure.Error {
	return (&failure.Error{Code: failure.ExitDenied, Name: string(agent.StopDenied), Err: fmt.Errorf("the plan was not carried out: %s", why)}).WithHint(hint)
}

func lowerFirst(s string) string { return strings.ToLower(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// draft is a plan that a person edits, in a file that is kept until there is an
// answer, so that nothing that was typed is lost.
type draft struct {
	tasks []plan.Task
	tools *tools.Registry // that tasks may name
	path  string
}

// edit opens the plan in the user's editor. It returns what had to be repaired in
// the saved text, or why that cannot be used.
func (d *draft) edit(ctx context.Context, p *setup.Person) (repaired string, err error) {
	if err := d.write(); err != nil {
		return "", err
	}
	in, out, err := term.OpenTTY()
	if err != nil {
		return "", term.NoTerminal
	}
	defer in.Close()
	defer out.Close()
	p.View.Pause()
	defer p.View.Resume()
	if err := term.Edit(ctx, term.Streams{In: in, Out: out, Err: out}, d.path); err != nil {
		return "", fmt.Errorf("%w. Set VISUAL or EDITOR to another, or say no and use --plan-only --json and --plan FILE", err)
	}
	text, err := readTextOf("the plan", d.path)
	if err != nil {
		return "", err
	}
	_, tasks, err := plan.ParseFile(text)
	if err == nil {
		err = plan.CheckTools(tasks, d.tools)
	}
	if err != nil {
		return "", fmt.Errorf("%w. What you wrote is still there: edit opens it again", err)
	}
	graph, flaws := plan.NewGraph(tasks)
	var said []string
	for _, f := range flaws {
		said = append(said, f.Text)
	}
	d.tasks = graph.Tasks()
	return strings.Join(said, "\n"), nil
}

// write makes the file, if it is not there yet.
func (d *draft) write() error {
	if d.path != "" {
		return nil
	}
	b, err := json.MarshalIndent(struct {
		Tasks []plan.Task `json:"tasks"`
	}{d.tasks}, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "mylm-plan-*.json")
	if err != nil {
		return err
	}
	d.path = f.Name()
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

func (d *draft) remove() {
	if d.path != "" {
		_ = os.Remove(d.path) // an editor may have done so
	}
}
