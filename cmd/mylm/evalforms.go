package main

import (
	"fmt"
	"slices"

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

// compareForms begins the comparison of the forms for each model that is examined in all
// of them, with the form that comes first.
func (k *examRun) compareForms() error {
	seen := map[string][]string{} // forms by model
	for _, j := range k.jobs {
		forms := seen[j.exam.Model]
		if slices.Contains(forms, j.exam.Form) { // with the template of --prompt, which comes last
			continue
		}
		if forms = append(forms, j.exam.Form); len(forms) == len(calling.Forms()) {
			f := &formsOf{Model: j.exam.Model, Base: forms[0], Partial: true}
			if f.entry, f.place = entryOf(j.config, j.model); f.place != nil && k.cli.Bool("save") {
				return f.place
			}
			k.out.forms = append(k.out.forms, f)
		}
		seen[j.exam.Model] = forms
	}
	return nil
}

// entryOf is the entry of the configuration that holds for a model, or one that could
// be made for it.
func entryOf(c *config.Config, m *setup.Model) (config.Entry, error) {
	if _, ok := c.Models[m.Name]; ok {
		return config.Entry{Name: m.Name}, nil
	}
	provider, name := config.SplitModel(m.Name)
	e := config.Entry{Name: m.Name, Provider: provider, Model: name}
	if err := e.Check(); err != nil {
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
		if r.Exam.Model == f.Model && r.Stopped == "" {
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
