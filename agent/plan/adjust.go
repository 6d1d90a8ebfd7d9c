package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mylm/prompts"
)

// Adjustment is a change of a plan in progress.
type Adjustment struct {
	// Add are tasks to come. One with the id of a pending task replaces its
	// description and its dependencies, and narrows its tools.
	Add []Task `json:"add,omitempty"`
	// Drop are ids of pending tasks. They stay in the plan as blocked, but for
	// those that Add has.
	Drop []string `json:"drop,omitempty"`
}

// Empty reports whether nothing is to change.
func (a Adjustment) Empty() bool { return len(a.Add) == 0 && len(a.Drop) == 0 }

// Adjust changes the graph as far as it stays valid, and returns what was not
// done. Only pending tasks are changed or dropped: what was begun is history,
// and what failed cannot be made to have never been wanted. What waited for a
// dropped task waits for what that one waited for. Tasks that a person wrote
// are not changed, and tasks added to them get no further tools.
func (g *Graph) Adjust(a Adjustment) (flaws []Flaw) {
	for _, id := range a.Drop {
		if !slices.ContainsFunc(a.Add, func(t Task) bool { return strings.TrimSpace(t.ID) == strings.TrimSpace(id) }) {
			flaws = append(flaws, g.drop(strings.TrimSpace(id))...)
		}
	}
	limit := g.givenTools()
	var changed []string
	for i, t := range a.Add {
		id := strings.TrimSpace(t.ID)
		at, known := g.index[id]
		switch {
		case known && g.tasks[at].Status == Pending && g.tasks[at].Given:
			flaws = append(flaws, Flaw{NotAdjusted, id + " was given and cannot be changed"})
			continue
		case known && g.tasks[at].Status == Pending:
			flaws = append(flaws, g.replace(at, t)...)
			if !slices.Contains(changed, id) {
				changed = append(changed, id)
			}
			continue
		case slices.ContainsFunc(g.tasks, func(o Task) bool { return sameDescription(o.Description, t.Description) }):
			flaws = append(flaws, Flaw{NotAdjusted, fmt.Sprintf("%q is in the plan already and is not added again", oneLine(t.Description))})
			continue
		case len(g.tasks) >= MaxTasks:
			return append(append(flaws, Flaw{TooManyTasks, fmt.Sprintf("a plan has at most %d tasks: %d are omitted", MaxTasks, len(a.Add)-i)}), g.checkChanged(changed)...)
		}
		t.Status, t.Result, t.Error, t.Metadata, t.Given = Pending, "", "", nil, false
		before := len(g.tasks)
		flaws = append(flaws, g.insert(t)...)
		if len(g.tasks) > before {
			flaws = append(flaws, g.tasks[before].narrow(limit, t.Tools)...)
			changed = append(changed, g.tasks[before].ID)
		}
	}
	return append(flaws, g.checkChanged(changed)...)
}

