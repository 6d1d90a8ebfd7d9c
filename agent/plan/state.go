package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/providers"
)

// State is all there is to know about a plan: while it lasts, and at its end.
type State struct {
	Goal          string   `json:"goal"`
	Tasks         []Task   `json:"tasks"`
	CurrentTask   string   `json:"current_task,omitempty"` // the first that was under way when the plan was cut short
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"max_iterations"`
	Thoughts      []string `json:"thoughts"`
	Actions       []Action `json:"actions"`
	Learnings     []string `json:"learnings"`
	Completed     bool     `json:"completed"` // nothing is left that could be done
	Success       bool     `json:"success"`   // every task is completed
	Error         string   `json:"error,omitempty"`

	Turns    int             `json:"turns"`     // replies of the model
	MaxTurns int             `json:"max_turns"` // of which there may be so many
	Usage    providers.Usage `json:"usage"`

	StopReason agent.StopReason `json:"stop_reason,omitempty"`
	Output     string           `json:"output"` // the results, in the order of the plan
}

// Action is a call of a tool in a task.
type Action struct {
	Task    string          `json:"task"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Success bool            `json:"success"`
}

// Bounds of what a State keeps: the last thoughts and learnings, which a person
// reads.
const maxHistory = 100

func appendLast(list []string, more ...string) []string {
	for _, s := range more {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list[max(0, len(list)-maxHistory):]
}

// output are the results of the tasks: of one by itself, of several under their
// descriptions; "" as long as there is none.
func output(tasks []Task) string {
	switch {
	case !slices.ContainsFunc(tasks, func(t Task) bool { return t.Status == Completed }):
		return ""
	case len(tasks) == 1:
		return tasks[0].Result
	}
	var parts []string
	for _, t := range tasks {
		body := t.Result
		if t.Status != Completed {
			body = fmt.Sprintf("(%s: %s)", t.Status, t.Error)
			if t.Error == "" {
				body = fmt.Sprintf("(%s)", t.Status)
			}
		}
		parts = append(parts, "## "+oneLine(t.Description)+"\n\n"+strings.TrimSpace(body))
	}
	return strings.Join(parts, "\n\n")
}

func oneLine(s string) string { return short(strings.Join(strings.Fields(s), " "), 200) }

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// short is the beginning of a text, n bytes at most.
func short(s string, n int) string {
	if s = strings.TrimSpace(s); len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}
