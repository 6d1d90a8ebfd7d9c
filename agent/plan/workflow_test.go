package plan_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mylm/agent/plan"
)

const notes = `---
name: notes
description: Write notes.
inputs:
  - name: since
    required: true
  - name: file
    default: NOTES.md
tools: [read_file]
confirm: confirm-all
steps:
  - List the commits since {{since}}.
  - id: write
    do: Write {{ file }}.
  - do: Read it.
    needs: []
    tools: [read_file]
---
Notes since {{since}} in {{file}}.
`

func TestWorkflow(t *testing.T) {
	w, err := plan.ParseWorkflow(notes)
	if err != nil {
		t.Fatal(err)
	}
	goal, tasks, err := w.Fill(map[string]string{"since": "{{file}}"})
	want := []plan.Task{
		{ID: "t1", Description: "List the commits since {{file}}.", Status: plan.Pending, Given: true},
		{ID: "write", Description: "Write NOTES.md.", Status: plan.Pending, Dependencies: []string{"t1"}, Given: true},
		{ID: "t3", Description: "Read it.", Status: plan.Pending, Dependencies: []string{}, Tools: []string{"read_file"}, Given: true},
	}
	if err != nil || goal != "Notes since {{file}} in NOTES.md." || !reflect.DeepEqual(tasks, want) {
		t.Errorf("%q, %+v, %v", goal, tasks, err)
	}
	if w.Confirm != "confirm-all" || !slices.Equal(w.Tools, []string{"read_file"}) {
		t.Errorf("%+v", w)
	}
	for values, fails := range map[string]string{"": "needs since", "since=1,other=2": `no input "other"; it has since, file`} {
		m := map[string]string{}
		for kv := range strings.SplitSeq(values, ",") {
			if k, v, ok := strings.Cut(kv, "="); ok {
				m[k] = v
			}
		}
		if _, _, err := w.Fill(m); err == nil || !strings.Contains(err.Error(), fails) {
			t.Errorf("%q: %v", values, err)
		}
	}
}

func TestWorkflowFaults(t *testing.T) {
	tests := []struct{ from, to, fails string }{
		{"---\nname", "name", "begins with a head"},
		{"name: notes", "nome: notes", "line 2: field nome is not known: a workflow has name"},
		{"name: notes", "name: ../notes", "must be letters"},
		{"confirm-all", "yolo", "can ask for confirm-all"},
		{"    needs: []", "    need: []", `a step has no "need"`},
		{"    needs: []", "    needs: [t9]", "which is no task"},
		{"    needs: []", "    needs: [t3]", "waits for itself"},
		{"{{since}} in", "{{sinse}} in", "stands for no input"},
		{"Notes since {{since}} in {{file}}.\n", "", "no goal"},
		{"do: Read it.", "do: ''", "says nothing"},
		{"tools: [read_file]\nconfirm", "tools: [read_file\nconfirm", "line"},
	}
	for _, tt := range tests {
		if _, err := plan.ParseWorkflow(strings.Replace(notes, tt.from, tt.to, 1)); err == nil || !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%q: %v", tt.to, err)
		}
	}
}

func TestBuiltinWorkflows(t *testing.T) {
	var names []string
	for _, w := range plan.Workflows() {
		names = append(names, w.Name)
		values := map[string]string{}
		for _, in := range w.Inputs {
			if in.Required {
				values[in.Name] = "the thing"
			}
		}
		goal, tasks, err := w.Fill(values)
		if err != nil || !strings.Contains(goal, "the thing") || len(tasks) < 3 || w.Description == "" {
			t.Errorf("%s: %q, %d tasks, %v", w.Name, goal, len(tasks), err)
		}
	}
	if !slices.Equal(names, []string{"debug_bug", "implement_feature", "refactor_code"}) {
		t.Errorf("%v", names)
	}
}
