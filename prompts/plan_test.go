package prompts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/prompts"
)

func TestPlanTemplates(t *testing.T) {
	step := prompts.PlanStep{ID: "t2", Description: "count", Status: "completed", Result: "42", Needs: []string{"t0", "t1"}}
	data := prompts.PlanData{
		Goal: "the goal", Tools: []prompts.PlanTool{{Name: "look", Description: "Looks."}}, Steps: []string{"first"}, Tasks: []prompts.PlanStep{step}, Ready: []prompts.PlanStep{{ID: "t3"}},
		Done: []prompts.PlanStep{step}, Learned: []string{"a fact"}, Task: &step, Failure: "it broke", Advice: "other_tool", Told: "use glue", Without: []string{"hammer", "saw"},
	}
	for name, wants := range map[string][]string{
		prompts.PlanGoal:   {"Goal: the goal", "- first", "- look: Looks."},
		prompts.PlanState:  {"- t2 (completed; needs t0, t1): count\n  42", "Ready:\n- t3", "Task t2: count\nIt ended as: completed\nResult:\n42"},
		prompts.PlanTask:   {"count\n\n--- about this task ---", "- t2 (count): 42", "- a fact", "The last try failed: it broke", "hammer, saw cannot be used", "says to that: use glue"},
		prompts.Unreadable: {"could not be used: it broke"},
	} {
		text, err := prompts.Default().ForPlan(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
	text, err := prompts.Default().ForPlan(prompts.PlanTask, prompts.PlanData{Goal: "g", Task: &step})
	if err != nil || strings.Contains(text, "last try") || strings.Contains(text, "Done before") {
		t.Errorf("a first try: %s, %v", text, err)
	}
}

// TestReplacedTemplates: each can be replaced by the built-in one's text.
func TestReplacedTemplates(t *testing.T) {
	dir := t.TempDir()
	for _, name := range prompts.Names() {
		text, err := prompts.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".tmpl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := prompts.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(); err != nil {
		t.Error(err)
	}
	for _, name := range prompts.Names() {
		if text, err := set.Example(name); err != nil || text == "" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
