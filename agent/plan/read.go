package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mylm/protocol"
)

// Choice is which of the ready tasks the model would do first.
type Choice struct {
	Thought   string `json:"thought"`
	TaskID    string `json:"selected_task_id"`
	Rationale string `json:"rationale"`
}

// Observation is the model's assessment of a task that was tried, or of the whole plan.
type Observation struct {
	Success    bool       `json:"success"`
	Reason     string     `json:"reason,omitempty"` // why it was no success
	Learned    []string   `json:"learned,omitempty"`
	Unblocked  []string   `json:"unblocked,omitempty"` // ids of blocked tasks that can be taken up again
	Progress   string     `json:"progress"`
	Adjustment Adjustment `json:"adjustments,omitzero"`
}

// ParsePlan reads the tasks in a planner's reply, an object with "tasks" or a
// list of them. All are pending.
func ParsePlan(text string) ([]Task, error) {
	v, err := findValue(text, func(v any) bool { _, ok := taskList(v); return ok })
	if err != nil {
		return nil, err
	}
	list, _ := taskList(v)
	tasks := readTasks(list)
	if !slices.ContainsFunc(tasks, func(t Task) bool { return t.Description != "" }) {
		return nil, errors.New(`it has no task with a "description"`)
	}
	return tasks, nil
}

// ParseChoice reads a reasoner's reply.
func ParseChoice(text string) (Choice, error) {
	v, err := findValue(text, hasKey("selected_task_id"))
	if err != nil {
		return Choice{}, err
	}
	m := v.(map[string]any)
	return Choice{Thought: scalar(value(m, "thought")), TaskID: scalar(value(m, "selected_task_id")), Rationale: scalar(value(m, "rationale"))}, nil
}

// ParseObservation reads the reply of an observer.
func ParseObservation(text string) (Observation, error) {
	v, err := findValue(text, hasKey("success"))
	if err != nil {
		return Observation{}, err
	}
	m := v.(map[string]any)
	o := readObservation(m)
	said := value(m, "success")
	if inner, ok := said.(map[string]any); ok {
		said, o.Reason = value(inner, "success"), cmp.Or(o.Reason, scalar(value(inner, "reason")))
	}
	if text, ok := said.(string); ok {
		said = verdicts[strings.ToLower(strings.TrimSpace(text))]
	}
	ok := false
	if o.Success, ok = said.(bool); !ok {
		return Observation{}, errors.New(`"success" must be true or false`)
	}
	return o, nil
}

// verdicts are words that observers use for true and false.
var verdicts = map[string]any{
	"true": true, "yes": true, "success": true, "successful": true, "succeeded": true, "completed": true, "complete": true, "done": true,
	"false": false, "no": false, "failure": false, "failed": false, "partial": false, "incomplete": false, "unsuccessful": false,
}

// ParseReflection parses the model's assessment of the whole plan.
func ParseReflection(text string) (Observation, error) {
	v, err := findValue(text, hasKey("progress"))
	if err != nil {
		return Observation{}, err
	}
	return readObservation(v.(map[string]any)), nil
}

func readObservation(m map[string]any) Observation {
	o := Observation{
		Reason: scalar(value(m, "reason")), Learned: scalars(value(m, "learned")), Unblocked: scalars(value(m, "unblocked")), Progress: scalar(value(m, "progress")),
	}
	if a, ok := value(m, "adjustments").(map[string]any); ok {
		list, _ := value(a, "add").([]any)
		o.Adjustment = Adjustment{Add: readTasks(list), Drop: scalars(value(a, "drop"))}
	}
	return o
}

// aliases are names of keys that models know from other planners.
var aliases = map[string][]string{
	"tasks":            {"plan", "steps", "subtasks"},
	"id":               {"task_id"},
	"description":      {"title", "task", "name", "text", "do"},
	"dependencies":     {"depends_on", "needs"},
	"tools":            {"required_tools"},
	"selected_task_id": {"task_id", "selected_task", "next_task"},
	"thought":          {"reasoning"},
	"rationale":        {"reason"},
	"success":          {"success_assessment", "task_success"},
	"reason":           {"explanation"},
	"learned":          {"learnings", "what_learned"},
	"unblocked":        {"unblocked_tasks"},
	"progress":         {"progress_made"},
	"adjustments":      {"plan_adjustments", "adjustment"},
	"add":              {"add_tasks", "new_tasks"},
	"drop":             {"drop_tasks", "remove", "remove_tasks"},
}

// value is that of a key, or of the first of its aliases that there is. An
// empty text does not count.
func value(m map[string]any, key string) any {
	for _, k := range append([]string{key}, aliases[key]...) {
		if v, ok := m[k]; ok && v != nil && v != "" {
			return v
		}
	}
	return m[key]
}

// findValue is the first value in a text that is of a form.
func findValue(text string, form func(any) bool) (found any, err error) {
	_, _, err = protocol.ReadValue(text, func(raw json.RawMessage) bool {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil || !form(v) {
			return false
		}
		found = v
		return true
	})
	return found, err
}

// hasKey is the form of an object with a key.
func hasKey(key string) func(any) bool {
	return func(v any) bool {
		m, _ := v.(map[string]any)
		return value(m, key) != nil
	}
}

// taskList are the tasks in a reply: in an object, or bare. A list of names,
// such as a task's tools, does not count.
func taskList(v any) ([]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		list, ok := value(v, "tasks").([]any)
		return list, ok
	case []any:
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && value(m, "description") != nil {
				return v, true
			}
		}
	}
	return nil, false
}

// readTasks reads tasks. Models write ids as numbers, one dependency without a
// list, and a task as its description alone.
func readTasks(list []any) (tasks []Task) {
	for _, e := range list {
		switch e := e.(type) {
		case string:
			tasks = append(tasks, Task{Description: e, Status: Pending, Dependencies: []string{}})
		case map[string]any:
			t := Task{ID: scalar(value(e, "id")), Description: scalar(value(e, "description")), Status: Pending}
			if names := value(e, "tools"); names != nil {
				t.Tools = append([]string{}, scalars(names)...)
			}
			if d := value(e, "dependencies"); d != nil {
				t.Dependencies = append([]string{}, scalars(d)...)
			}
			if m, _ := e["metadata"].(map[string]any); m[taintedKey] != nil { // a plan that was printed stays so
				t.note(taintedKey, "true")
			}
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// scalar is a string, or a number as one.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// scalars are strings and numbers, single or in a list.
func scalars(v any) (all []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		if w := scalar(e); w != "" {
			all = append(all, w)
		}
	}
	return all
}

// ParseFile reads a plan from a file: its tasks as ParsePlan reads them, and
// the goal, which may be missing. The tasks count as written by a person.
func ParseFile(text string) (goal string, tasks []Task, err error) {
	if tasks, err = ParsePlan(text); err != nil {
		return "", nil, err
	}
	for i := range tasks {
		tasks[i].Given = true
	}
	if v, err := findValue(text, hasKey("goal")); err == nil {
		goal = scalar(v.(map[string]any)["goal"])
	}
	return goal, tasks, nil
}
