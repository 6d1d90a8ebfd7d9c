package sink

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/term"
)

// tree is a plan while it runs.
type tree struct {
	goal    string
	tasks   []plan.Task
	thought string
	action  map[string]string // what each task does
	waiting string            // what the backend does
	start   time.Time
}

func newTree(goal string) *tree {
	return &tree{goal: goal, action: map[string]string{}, start: time.Now()}
}

// planEvent shows an event of a plan: in the tree, or as a line if nothing can be
// drawn.
func (t *Terminal) planEvent(ev agent.Event) {
	v := t.tree
	switch p := ev.Payload.(type) {
	case plan.Planned:
		t.planned(p)
	case plan.Reasoned:
		t.think(p.Thought)
	case plan.Reflected:
		t.think(p.Progress)
	case plan.Observed:
		t.think(p.Progress)
	case plan.TaskStart:
		v.set(p.ID, plan.InProgress, "")
		t.line("", fmt.Sprintf("%s %s%s: %s", sign(plan.InProgress), label(p.ID), v.position(p.ID), term.OneLine(term.Visible(p.Description), 200)))
	case plan.TaskEnd:
		delete(v.action, p.ID)
		v.set(p.ID, p.Status, p.Error)
		text := fmt.Sprintf("%s %s %s", sign(p.Status), label(p.ID), p.Status)
		if p.Error != "" {
			text += ": " + term.OneLine(term.Visible(p.Error), 200)
		}
		t.line("", text)
	case plan.Recovery:
		t.say("", fmt.Sprintf("%s failed (%s): %s", label(p.ID), term.OneLine(term.Visible(p.Reason), 200), recoveries[p.Step]))
	case agent.TurnStart:
		v.waiting, v.action[ev.Task] = "", "thinking"
	case agent.Waiting:
		v.waiting = p.Text
	case agent.ToolCall:
		v.waiting, v.action[ev.Task] = "", CallLine(p.Name, p.Args)
	case agent.Thought:
		v.thinks(p.Text)
	}
}

// recoveries describes what happens to a task that failed.
var recoveries = map[plan.Step]string{
	plan.StepAgain: "retrying", plan.StepSimplify: "retrying in a simpler form", plan.StepOtherTool: "retrying with other tools",
	plan.StepAsk: "asking you", plan.StepSkip: "skipped, with all tasks that depend on it",
}

func (t *Terminal) planned(p plan.Planned) {
	v, was := t.tree, t.tree.tasks
	v.goal, v.tasks = p.Goal, p.Tasks
	title := "plan: "
	if p.Why == plan.Adjusted {
		title = "the plan has changed: "
	} else {
		was = nil
	}
	t.line("", title+term.Plural(len(p.Tasks), "task"))
	before := map[string]string{}
	for _, old := range was {
		before[old.ID] = TaskRow(old)
	}
	for _, task := range v.tasks {
		if text := TaskRow(task); before[task.ID] != text {
			t.line("", "  "+text)
		}
	}
}

func (t *Terminal) think(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	t.tree.thought = text
	if t.options.Verbose {
		t.line("", "~ "+term.OneLine(term.Visible(text), 200))
	}
}

func (v *tree) set(id string, s plan.Status, failed string) {
	for i := range v.tasks {
		if v.tasks[i].ID == id {
			v.tasks[i].Status, v.tasks[i].Error = s, failed
		}
	}
}

// position is where a task is in the plan.
func (v *tree) position(id string) string {
	at := slices.IndexFunc(v.tasks, func(t plan.Task) bool { return t.ID == id })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (task %d of %d)", at+1, len(v.tasks))
}

// thinks keeps the last line of a thought that comes in pieces.
func (v *tree) thinks(text string) {
	v.thought += text
	if i := strings.LastIndexByte(strings.TrimRight(v.thought, "\n"), '\n'); i >= 0 {
		v.thought = v.thought[i+1:]
	}
	if len(v.thought) > thoughtLine {
		v.thought = v.thought[len(v.thought)-thoughtLine:]
	}
}

// sign is a status in one character.
func sign(s plan.Status) string {
	switch s {
	case plan.Completed:
		return "✓"
	case plan.InProgress:
		return "▶"
	case plan.Failed, plan.Blocked:
		return "✗"
	}
	return "⋯"
}

// TaskRow is a task in a line.
func TaskRow(t plan.Task) string {
	text := sign(t.Status) + " " + label(t.ID) + "  " + term.OneLine(term.Visible(t.Description), 200)
	if t.Status == plan.Blocked || t.Status == plan.Failed {
		text += " (" + string(t.Status) + ")"
	}
	return text
}

// rows is the goal and at most n tasks: if there are more, those around the first
// unfinished one.
func (v *tree) rows(n int) []string {
	done := 0
	for _, t := range v.tasks {
		if t.Status == plan.Completed {
			done++
		}
	}
	rows := []string{
		"Goal: " + term.OneLine(term.Visible(v.goal), 300),
		fmt.Sprintf("%d of %s done", done, term.Plural(len(v.tasks), "task")),
	}
	if len(v.tasks) == 0 {
		rows[1] = "planning"
		if v.waiting != "" {
			rows[1] = term.OneLine(term.Visible(v.waiting), 200)
		}
	}
	from := 0
	for from < len(v.tasks)-n && v.tasks[from].Status == plan.Completed {
		from++
	}
	to := min(len(v.tasks), from+max(1, n))
	if from > 0 {
		rows = append(rows, fmt.Sprintf("  … %d before", from))
	}
	for _, t := range v.tasks[from:to] {
		rows = append(rows, TaskRow(t))
	}
	if to < len(v.tasks) {
		rows = append(rows, fmt.Sprintf("  … %d more", len(v.tasks)-to))
	}
	return rows
}

// live is the tree with the current activity, in less than height rows.
func (v *tree) live(wheel string, height int) []string {
	var below []string
	if text := strings.TrimSpace(v.thought); text != "" {
		below = append(below, "~ "+term.OneLine(term.Visible(text), 200))
	}
	for _, t := range v.tasks {
		if what := v.action[t.ID]; what != "" {
			if v.waiting != "" {
				what = v.waiting
			}
			below = append(below, label(t.ID)+" "+term.OneLine(term.Visible(what), 200))
		}
	}
	room := height - 1 - len(below) - 2 // for tasks: goal and progress are above them
	if room < len(v.tasks) {
		room -= 2 // how many are not shown
	}
	rows := v.rows(max(1, room))
	rows[1] = fmt.Sprintf("%s %s, %ds", wheel, rows[1], int(time.Since(v.start).Seconds()))
	rows = append(rows, below...)
	return rows[:min(len(rows), max(2, height-1))]
}
