package acp

import (
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"mylm/agent"
	"mylm/agent/plan"
)

// plan shows an event of a plan.
func (t *Turn) plan(p agent.Payload) {
	switch p := p.(type) {
	case plan.Planned:
		t.tasks = slices.Clone(p.Tasks)
	case plan.TaskStart:
		t.mark(p.ID, plan.InProgress)
	case plan.TaskEnd:
		t.mark(p.ID, p.Status)
	case plan.End:
		if len(p.State.Tasks) > 0 {
			t.tasks = slices.Clone(p.State.Tasks)
		}
	case plan.Recovery:
		t.note(p.ID + ": " + string(p.Step) + ", since " + p.Reason)
		return
	default:
		return
	}
	t.send(sdk.UpdatePlan(entries(t.tasks)...))
}

func (t *Turn) mark(id string, s plan.Status) {
	for i := range t.tasks {
		if t.tasks[i].ID == id {
			t.tasks[i].Status = s
		}
	}
}

// entries are tasks as the protocol has them, which knows no failure.
func entries(tasks []plan.Task) []sdk.PlanEntry {
	all := []sdk.PlanEntry{}
	for _, task := range tasks {
		e := sdk.PlanEntry{Content: task.Description, Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusPending}
		switch task.Status {
		case plan.InProgress:
			e.Status = sdk.PlanEntryStatusInProgress
		case plan.Completed:
			e.Status = sdk.PlanEntryStatusCompleted
		case plan.Failed:
			e.Status, e.Content = sdk.PlanEntryStatusCompleted, "failed: "+e.Content
		case plan.Blocked:
			e.Content = "blocked: " + e.Content
		}
		all = append(all, e)
	}
	return all
}
