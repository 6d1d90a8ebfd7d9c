package demo

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A prompt about a plan asks for JSON, and shows the form. By it the demo knows
// what is wanted.
var planForms = []struct {
	mark   string
	answer func(t *turn) string
}{
	{`{"tasks":`, makePlan},
	{`"selected_task_id":`, chooseTask},
	{`{"success":`, judgeTask},
	{`{"progress":`, func(*turn) string { return `{"progress": "The plan stands."}` }},
}

// aboutPlan answers a prompt about a plan; ok is false if it is none.
func (t *turn) aboutPlan() (reply string, ok bool) {
	if !strings.Contains(t.system, "Reply with one JSON object and nothing else:") {
		return "", false
	}
	for _, f := range planForms {
		if strings.Contains(t.system, f.mark) {
			return f.answer(t), true
		}
	}
	return "", false
}

var (
	goalLine  = lazy(`(?s)^Goal: (.*?)(?:\n\n|$)`)
	afterThat = lazy(`(?i)\s*[,;.]?\s*\b(?:and\s+)?(?:then|after that|afterwards)\b,?\s+|\s*;\s*|\s*\n\s*(?:[-*]|\d+[.)])?\s*`)
	besides   = lazy(`(?i)\s*,\s+(?:and\s+)?|\s+and\s+|\.\s+`)
	readyLine = lazy(`(?m)^Ready:\n- (.+)$`)
	cannot    = lazy("(?s)^(?:I could not |I cannot |For that I would need |I run a command when |I am mylm's demo responder.*I have no rule|`[^`]*` failed: )")
	taskLine  = lazy(`(?s)\nIt ended as: (\w+)\nResult:\n(.*)$`)
)

type planned struct {
	ID           string   `json:"id"`
	Description  string   `json:"description"`
	Dependencies []string `json:"dependencies"`
}

// makePlan makes a task of every part of the goal. What stands behind a "then"
// waits for what stands before it; the rest waits for nothing.
func makePlan(t *turn) string {
	goal := t.last
	if m := goalLine().FindStringSubmatch(t.last); m != nil {
		goal = m[1]
	}
	tasks, before := []planned{}, []string{}
	for _, step := range afterThat().Split(strings.TrimSpace(goal), -1) {
		ids := []string{}
		for _, part := range sideBySide(step) {
			if tidy(part) == "" {
				continue
			}
			id := fmt.Sprintf("t%d", len(tasks)+1)
			tasks, ids = append(tasks, planned{id, part, before}), append(ids, id)
		}
		if len(ids) > 0 {
			before = ids
		}
	}
	b, _ := json.Marshal(map[string]any{"tasks": tasks}) // strings
	return string(b)
}

// sideBySide splits a step where both sides are something that the demo knows,
// unless all of it is something more special than its beginning.
func sideBySide(step string) []string {
	if len(step) > longestGoal {
		return []string{strings.TrimSpace(step)}
	}
	for _, at := range besides().FindAllStringIndex(step, -1) {
		left, right := step[:at[0]], step[at[1]:]
		if n := rank(left); n < len(intents) && n <= rank(step) && rank(right) < len(intents) {
			return append([]string{left}, sideBySide(right)...)
		}
	}
	return []string{strings.TrimSpace(step)}
}

// rank is the place of the first intent that fits; the number of intents if
// none does.
func rank(goal string) int {
	goal = tidy(goal)
	for n, i := range intents {
		if goal != "" && len(goal) <= longestGoal && i.match(goal) != nil {
			return n
		}
	}
	return len(intents)
}

func chooseTask(t *turn) string {
	id := ""
	if m := readyLine().FindStringSubmatch(t.last); m != nil {
		id = m[1]
	}
	b, _ := json.Marshal(map[string]string{"thought": "The first one that is ready.", "selected_task_id": id, "rationale": "It waits for nothing."})
	return string(b)
}

// judgeTask tells what the demo says when it cannot do something.
func judgeTask(t *turn) string {
	m := taskLine().FindStringSubmatch(t.last)
	success := m != nil && m[1] == "completed" && !cannot().MatchString(m[2])
	answer := map[string]any{"success": success, "progress": "One task less."}
	if !success {
		answer["reason"], answer["progress"] = "the demo's rules cannot do this", "This task is not done."
	}
	b, _ := json.Marshal(answer)
	return string(b)
}
