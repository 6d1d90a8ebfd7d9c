package plan_test

import (
	"reflect"
	"strings"
	"testing"

	"mylm/agent/plan"
)

func TestParsePlan(t *testing.T) {
	two := []plan.Task{
		{ID: "1", Description: "list", Status: plan.Pending, Dependencies: []string{}, Tools: []string{"list_dir"}},
		{ID: "2", Description: "count", Status: plan.Pending, Dependencies: []string{"1"}},
	}
	tests := []struct {
		name, text string
		want       []plan.Task
		fails      string
	}{
		{"as asked", `{"tasks": [{"id": "1", "description": "list", "dependencies": [], "tools": ["list_dir"]}, {"id": "2", "description": "count", "dependencies": ["1"]}]}`, two, ""},
		{"in their own ways", "Sure!\n```json\n[{id: 1, description: 'list', dependencies: [], tools: 'list_dir'}, {id: 2, description: 'count', dependencies: 1},]\n```", two, ""},
		{"descriptions alone", `{"tasks": ["look around"]}`, []plan.Task{{Description: "look around", Status: plan.Pending, Dependencies: []string{}}}, ""},
		{"done already, it says", `{"tasks": [{"id": "a", "description": "x", "status": "completed", "dependencies": []}]}`, []plan.Task{{ID: "a", Description: "x", Status: plan.Pending, Dependencies: []string{}}}, ""},
		{"printed, and made by one who has read the web", `{"tasks": [{"id": "a", "description": "x", "dependencies": [], "metadata": {"tainted": "true"}}]}`, []plan.Task{{ID: "a", Description: "x", Status: plan.Pending, Dependencies: []string{}, Metadata: map[string]string{"tainted": "true"}}}, ""},
		{"other keys", `{"plan": [{"task_id": 1, "title": "list", "depends_on": [], "required_tools": ["list_dir"]}, {"id": "2", "title": "count", "description": "", "depends_on": "1"}]}`, two, ""},
		{"without text", `{"tasks": [{"id": "1"}, {"id": "2", "description": " "}]}`, nil, "no task"},
		{"prose", "First I would look around.", nil, "no JSON of the requested form"},
		{"none", `{"tasks": []}`, nil, "no task"},
		{"cut", `{"tasks": [{"id": "1", "descr`, nil, "ends in the middle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := plan.ParsePlan(tt.text)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error: %v", err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestParseChoice(t *testing.T) {
	got, err := plan.ParseChoice(`<think>t1?</think> {"thought": "easy first", "selected_task_id": 2, "rationale": "short"}`)
	if err != nil || got != (plan.Choice{Thought: "easy first", TaskID: "2", Rationale: "short"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := plan.ParseChoice("t1, I would say"); err == nil {
		t.Error("prose was read")
	}
}

func TestParseObservation(t *testing.T) {
	got, err := plan.ParseObservation(`{"success": "yes", "learned": "it is slow", "unblocked": ["t2"], "progress": "half",
		"adjustments": {"add": [{"id": "t9", "description": "measure", "dependencies": ["t1"]}], "drop": "t3"}}`)
	want := plan.Observation{Success: true, Learned: []string{"it is slow"}, Unblocked: []string{"t2"}, Progress: "half", Adjustment: plan.Adjustment{
		Add: []plan.Task{{ID: "t9", Description: "measure", Status: plan.Pending, Dependencies: []string{"t1"}}}, Drop: []string{"t3"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = plan.ParseObservation(`{"success_assessment": "Failed", "reason": "no file", "learnings": ["x"], "unblocked_tasks": "t2", "progress_made": "none",
		"plan_adjustments": {"new_tasks": [{"title": "measure"}], "remove": ["t3"]}}`)
	want = plan.Observation{Reason: "no file", Learned: []string{"x"}, Unblocked: []string{"t2"}, Progress: "none", Adjustment: plan.Adjustment{
		Add: []plan.Task{{Description: "measure", Status: plan.Pending}}, Drop: []string{"t3"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("other keys: %+v, %v", got, err)
	}
	if got, err := plan.ParseObservation(`{"success_assessment": {"success": true, "reason": "seen"}}`); err != nil || !got.Success || got.Reason != "seen" {
		t.Errorf("nested: %+v, %v", got, err)
	}
	for _, bad := range []string{`{"success": "mostly"}`, `{"success": null}`, `{"learned": []}`, "done"} {
		if _, err := plan.ParseObservation(bad); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if got, err := plan.ParseReflection(`{"progress": "well", "adjustments": {}}`); err != nil || got.Progress != "well" || !got.Adjustment.Empty() {
		t.Errorf("%+v, %v", got, err)
	}
}
