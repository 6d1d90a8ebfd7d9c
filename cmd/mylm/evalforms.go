package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers/calling"
)

// formsOf is what the exams in all forms of calls found out about one model.
type formsOf struct {
	Model string `json:"model"`
	Base  string `json:"base"` // the form that the settings name, with which the others are compared
	// Better is the form that is better than it beyond chance, the one that passed most if
	// there are several; "": there is none.
	Better string `json:"better"`
	Saved  string `json:"saved,omitempty"` // the file in which it is set now
	// Partial says that not every form was examined to the end, so nothing is concluded.
	Partial bool `json:"partial,omitempty"`

	entry config.Entry // in which it can be set
	place error        // why it cannot
}

// formsFor begins the comparison of the forms for a model: the form that is in force
// comes first.
func (k *examRun) formsFor(ctx context.Context, model string) (*formsOf, []string, error) {
	c, m, err := k.open(ctx, eval.Exam{Model: model}, false)
	if err != nil {
		return nil, nil, err
	}
	var o agent.Options
	setup.Suit(ctx, c.Settings, m.Model, &o)
	f := &formsOf{Model: m.Name, Base: cmp.Or(string(o.Form), string(calling.ToolCode))}
	f.entry, f.place = entryOf(c, m)
	if k.cli.Bool("save") && f.place != nil {
		return nil, nil, f.place
	}
	others := slices.DeleteFunc(formNames(), func(name string) bool { return name == f.Base })
	return f, append([]string{f.Base}, others...), nil
}

// entryOf is the entry of the configuration that holds for a model, or one that could
// be made for it.
func entryOf(c *config.Config, m *setup.Model) (config.Entry, error) {
	if _, ok := c.Models[m.Name]; ok {
		return config.Entry{Name: m.Name}, nil
	}
	provider, name := config.SplitModel(m.Name)
	e := config.Entry{Name: m.Name, Provider: provider, Model: name}
	if err := e.Check(); err != nil || m.Local() {
		return e, failure.Usage("the form of %s has no place in the configuration: no entry can have that name", term.Echoed(m.Name)).
			WithHint("Give the model an entry, [models.NAME], with provider and model (docs/models.md), and examine it by that name.")
	}
	return e, nil
}

// judge finds the better form of a model among comparisons, and saves it if that is
// asked for.
func (f *formsOf) judge(o examsOutput) error {
	examined, best := 0, 0.0
	for _, r := range o.reports {
		if r.Exam.Model == f.Model && r.Exam.Prompt == "" && r.Done == r.All {
			examined++
		}
	}
	if f.Partial = examined < len(formNames()); f.Partial {
		return nil
	}
	for _, c := range o.compare() {
		if c.a.Exam.Model == f.Model && c.b.Exam.Prompt == "" && c.Better == c.B && c.RateB > best {
			best, f.Better = c.RateB, c.b.Exam.Form
		}
	}
	if f.Better == "" || !o.cli.Bool("save") {
		return nil
	}
	path, err := config.SaveForm(f.entry, f.Better)
	if err == nil {
		f.Saved = path
	}
	return err
}

// text says in words which form is better.
func (f *formsOf) text() string {
	model := term.Printable(f.Model)
	switch {
	case f.Partial:
		return fmt.Sprintf("%s: the forms are not compared, since not every one was examined to the end\n", model)
	case f.Better == "":
		return fmt.Sprintf("%s: no form is better than %s by more than chance\n", model, f.Base)
	}
	return fmt.Sprintf("%s: %s is better than %s by more than chance\n", model, f.Better, f.Base)
}

// note says what was saved, or how to do that.
func (f *formsOf) note(save bool) string {
	set := fmt.Sprintf("form = %q in [models.%s]", f.Better, term.Printable(f.entry.Name))
	switch {
	case f.Saved != "":
		return "saved: " + set + " of " + term.Visible(f.Saved)
	case save:
		return "nothing is saved"
	case f.Better != "" && f.place == nil:
		return "To use it, set " + set + " (mylm config edit); with --save the exam does that."
	}
	return ""
}
