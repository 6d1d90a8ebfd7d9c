package plan_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"mylm/agent"
	"mylm/agent/plan"
)

type within struct{}

// A plan is observed, and the runs of its tasks within it.
func TestObserve(t *testing.T) {
	m := &model{reply: func(kind, message string) string {
		if kind == "plan" {
			return twoTasks
		}
		return reply(kind, message)
	}}
	var mu sync.Mutex
	types, tasks := []string{}, []string{}
	o := plan.Options{Agent: agent.Options{Model: m}, Workers: 2}
	o.Agent.Hooks.Observe = func(ctx context.Context, of agent.Observed) (context.Context, func(agent.Event)) {
		mu.Lock()
		defer mu.Unlock()
		if !of.Plan {
			if ctx.Value(within{}) == nil || of.Session == nil {
				t.Errorf("%+v is observed outside of the plan", of)
			}
			tasks = append(tasks, of.Task)
			return ctx, nil
		}
		return context.WithValue(ctx, within{}, true), func(ev agent.Event) { types = append(types, ev.Payload.Type()) }
	}
	w := carryOut(t, o, "how many?")
	if w.err != nil || !w.state.Success {
		t.Fatalf("%+v, %v", w.result, w.err)
	}
	want := []string{"plan", "task_start", "task_observed", "task_end", "task_start", "task_observed", "task_end", "plan_end", "agent_end"}
	if !slices.Equal(types, want) {
		t.Errorf("observed of the plan: %v", types)
	}
	if want := []string{"", "a", "a", "b", "b"}; !slices.Equal(tasks, want) { // the planner; the work, and what came of it
		t.Errorf("runs of the tasks %q, want %q", tasks, want)
	}
}
