package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Adjustment is a change of a plan that is under way.
type Adjustment struct {
	// Add are tasks to come. One with the id of a pending task replaces its
	// description, its dependencies and its tools.
	Add []Task `json:"add,omitempty"`
	// Drop are ids of pending tasks.
	Drop []string `json:"drop,omitempty"`
}

// Empty reports whether nothing is to change.
func (a Adjustment) Empty() bool { return len(a.Add) == 0 && len(a.Drop) == 0 }

// Adjust changes the graph as far as it stays valid, and says what was not
// done. Only pending tasks are changed or dropped: what was begun is history,
// and what failed cannot be made to have never been wanted. What waited for a
// dropped task waits for what that one waited for.
func (g *Graph) Adjust(a Adjustment) (flaws []Flaw) {
	for _, id := range a.Drop {
		flaws = append(flaws, g.drop(strings.TrimSpace(id))...)
	}
	var changed []string
	for i, t := range a.Add {
		id := strings.TrimSpace(t.ID)
		at, known := g.index[id]
		switch {
		case known && g.tasks[at].Status == Pending:
			g.replace(at, t)
			if !slices.Contains(changed, id) {
				changed = append(changed, id)
			}
			continue
		case known && sameWords(g.tasks[at].Description, t.Description):
			flaws = append(flaws, Flaw{NotAdjusted, fmt.Sprintf("%s is %s and cannot be changed", id, g.tasks[at].Status)})
			continue
		case len(g.tasks) >= MaxTasks:
			return append(append(flaws, Flaw{TooManyTasks, fmt.Sprintf("a plan has at most %d tasks: %d are left out", MaxTasks, len(a.Add)-i)}), g.settle(changed)...)
		}
		t.Status, t.Result, t.Error, t.Metadata = Pending, "", "", nil
		before := len(g.tasks)
		flaws = append(flaws, g.insert(t)...)
		if len(g.tasks) > before {
			changed = append(changed, g.tasks[before].ID)
		}
	}
	return append(flaws, g.settle(changed)...)
}

func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// replace changes a pending task.
func (g *Graph) replace(i int, t Task) {
	at := &g.tasks[i]
	if text := strings.TrimSpace(t.Description); text != "" {
		at.Description = text
	}
	if t.Dependencies != nil {
		at.Dependencies = slices.Clone(t.Dependencies)
	}
	if t.Tools != nil {
		at.Tools = slices.Clone(t.Tools)
	}
}

// settle looks at the dependencies of tasks that were changed: one that closes
// a cycle is dropped, the others' stay. What waits for a task that will not be
// completed is blocked.
func (g *Graph) settle(changed []string) (flaws []Flaw) {
	wanted := map[string][]string{}
	for _, id := range changed {
		flaws = append(flaws, g.known(g.index[id])...)
		at := &g.tasks[g.index[id]]
		wanted[id], at.Dependencies = at.Dependencies, []string{}
	}
	for _, id := range changed {
		at := &g.tasks[g.index[id]]
		for _, d := range wanted[id] {
			if g.waits(d, id) {
				flaws = append(flaws, Flaw{Cycle, fmt.Sprintf("%s would wait for %s, which waits for %s: that is dropped", id, d, id)})
			} else if !slices.Contains(at.Dependencies, d) {
				at.Dependencies = append(at.Dependencies, d)
			}
		}
	}
	for _, t := range g.Tasks() {
		if t.Status == Failed || t.Status == Blocked {
			g.block(t.ID)
		}
	}
	return flaws
}

// waits reports whether a task waits for another, directly or not.
func (g *Graph) waits(id, other string) bool {
	seen := map[string]bool{}
	for next := []string{id}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if at == other {
			return true
		}
		if !seen[at] {
			seen[at] = true
			next = append(next, g.tasks[g.index[at]].Dependencies...)
		}
	}
	return false
}

// drop takes a pending task out.
func (g *Graph) drop(id string) []Flaw {
	i, ok := g.index[id]
	switch {
	case !ok:
		return []Flaw{{NotAdjusted, fmt.Sprintf("%q cannot be dropped: it is no task", id)}}
	case g.tasks[i].Status != Pending:
		return []Flaw{{NotAdjusted, fmt.Sprintf("%s is %s and cannot be dropped", id, g.tasks[i].Status)}}
	case len(g.tasks) == 1:
		return []Flaw{{NotAdjusted, fmt.Sprintf("%s is the only task and cannot be dropped", id)}}
	}
	before := g.tasks[i].Dependencies
	g.tasks = slices.Delete(g.tasks, i, i+1)
	clear(g.index)
	for j := range g.tasks {
		t := &g.tasks[j]
		g.index[t.ID] = j
		at := slices.Index(t.Dependencies, id)
		if at < 0 {
			continue
		}
		t.Dependencies = slices.Delete(t.Dependencies, at, at+1)
		for _, d := range before {
			if !slices.Contains(t.Dependencies, d) {
				t.Dependencies = append(t.Dependencies, d)
			}
		}
	}
	return nil
}
