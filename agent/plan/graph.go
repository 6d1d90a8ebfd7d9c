package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mylm/tools"
)

// MaxTasks is how many tasks a plan may have. It bounds what a model, or a
// file, can make the program hold; nobody reads a longer list.
const MaxTasks = 500

// Graph is the tasks of a plan, in their order, and what waits for what. It is
// always valid: every dependency is a task of it, and none waits for itself. It
// is for one goroutine.
type Graph struct {
	tasks []Task
	index map[string]int
}

// NewGraph makes a graph of tasks and reports what it had to repair. A task without
// an id gets one, one without a status is pending.
func NewGraph(tasks []Task) (*Graph, []Flaw) {
	g := &Graph{index: map[string]int{}}
	var flaws []Flaw
	for i, t := range tasks {
		if len(g.tasks) == MaxTasks {
			flaws = append(flaws, Flaw{TooManyTasks, fmt.Sprintf("a plan has at most %d tasks: %d are omitted", MaxTasks, len(tasks)-i)})
			break
		}
		flaws = append(flaws, g.insert(t)...)
	}
	for i := range g.tasks {
		flaws = append(flaws, g.checkDependencies(i)...)
	}
	return g, append(flaws, g.breakCycles()...)
}

// insert appends a task. Its dependencies are not checked.
func (g *Graph) insert(t Task) (flaws []Flaw) {
	t = t.clone()
	t.ID, t.Description = strings.TrimSpace(t.ID), strings.TrimSpace(t.Description)
	if t.Description == "" {
		return []Flaw{{EmptyTask, fmt.Sprintf("the task %q has no description: omitted", t.ID)}}
	}
	if _, taken := g.index[t.ID]; taken {
		was := t.ID
		t.ID = g.freeID()
		flaws = append(flaws, Flaw{DuplicateID, fmt.Sprintf("two tasks have the id %q: the second is now %s", was, t.ID)})
	}
	if t.ID == "" {
		t.ID = g.freeID()
	}
	if !slices.Contains([]Status{InProgress, Completed, Failed, Blocked}, t.Status) {
		t.Status = Pending
	}
	g.index[t.ID] = len(g.tasks)
	g.tasks = append(g.tasks, t)
	return flaws
}

// freeID is an id that no task has.
func (g *Graph) freeID() string {
	for n := len(g.tasks) + 1; ; n++ {
		id := fmt.Sprintf("t%d", n)
		if _, taken := g.index[id]; !taken {
			return id
		}
	}
}

// checkDependencies drops the dependencies of a task that are not tasks, or are duplicates.
func (g *Graph) checkDependencies(i int) (flaws []Flaw) {
	t := &g.tasks[i]
	var kept []string
	for _, d := range t.Dependencies {
		d = strings.TrimSpace(d)
		switch at, ok := g.index[d]; {
		case ok && g.tasks[at].hasNote(droppedKey):
			flaws = append(flaws, Flaw{UnknownDependency, fmt.Sprintf("%s depends on %s, which was dropped: dependency dropped", t.ID, d)})
		case !ok:
			flaws = append(flaws, Flaw{UnknownDependency, fmt.Sprintf("%s depends on %q, which does not exist: dependency dropped", t.ID, d)})
		case d == t.ID:
			flaws = append(flaws, Flaw{Cycle, fmt.Sprintf("%s depends on itself: dependency dropped", t.ID)})
		case !slices.Contains(kept, d):
			kept = append(kept, d)
		}
	}
	t.Dependencies = append([]string{}, kept...)
	return flaws
}

// breakCycles drops a dependency of every cycle. It begins with the last task,
// so that of two that wait for each other the first stays the first.
func (g *Graph) breakCycles() (flaws []Flaw) {
	const open, done = 1, 2
	state := make([]int, len(g.tasks))
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		t := &g.tasks[i]
		t.Dependencies = slices.DeleteFunc(t.Dependencies, func(d string) bool {
			switch j := g.index[d]; state[j] {
			case open:
				flaws = append(flaws, Flaw{Cycle, fmt.Sprintf("%s depends on %s, which depends on %s: the dependency of %s is dropped", t.ID, d, t.ID, t.ID)})
				return true
			case 0:
				visit(j)
			}
			return false
		})
		state[i] = done
	}
	for i := range slices.Backward(g.tasks) {
		if state[i] == 0 {
			visit(i)
		}
	}
	return flaws
}

