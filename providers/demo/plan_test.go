package demo_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/demo"
)

// consulted is the demo's reply to a prompt about a plan.
func consulted(t *testing.T, role, form string, data prompts.PlanData) map[string]any {
	t.Helper()
	system, err1 := prompts.Default().Text(role)
	message, err2 := prompts.Default().ForPlan(form, data)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	var reply strings.Builder
	for c, err := range demo.New().Generate(t.Context(), providers.Request{Messages: []providers.Message{
		{Role: providers.System, Text: system}, {Role: providers.User, Text: message},
	}}) {
		if err != nil {
			t.Fatal(err)
		}
		reply.WriteString(c.Text)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(reply.String()), &v); err != nil {
		t.Fatalf("%s: %v", reply.String(), err)
	}
	return v
}

func TestPlans(t *testing.T) {
	tests := []struct {
		goal string
		want []string // a task and what it waits for
	}{
		{"list the files, then count the lines of README.md", []string{"list the files", "count the lines of README.md < t1"}},
		{"list files\nwhat is in README.md, and then 2 + 3", []string{"list files", "what is in README.md < t1", "2 + 3 < t2"}},
		{"make the world better", []string{"make the world better"}},
	}
	for _, tt := range tests {
		var got []string
		for _, v := range consulted(t, prompts.Plan, prompts.PlanGoal, prompts.PlanData{Goal: tt.goal})["tasks"].([]any) {
			task := v.(map[string]any)
			text := task["description"].(string)
			for _, d := range task["dependencies"].([]any) {
				text += " < " + d.(string)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.goal, got, tt.want)
		}
	}
}

func TestPlanStates(t *testing.T) {
	data := prompts.PlanData{Goal: "x", Ready: []prompts.PlanStep{{ID: "t2"}, {ID: "t3"}}}
	if got := consulted(t, prompts.Reason, prompts.PlanState, data)["selected_task_id"]; got != "t2" {
		t.Errorf("chose %v", got)
	}
	for result, want := range map[string]bool{"There are 3 files.": true, "I could not read x: it is missing": false, "I could not run `false`: exit 1": false} {
		data := prompts.PlanData{Goal: "x", Task: &prompts.PlanStep{ID: "t1", Status: "completed", Result: result}}
		if got := consulted(t, prompts.Observe, prompts.PlanState, data)["success"]; got != want {
			t.Errorf("%q is a success: %v", result, got)
		}
	}
	if got := consulted(t, prompts.Reflect, prompts.PlanState, data)["progress"]; got == "" {
		t.Error("nothing was said")
	}
}

// A run that was interrupted and is resumed does what it was asked for: calls that were
// not made, or that an interrupt ended, are made.
func TestResumed(t *testing.T) {
	text := func(name string) string {
		text, err := prompts.Default().Text(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	call := protocol.EncodeCall("execute_command", json.RawMessage(`{"command":"touch x"}`))
	for name, after := range map[string][]providers.Message{
		"before the call":          {user(text(prompts.Resume))},
		"at the question":          {{Role: providers.Assistant, Text: call}, user(text(prompts.Resume))},
		"in the call":              {{Role: providers.Assistant, Text: call}, user(protocol.EncodeObservation("execute_command", false, "cancelled: signal: killed"))},
		"in the call, by its loss": {{Role: providers.Assistant, Text: call}, user(protocol.EncodeObservation("execute_command", false, text(prompts.Unknown)))},
	} {
		messages := append([]providers.Message{prompt(all...), user("run `touch x`")}, after...)
		if got := say(t, messages...); !strings.HasSuffix(got, call) {
			t.Errorf("%s: %s", name, got)
		}
		done := append(messages, user(protocol.EncodeObservation("execute_command", true, "done")))
		if got := say(t, done...); !strings.HasPrefix(got, "`touch x` printed:") {
			t.Errorf("%s, then: %s", name, got)
		}
	}
}
