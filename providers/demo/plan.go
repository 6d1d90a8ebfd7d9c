package demo

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A prompt about a plan asks for JSON, and shows the form. The demo goes by
// that.
var planForms = []struct {
	mark   string
	answer func(t *turn) string
}{
	{`{"tasks":`, makePlan},
	{`"selected_task_id":`, chooseTask},
	{`{"success":`, judgeTask},
	{`{"progress":`, func(*turn) string { return `{"progress": "The plan holds."}` }},
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
	goalLine  = expression{text: `(?s)^Goal: (.*?)(?:\n\n|$)`}
	afterThat = expression{text: `(?i)[\s,;.]*\b(?:and\s+)?then\b,?\s+|\s*\n\s*`}
	readyLine = expression{text: `(?m)^Ready:\n- (.+)$`}
	cannot    = expression{text: "(?s)^(?:I could not |I cannot |For that I would need |I am mylm's demo responder.*I have no rule)"}
	taskLine  = expression{text: `(?s)\nIt ended as: (\w+)\nResult:\n(.*)$`}
)

type planned struct {
	ID           string   `json:"id"`
	Description  string   `json:"description"`
	Dependencies []string `json:"dependencies"`
}

// makePlan makes a task of every part of the goal that a "then" divides. Each
// waits for the one before.
func makePlan(t *turn) string {
	goal := t.last
	if m := goalLine.get().FindStringSubmatch(t.last); m != nil {
		goal = m[1]
	}
	tasks, before := []planned{}, []string{}
	for _, part := range afterThat.get().Split(strings.TrimSpace(goal), -1) {
		if part = strings.TrimSpace(part); tidy(part) == "" {
			continue
		}
		id := fmt.Sprintf("t%d", len(tasks)+1)
		tasks, before = append(tasks, planned{id, part, before}), []string{id}
	}
	b, _ := json.Marshal(map[string]any{"tasks": tasks}) // strings
	return string(b)
}

func chooseTask(t *turn) string {
	id := ""
	if m := readyLine.get().FindStringSubmatch(t.last); m != nil {
		id = m[1]
	}
	b, _ := json.Marshal(map[string]string{"thought": "The first one that is ready.", "selected_task_id": id, "rationale": "It waits for nothing."})
	return string(b)
}

// judgeTask recognizes what the demo replies when it cannot do something.
func judgeTask(t *turn) string {
	m := taskLine.get().FindStringSubmatch(t.last)
	success := m != nil && m[1] == "completed" && !cannot.get().MatchString(m[2])
	answer := map[string]any{"success": success, "progress": "One task less."}
	if !success {
		answer["reason"], answer["progress"] = "the demo's rules cannot do this", "This task is not done."
	}
	b, _ := json.Marshal(answer)
	return string(b)
}