// Tasks returns a copy of the tasks, in their order.
func (g *Graph) Tasks() []Task {
	tasks := make([]Task, len(g.tasks))
	for i, t := range g.tasks {
		tasks[i] = t.clone()
	}
	return tasks
}

// Task returns a copy of one.
func (g *Graph) Task(id string) (Task, bool) {
	i, ok := g.index[id]
	if !ok {
		return Task{}, false
	}
	return g.tasks[i].clone(), true
}

// Ready returns the pending tasks whose dependencies are all completed, in
// their order.
func (g *Graph) Ready() (ready []Task) {
	for i := range g.tasks {
		if g.tasks[i].Status == Pending && g.unblocked(i) {
			ready = append(ready, g.tasks[i].clone())
		}
	}
	return ready
}

// unblocked reports whether all that a task waits for is completed.
func (g *Graph) unblocked(i int) bool {
	return !slices.ContainsFunc(g.tasks[i].Dependencies, func(d string) bool { return g.tasks[g.index[d]].Status != Completed })
}

// Done reports whether every task is completed. A graph without tasks is not.
func (g *Graph) Done() bool {
	return len(g.tasks) > 0 && g.Count(Completed) == len(g.tasks)
}

// Count is how many tasks have a status.
func (g *Graph) Count(s Status) (n int) {
	for i := range g.tasks {
		if g.tasks[i].Status == s {
			n++
		}
	}
	return n
}

// Start takes a task up. It is an error if the task is not ready.
func (g *Graph) Start(id string) error {
	i, ok := g.index[id]
	if !ok || g.tasks[i].Status != Pending || !g.unblocked(i) {
		return fmt.Errorf("the task %q is not ready", id)
	}
	g.tasks[i].Status = InProgress
	return nil
}

// Finish puts a task at its end, as t has it: status, result, error and
// metadata. Where that is failed or blocked all that wait for it are blocked,
// and their ids returned. Pending puts it back; in progress it stays what it is.
func (g *Graph) Finish(t Task) (blocked []string) {
	i, ok := g.index[t.ID]
	if !ok {
		return nil
	}
	t = t.clone()
	at := &g.tasks[i]
	at.Status, at.Result, at.Error, at.Metadata = t.Status, t.Result, t.Error, t.Metadata
	if t.Status == Failed || t.Status == Blocked {
		return g.block(t.ID)
	}
	return nil
}

// block blocks all pending tasks that wait for one, directly or not.
func (g *Graph) block(id string) (blocked []string) {
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for i := range g.tasks {
			t := &g.tasks[i]
			if t.Status == Pending && slices.Contains(t.Dependencies, next[0]) {
				t.Status, t.Error = Blocked, fmt.Sprintf("waits for %s, which is %s", next[0], g.tasks[g.index[next[0]]].Status)
				blocked = append(blocked, t.ID)
				next = append(next, t.ID)
			}
		}
	}
	return blocked
}

// Unblock takes a blocked task up again, once in its life, and reports whether
// it did. Those that wait for it are pending again, too. What was denied is not
// taken up again.
func (g *Graph) Unblock(id string) bool {
	i, ok := g.index[id]
	if !ok || g.tasks[i].Status != Blocked || g.tasks[i].hasNote(unblockedKey) || g.tasks[i].hasNote(deniedKey) || !g.unblocked(i) {
		return false
	}
	g.tasks[i].note(unblockedKey, "true")
	delete(g.tasks[i].Metadata, droppedKey)
	g.tasks[i].Status, g.tasks[i].Error = Pending, ""
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for i := range g.tasks {
			t := &g.tasks[i]
			if t.Status == Blocked && !t.hasNote(droppedKey) && slices.Contains(t.Dependencies, next[0]) && !slices.ContainsFunc(t.Dependencies, g.willNotComplete) {
				t.Status, t.Error = Pending, ""
				next = append(next, t.ID)
			}
		}
	}
	return true
}

