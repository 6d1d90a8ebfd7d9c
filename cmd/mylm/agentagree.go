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
	"mylm/tools"
	"mylm/tools/policy"
)

// agree shows a plan and asks whether it is to be carried out. It returns the
// tasks if they were edited.
func (a *asking) agree(ctx context.Context, p *person, g *guard, all *tools.Registry, made plan.Planned) (edited []plan.Task, err error) {
	if g.Mode() == policy.Yolo {
		return nil, nil
	}
	d := &draft{tasks: made.Tasks, tools: all}
	defer d.remove()
	for note := ""; ; {
		again, err := a.showPlan(ctx, p, d.tasks, note)
		switch {
		case err != nil:
			return nil, err
		case !again:
			return edited, nil
		}
		if note, err = d.edit(ctx, p); err != nil {
			note = "The plan is as it was: " + err.Error()
		} else {
			edited = d.tasks
		}
	}
}

// showPlan asks about tasks until there is an answer: edit, or a yes. All else
// is an error.
func (a *asking) showPlan(ctx context.Context, p *person, tasks []plan.Task, note string) (edit bool, err error) {
	shown := proposal{head: "\nThe plan:\n\n", text: planText(tasks), what: "carry it out", edit: true}
	if note != "" {
		shown.tail = visible(note) + "\n\n"
	}
	said, err := p.consent(ctx, shown)
	var no nobody
	switch {
	case errors.As(err, &no):
		remedy := "--yes carries it out without asking"
		if p.bound != "" {
			remedy = p.boundBy()
		}
		return false, notCarriedOut(lowerFirst(string(no)), remedy+"; --plan-only --json prints it, and --plan FILE carries it out.")
	case err == nil && said == saidNo:
		return false, notCarriedOut("you said no", "mylm resume asks again. --plan-only --json prints a plan, and --plan FILE carries out what you make of it.")
	}
	return said == saidEdit, err
}

// proposal is a text that somebody is to agree to.
type proposal struct {
	head, text, tail string // text stands behind the gutter, head and tail are our words
	what             string // is done with a yes
	edit             bool   // it can be changed
}

// What somebody says to a proposal.
const (
	saidYes = iota + 1
	saidNo
	saidEdit
)

// consent asks about a proposal until there is an answer. What does not fit on
// the terminal takes a whole yes, or that all of it was looked at.
func (p *person) consent(ctx context.Context, o proposal) (said int, err error) {
	columns, height := ttySize()
	v := newPreview(o.text, columns, max(5, height-questionRows-strings.Count(o.tail, "\n")))
	head := o.head + strings.Join(v.shown, "\n") + "\n\n" + o.tail
	edit := ""
	if o.edit {
		edit = ", [e]dit"
	}
	for {
		choice := strings.ToUpper(o.what[:1]) + o.what[1:] + "? "
		if v.unseen == "" {
			choice += "[y]es, [n]o" + edit + ": "
		} else {
			choice = v.unseen + ": not shown.\n" + choice + "[v]iew all of it, [n]o" + edit + ", or type yes to " + o.what + " unseen: "
		}
		typed, err := p.ask(ctx, head+choice)
		if err != nil {
			return 0, err
		}
		head = "\n"
		switch typed = strings.ToLower(typed); {
		case typed == "yes", typed == "y" && v.unseen == "":
			return saidYes, nil
		case typed == "n", typed == "no":
			return saidNo, nil
		case o.edit && (typed == "e" || typed == "edit"):
			return saidEdit, nil
		case typed == "v", typed == "view":
			seen, err := p.page(ctx, texts(v.whole), max(5, height-2))
			if err != nil {
				return 0, err
			}
			if seen {
				v.unseen = ""
			}
		}
	}
}

func notCarriedOut(why, hint string) *failure {
	return (&failure{code: exitDenied, name: string(agent.StopDenied), err: fmt.Errorf("the plan was not carried out: %s", why)}).withHint(hint)
}

func lowerFirst(s string) string { return strings.ToLower(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// draft is a plan that a person edits, in a file that stays until there is an
// answer: nothing that was typed is lost.
type draft struct {
	tasks []plan.Task
	tools *tools.Registry // that there are
	path  string
}

// edit opens the plan in the user's editor. It says what had to be mended of
// what was saved; an error is why that cannot be used.
func (d *draft) edit(ctx context.Context, p *person) (mended string, err error) {
	if err := d.write(); err != nil {
		return "", err
	}
	in, out, err := openTTY()
	if err != nil {
		return "", noTerminal
	}
	defer in.Close()
	defer out.Close()
	p.view.pause()
	defer p.view.resume()
	if err := openEditor(ctx, streams{in, out, out}, d.path); err != nil {
		return "", fmt.Errorf("%w. Set VISUAL or EDITOR to another, or say no and use --plan-only --json and --plan FILE", err)
	}
	text, err := readFile(d.path)
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
