package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/plans"
	"mylm/cmd/mylm/internal/term"
)

// trustWorkflow shows a workflow of the project and asks for consent, which holds
// for this text of the file: a changed one is asked about again.
func trustWorkflow(ctx context.Context, screen *term.Screen, w foundWorkflow, f *workflowRun) error {
	dir, err := consentDir()
	if err != nil {
		return err
	}
	marker := filepath.Join(dir, plan.CacheKey(w.Text, w.from, nil))
	if _, err := os.Lstat(marker); err == nil {
		return nil
	}
	text, err := f.text()
	if err != nil {
		return err
	}
	said, err := (&term.Prompter{Screen: screen}).Consent(ctx, term.Proposal{
		Head: fmt.Sprintf("\nThe workflow %s comes with this project, and was not run before:\n\n", term.OneLine(term.Visible(w.Name), 60)), Text: text, What: "run it",
	})
	var no term.Nobody
	switch {
	case errors.As(err, &no):
		return failure.Usage("the workflow %s comes with this project and was not agreed to: %s", w.Name, lowerFirst(string(no))).
			WithHint("Run it on a terminal once; or look at it (mylm agent workflow show " + w.Name + ") and copy it to the directory workflows beside your configuration file.")
	case err != nil:
		return err
	case said == term.AnswerNo:
		return &failure.Error{Code: failure.ExitDenied, Name: "denied", Err: errors.New("the workflow was not run: you said no")}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := config.CreateFile(marker, w.from+"\n"); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// consentDir holds a file for each workflow of a project that was consented to.
func consentDir() (string, error) {
	dir, err := config.DataDir()
	return filepath.Join(dir, "workflows"), err
}

// outline is the workflow with the names of its inputs in place of their values. A
// value without an input is an error.
func (f *workflowRun) outline() (goal string, tasks []plan.Task, err error) {
	values := maps.Clone(f.values)
	for _, in := range f.Inputs {
		values[in.Name] = "{{" + in.Name + "}}"
	}
	return f.Fill(values)
}

// text is the workflow as it will run, for a person to decide on; its file may
// look different.
func (f *workflowRun) text() (string, error) {
	goal, tasks, err := f.outline()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	part := func(name string, lines ...string) {
		fmt.Fprintf(&b, "%s:\n  %s\n", name, strings.Join(lines, "\n  "))
	}
	part("goal", strings.Split(goal, "\n")...)
	var inputs []string
	for _, in := range f.Inputs {
		line := fmt.Sprintf("%s, \"%s\" if it is not given", in.Name, term.Flat(in.Default))
		if in.Required {
			line = in.Name + ", which has to be given"
		}
		if in.Description != "" {
			line += " (" + term.Flat(in.Description) + ")"
		}
		inputs = append(inputs, line)
	}
	if len(inputs) > 0 {
		part("inputs", inputs...)
	}
	if len(tasks) > 0 {
		part("steps", strings.Split(strings.TrimSpace(plans.Text(tasks)), "\n")...)
	} else {
		part("steps", "those that the model makes of the goal")
	}
	part("tools", cmp.Or(term.Flat(strings.Join(f.Tools, ", ")), "all that there are"))
	part("questions", cmp.Or(f.Confirm, "as you have set it"))
	return b.String(), nil
}