// willNotComplete reports whether a task will not be completed.
func (g *Graph) willNotComplete(id string) bool {
	s := g.tasks[g.index[id]].Status
	return s == Failed || s == Blocked
}

// urgent sorts tasks that are ready: those with the longest chain of dependents
// first, since that chain determines when the plan is done. Equals stay in
// their order.
func (g *Graph) urgent(ready []Task) {
	waiting := map[string][]string{}
	for _, t := range g.tasks {
		for _, d := range t.Dependencies {
			waiting[d] = append(waiting[d], t.ID)
		}
	}
	chain := map[string]int{}
	var length func(id string) int
	length = func(id string) int {
		if n, known := chain[id]; known {
			return n
		}
		n := 0
		for _, w := range waiting[id] {
			n = max(n, length(w))
		}
		chain[id] = n + 1
		return n + 1
	}
	slices.SortStableFunc(ready, func(a, b Task) int { return length(b.ID) - length(a.ID) })
}

// Status is the state of a task.
type Status string

// The statuses. A task begins as pending; completed, failed and blocked are
// ends, and a blocked one may be taken up again.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"  // it was tried, and nothing was done to recover
	Blocked    Status = "blocked" // it was given up or dropped, or waits for one that did not complete
)

// What a task remembers in its metadata.
const (
	taintedKey   = "tainted"   // it has read text from outside the workspace
	deniedKey    = "denied"    // a person, or a rule, said no to what it wanted to do
	droppedKey   = "dropped"   // the model dropped it
	unblockedKey = "unblocked" // it was unblocked, which it is once
)

// hasNote reports whether a task remembers something.
func (t *Task) hasNote(key string) bool { return t.Metadata[key] != "" }

// Task is one step of a plan.
type Task struct {
	ID           string            `json:"id"`
	Description  string            `json:"description"`
	Status       Status            `json:"status"`
	Dependencies []string          `json:"dependencies"`   // ids of tasks that must be completed before
	Tools        []string          `json:"tools,omitzero"` // the only ones it may use; nil: all there are, empty: none
	Result       string            `json:"result,omitempty"`
	Error        string            `json:"error,omitempty"` // why it is failed or blocked
	Metadata     map[string]string `json:"metadata,omitempty"`
	Given        bool              `json:"given,omitempty"` // a person wrote it: the model can neither change nor drop it
}

// clone shares nothing with t.
func (t Task) clone() Task {
	t.Dependencies = append([]string{}, t.Dependencies...)
	t.Tools = slices.Clone(t.Tools)
	t.Metadata = maps.Clone(t.Metadata)
	return t
}

// note sets a value of the metadata.
func (t *Task) note(key, value string) {
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	t.Metadata[key] = value
}

// CheckTools returns an error if a task that a person wrote, and that is to come,
// names a tool that is not in the registry.
func CheckTools(tasks []Task, all *tools.Registry) error {
	for _, t := range tasks {
		if !t.Given || t.Status != Pending {
			continue
		}
		if _, err := all.Only(t.Tools...); err != nil {
			return fmt.Errorf("task %s: %w", cmp.Or(t.ID, oneLine(t.Description)), err)
		}
	}
	return nil
}

// Flaw is something in a list of tasks that was repaired.
type Flaw struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// The codes of flaws. They are codes of an agent.Notice as well.
const (
	UnknownDependency = "unknown_dependency" // it was dropped
	Cycle             = "dependency_cycle"   // one dependency in it was dropped
	DuplicateID       = "duplicate_task"     // the later task has another id
	EmptyTask         = "empty_task"         // it says nothing, and was dropped
	TooManyTasks      = "too_many_tasks"     // the rest was dropped
	NotAdjusted       = "not_adjusted"       // a change of the plan that cannot be made
)
