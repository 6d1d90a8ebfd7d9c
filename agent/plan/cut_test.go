package plan_test

import (
	"errors"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/plan"
)

// TestCutEverywhere has the process die after every entry of a plan: nothing is
// reported as done that was not, and nothing is carried out without a goal.
func TestCutEverywhere(t *testing.T) {
	whole := &memory{}
	options := func(rec agent.Recorder, m *model) plan.Options {
		return plan.Options{Agent: agent.Options{Model: m, Recorder: rec, Tries: 1}, NoReason: true}
	}
	answers := func(kind, message string) string {
		if kind == "plan" {
			return `{"tasks": [{"id": "a", "description": "one > none"}, {"id": "b", "description": "two", "dependencies": ["a"]}]}`
		}
		if strings.Contains(message, "Go on exactly where it stopped") {
			return "nd the rest"
		}
		if kind == "task" {
			return reply(kind, message) + ", a[cut]"
		}
		return reply(kind, message)
	}
	first := watch(mustPlan(t, options(whole, &model{reply: answers})).Run(t.Context(), nil, "the goal", nil))
	if !first.state.Success {
		t.Fatalf("%+v", first.state)
	}
	entries := whole.all()
	for _, e := range entries {
		if of, ok := e.Payload.(agent.CustomEntry); ok && strings.HasPrefix(string(of.Args), `{"session"`) && strings.Contains(string(of.Args), `\u003e`) {
			t.Errorf("it is recorded with escapes that nobody wrote: %s", of.Args)
		}
	}
	for n := range entries {
		s, err := agent.LoadSession("s", entries[:n])
		if err != nil {
			t.Fatal(err)
		}
		m, rest := &model{reply: answers}, &memory{entries: entries[:n:n]}
		w := watch(mustPlan(t, options(rest, m)).Resume(t.Context(), s))
		if n < 2 { // the goal is the second entry
			if !errors.Is(w.err, plan.ErrNoPlan) || len(m.messages) > 0 {
				t.Errorf("after %d entries: %v, the model was asked %q", n, w.err, m.messages)
			}
			continue
		}
		saved, err := plan.Load(s)
		if err != nil || saved.Goal != "the goal" {
			t.Errorf("after %d entries: the goal is %q, %v", n, saved.Goal, err)
		}
		if errors.Is(w.err, agent.ErrComplete) {
			w.state.Tasks = saved.Tasks
		} else if !w.state.Success {
			t.Errorf("after %d entries: %+v, %v", n, w.state, w.err)
		}
		for i, task := range w.state.Tasks {
			if was := first.state.Tasks[i]; task.Status != plan.Completed || task.Result != was.Result || !strings.HasPrefix(task.Result, "did: ") {
				t.Errorf("after %d entries (%s): %s is %s with %q, want %q", n, entries[n-1].Kind(), task.ID, task.Status, task.Result, was.Result)
			}
		}
	}
}