func sameDescription(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// givenTools are those of the tasks that a person wrote; nil is all.
func (g *Graph) givenTools() []string {
	var names []string
	for _, t := range g.tasks {
		switch {
		case !t.Given:
		case t.Tools == nil:
			return nil
		default:
			names = append(append([]string{}, names...), t.Tools...)
		}
	}
	return names
}

// narrow gives a task those of the allowed tools that are wanted, or all of them if none are named.
func (t *Task) narrow(limit, wanted []string) (flaws []Flaw) {
	switch {
	case wanted == nil:
		t.Tools = slices.Clone(limit)
		return nil
	case limit == nil:
		t.Tools = slices.Clone(wanted)
		return nil
	}
	t.Tools = []string{}
	for _, name := range wanted {
		if slices.Contains(limit, name) {
			t.Tools = append(t.Tools, name)
		} else {
			flaws = append(flaws, Flaw{NotAdjusted, fmt.Sprintf("%s may not use %q: dropped", t.ID, oneLine(name))})
		}
	}
	return flaws
}

// replace changes a pending task.
func (g *Graph) replace(i int, t Task) []Flaw {
	at := &g.tasks[i]
	if text := strings.TrimSpace(t.Description); text != "" {
		at.Description = text
	}
	if t.Dependencies != nil {
		at.Dependencies = slices.Clone(t.Dependencies)
	}
	return at.narrow(at.Tools, t.Tools)
}

// checkChanged checks the dependencies of tasks that were changed: one that closes a
// cycle is dropped, the others' stay. What waits for a task that will not be
// completed is blocked.
func (g *Graph) checkChanged(changed []string) (flaws []Flaw) {
	wanted := map[string][]string{}
	for _, id := range changed {
		flaws = append(flaws, g.checkDependencies(g.index[id])...)
		at := &g.tasks[g.index[id]]
		wanted[id], at.Dependencies = at.Dependencies, []string{}
	}
	for _, id := range changed {
		at := &g.tasks[g.index[id]]
		for _, d := range wanted[id] {
			if g.dependsOn(d, id) {
				flaws = append(flaws, Flaw{Cycle, fmt.Sprintf("%s would depend on %s, which depends on %s: dependency dropped", id, d, id)})
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

// dependsOn reports whether a task waits for another, directly or not.
func (g *Graph) dependsOn(id, other string) bool {
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

// drop gives a pending task up. Nothing waits for it any more.
func (g *Graph) drop(id string) []Flaw {
	i, ok := g.index[id]
	switch {
	case !ok:
		return []Flaw{{NotAdjusted, fmt.Sprintf("%q cannot be dropped: there is no such task", oneLine(id))}}
	case g.tasks[i].Status != Pending:
		return []Flaw{{NotAdjusted, fmt.Sprintf("%s is %s and cannot be dropped", id, g.tasks[i].Status)}}
	case g.tasks[i].Given:
		return []Flaw{{NotAdjusted, id + " was given and cannot be dropped"}}
	}
	g.tasks[i].Status, g.tasks[i].Error = Blocked, "dropped by the model when it changed the plan"
	g.tasks[i].note(droppedKey, "true")
	before := g.tasks[i].Dependencies
	for j := range g.tasks {
		t := &g.tasks[j]
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

// adjust adjusts the plan as the model has it.
func (r *run) adjust(ctx context.Context, seen Observation) {
	changed, before := false, r.graph.Tasks()
	for _, id := range seen.Unblocked {
		changed = r.graph.Unblock(id) || changed
	}
	if !seen.Adjustment.Empty() {
		r.flaws(r.graph.Adjust(seen.Adjustment))
		r.checkTools()
		changed = true
	}
	if !changed {
		return
	}
	if err := r.publishPlan(ctx, Adjusted); err != nil {
		r.stopWith(err)
	}
	for _, was := range before {
		if t, _ := r.graph.Task(was.ID); was.Status == Pending && t.Status == Blocked {
			r.emit(t.ID, TaskEnd{ID: t.ID, Status: t.Status, Error: t.Error})
		}
	}
}

// reflectEvery is after how many tasks the plan is reviewed as a whole.
const reflectEvery = 3

// reflect has the model review the plan as a whole, from time to time.
func (r *run) reflect(ctx context.Context) {
	if r.opts.NoReflect || r.stop != "" || r.graph.Count(Pending) == 0 || r.finished%reflectEvery != 0 {
		return
	}
	seen, read, err := consult(ctx, r, &r.cost, question{
		role: prompts.Reflect, form: prompts.PlanState, data: prompts.PlanData{Goal: r.state.Goal, Tasks: planSteps(r.graph.Tasks())},
		fallback: "the plan stays as it is",
	}, ParseReflection)
	switch {
	case err != nil:
		r.stopWith(err)
	case read:
		r.cost.thoughts = appendLast(r.cost.thoughts, seen.Progress)
		r.state.Learnings = appendLast(r.state.Learnings, seen.Learned...)
		r.emit("", Reflected{seen.Progress, seen.Learned, seen.Adjustment})
		r.adjust(ctx, seen)
	}
}
