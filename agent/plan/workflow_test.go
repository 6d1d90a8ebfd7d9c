package plan_test

import (
	"fmt"
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
    aliases: [start]
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
	if goal, _, err = w.Fill(map[string]string{"start": "1", "other": "2"}); err != nil || goal != "Notes since 1 in NOTES.md.\n\nContext:\n- other: 2" {
		t.Errorf("by an alias, and with context: %q, %v", goal, err)
	}
	for values, fails := range map[string]string{"": "needs since", "since= ": "needs since"} {
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
		{"    needs: []", "    needs: [t9]", "which does not exist"},
		{"    needs: []", "    needs: [t3]", "depends on itself"},
		{"{{since}} in", "{{sinse}} in", "is not an input"},
		{"Notes since {{since}} in {{file}}.\n", "", "no goal"},
		{"do: Read it.", "do: ''", "has no text"},
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

// TestWorkflowBounds: an untrusted file costs little, whatever
// is in it.
func TestWorkflowBounds(t *testing.T) {
	head := func(lines string) string { return "---\nname: n\n" + lines + "\n---\ngoal {{a}}\n" }
	inputs := func(n int) string {
		var b strings.Builder
		b.WriteString("inputs:\n  - name: a\n")
		for i := range n - 1 {
			fmt.Fprintf(&b, "  - name: a%d\n", i)
		}
		return b.String()
	}
	long := func(s string) string { return strings.Repeat(s, (plan.MaxWorkflow-2000)/len(s)) }
	tests := []struct{ name, text, fails string }{
		{"as many inputs as there may be", head(inputs(64)), ""},
		{"inputs", head(inputs(65)), "has 65 inputs; at most 64 are allowed"},
		{"the same input twice", head("inputs: [{name: a}, {name: b}, {name: a}]"), "two inputs have the name a"},
		{"steps", head(inputs(1) + "steps:\n" + strings.Repeat("  - x\n", 501)), "has 501 steps; at most 500 are allowed"},
		{"bytes", head(inputs(1)) + strings.Repeat("x", plan.MaxWorkflow), "has more than 65536 bytes"},
		{"anchor", head(inputs(1) + "description: &d x"), "line 5: &d: a workflow has no anchors"},
		{"alias", head(inputs(1) + "description: &d x\nsteps: [*d, *d]"), "line 5: &d: a workflow has no anchors"},
		{"merge", head(inputs(1) + "<<: {description: x}"), "line 5: <<: a workflow has no merge keys"},
		{"tag", head(inputs(1) + "description: !!str 5"), "line 5: !!str: a workflow has no tags"},
		{"tag of its own", head(inputs(1) + "description: !run 5"), "line 5: !run: a workflow has no tags"},
		{"tools without a value", head(inputs(1) + "tools:"), "line 5: tools is empty"},
		{"keys", head(inputs(1) + "steps:\n  - {do: x, " + strings.TrimSuffix(strings.Repeat("k: 1, ", 20), ", ") + "}"), "line 6: there are 21 keys"},
		{"placeholders", head(inputs(64)) + long("{{a}}"), ""},
		{"unknown placeholders", head(inputs(64)) + long("{{z}}"), "is not an input"},
		{"lists in lists", head("steps: " + long("[")), "line"},
		{"keys in keys", head("steps: " + long("? ")), "line"},
		{"comments", head(inputs(1) + long("#\n")), ""},
		{"keys without end", head(long("a:\n")), "line 2: there are"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if n := testing.AllocsPerRun(1, func() { _, err = plan.ParseWorkflow(tt.text) }); n > 1e6 {
				t.Errorf("%.0f allocations", n)
			}
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("%v; want %q", err, tt.fails)
			}
		})
	}
	w, err := plan.ParseWorkflow(head(inputs(1)) + long("{{a}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Fill(map[string]string{"a": strings.Repeat("x", 10_000)}); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("filled: %.100v", err)
	}
}

func TestHeadName(t *testing.T) {
	for text, want := range map[string]string{
		notes: "notes", "---\r\nname: \"a-b\" # x\r\n---\r\n": "a-b", "---\ndescription: x\nname:   b\n---\nname: c\n": "b",
		"---\n{name: n}\n---\n": "", "---\ndescription: x\n---\nname: c\n": "", "name: n\n": "",
	} {
		if got := plan.HeadName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
