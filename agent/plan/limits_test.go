package plan_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/tools"
)

// looking is a model whose tasks each look around so many times before they
// answer.
func looking(times int) *model {
	return &model{reply: func(kind, message string) string {
		switch n := strings.Count(message, "seen "); {
		case kind != "task":
			return reply(kind, message)
		case strings.Contains(message, "<observation>") && strings.Contains(message, fmt.Sprintf("look %d of", times)), n > 0:
			return "done"
		}
		return call("look")
	}}
}

// look is a tool that counts its calls.
func look(t *testing.T, times int) *tools.Tool {
	n := 0
	return tool(t, "look", tools.Reads, func(context.Context) (tools.Result, error) {
		n++
		return tools.Result{Text: fmt.Sprintf("look %d of %d", (n-1)%times+1, times)}, nil
	})
}

func TestBudgets(t *testing.T) {
	m := &model{reply: reply}
	o := quiet(m)
	o.MaxTurns = 2
	w := carryOut(t, o, "g", task("a"), task("b"), task("c"))
	if w.result.StopReason != agent.StopMaxTurns || w.result.Status != agent.Partial || w.state.Turns != 2 || w.statuses()["c"] != plan.Pending {
		t.Errorf("%+v, %v", w.result, w.statuses())
	}
	o.MaxTurns, o.MaxIterations = 0, 1
	w = carryOut(t, o, "g", task("a"), task("b"))
	if w.result.StopReason != agent.StopIncomplete || !strings.Contains(w.state.Error, "after 1 iteration") {
		t.Errorf("%+v", w.result)
	}
}

// TestTaskAtTheLimitOfThePlan: a task that the plan's limit cuts short has not
// failed. It is resumed where it was.
func TestTaskAtTheLimitOfThePlan(t *testing.T) {
	rec := &memory{}
	o := quiet(looking(3))
	o.NoRecover = false
	o.MaxTurns, o.Agent.Tools, o.Agent.Recorder, o.Agent.MaxRepeatedCalls = 2, registry(t, look(t, 3)), rec, 10
	w := carryOut(t, o, "g", task("a"), task("b", "a"))
	if w.result.StopReason != agent.StopMaxTurns || w.state.Turns != 2 || len(w.steps()) != 0 || w.state.CurrentTask != "a" {
		t.Errorf("%s after %d, recovered by %v, at %q", w.result.StopReason, w.state.Turns, w.steps(), w.state.CurrentTask)
	}
	if want := map[string]plan.Status{"a": plan.Pending, "b": plan.Pending}; fmt.Sprint(w.statuses()) != fmt.Sprint(want) {
		t.Errorf("%v", w.statuses())
	}
	session, err := agent.LoadSession("s", rec.all())
	if err != nil {
		t.Fatal(err)
	}
	o.MaxTurns = 0
	w = watch(mustPlan(t, o).Resume(t.Context(), session))
	if !w.state.Success {
		t.Errorf("%+v", w.state)
	}
	if calls := len(w.result.Calls); calls > 5 {
		t.Errorf("%d calls: the first two were made again", calls)
	}
}

// TestRepliesGivenBack: a task that was granted the rest continues with what
// others give back.
func TestRepliesGivenBack(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	m := &model{reply: func(kind, message string) string {
		switch {
		case strings.HasPrefix(message, "do "): // both are granted theirs
			both.Done()
			both.Wait()
		case strings.Contains(message, "look 2 of 2"):
			return "done"
		}
		return call("look")
	}}
	var mu sync.Mutex
	looked := 0
	look := tool(t, "look", tools.Reads, func(context.Context) (tools.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		looked++
		return tools.Result{Text: fmt.Sprintf("look %d of 2", (looked+1)/2)}, nil
	})
	o := quiet(m)
	o.Workers, o.MaxTurns, o.Agent.MaxTurns, o.Agent.MaxRepeatedCalls, o.Agent.Tools = 2, 7, 5, 10, registry(t, look)
	w := carryOut(t, o, "g", task("a"), task("b"))
	if !w.state.Success || w.state.Turns > 7 {
		t.Errorf("%v after %d: %s", w.statuses(), w.state.Turns, w.state.Error)
	}
}

// TestStopIsNoFailure: a task at which a person said stop was not given up, and
// no person is asked about another.
func TestStopIsNoFailure(t *testing.T) {
	asked, both := 0, make(chan struct{}, 2)
	write := tool(t, "write", tools.Writes, func(context.Context) (tools.Result, error) { return tools.Result{}, nil })
	o := quiet(&model{reply: func(string, string) string { both <- struct{}{}; return call("write") }})
	o.NoRecover, o.Workers, o.Agent.Tools = false, 2, registry(t, write)
	o.Agent.Approve = func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
		if asked++; asked == 1 {
			<-both
			<-both
		}
		return agent.Decision{Verdict: agent.Stop}, nil
	}
	w := carryOut(t, o, "g", task("a"), task("b"), task("c", "a"))
	if w.result.StopReason != agent.StopDenied || len(w.steps()) != 0 || asked != 1 {
		t.Errorf("%s, recovered by %v, asked %d times", w.result.StopReason, w.steps(), asked)
	}
	for id, s := range w.statuses() {
		if s != plan.Pending {
			t.Errorf("%s is %s", id, s)
		}
	}
}

// TestPlanTooLong: what the model cannot be asked about the plan any more is done
// without; but for the plan itself.
func TestPlanTooLong(t *testing.T) {
	m := &model{reply: func(kind, message string) string {
		if kind != "task" {
			return "overflow"
		}
		return reply(kind, message)
	}}
	o := plan.Options{Agent: agent.Options{Model: m, Tries: 1}}
	w := carryOut(t, o, "g", task("a"), task("b"), task("c"), task("d"))
	if !w.state.Success || !slices.Equal(slices.Compact(w.notices()), []string{plan.NoticeUnreadable}) {
		t.Errorf("%+v, %v", w.result, w.notices())
	}
	for _, kind := range []string{"reason", "observe", "reflect"} {
		if len(m.asked(kind)) == 0 {
			t.Errorf("the model was not asked to %s", kind)
		}
	}
	if w = carryOut(t, o, "g"); w.result.StopReason != agent.StopContextFull || len(w.state.Tasks) != 0 {
		t.Errorf("%+v", w.result)
	}
}

// TestLongPlan: what is done is shown however much is to come.
func TestLongPlan(t *testing.T) {
	m := &model{reply: reply}
	var tasks []plan.Task
	for i := range 40 {
		tasks = append(tasks, task(fmt.Sprint("n", i)))
	}
	carryOut(t, quiet(m), "g", tasks...)
	if text := m.asked("task")[3]; !strings.Contains(text, "- n2 (do n2): did: do n2") {
		t.Errorf("the fourth task sees\n%s", text)
	}
	if text := m.asked("task")[39]; strings.Contains(text, "- n5 (") || !strings.Contains(text, "- n38 (") {
		t.Errorf("the last task sees\n%s", text)
	}
}

// TestReflectionAfterThreeTasks: those that are blocked with one that failed do
// not count.
func TestReflectionAfterThreeTasks(t *testing.T) {
	m := &model{reply: func(kind, message string) string {
		if kind == "observe" && strings.Contains(message, "Task b:") {
			return `{"success": false}`
		}
		return reply(kind, message)
	}}
	o := quiet(m)
	o.NoReflect, o.NoObserve = false, false
	w := carryOut(t, o, "g", task("a"), task("b"), task("x", "b"), task("c"), task("d"), task("e"))
	var at []string
	for _, ev := range w.events {
		switch e := ev.Payload.(type) {
		case plan.TaskStart:
			at = append(at, e.ID)
		case plan.Reflected:
			at = append(at, "reflect")
		}
	}
	if !slices.Equal(at, []string{"a", "b", "c", "reflect", "d", "e"}) {
		t.Errorf("%v", at)
	}
}

// TestDeniedIsNotTriedAgain: not by recovering, not by unblocking, and not in
// another task.
func TestDeniedIsNotTriedAgain(t *testing.T) {
	for _, after := range []string{"I must not.", ""} {
		t.Run(after, func(t *testing.T) { testDenied(t, after) })
	}
}

// testDenied: after is what the model says to the denial.
func testDenied(t *testing.T, after string) {
	asked := 0
	write := tool(t, "write", tools.Writes, func(context.Context) (tools.Result, error) { return tools.Result{}, nil })
	m := &model{reply: func(kind, message string) string {
		switch {
		case kind == "observe":
			return `{"success": false, "unblocked": ["a"], "adjustments": {"add": [{"id": "again", "description": "do a"}]}}`
		case strings.HasPrefix(message, "do a"):
			return call("write")
		case strings.Contains(message, "<observation>"):
			return after
		}
		return reply(kind, message)
	}}
	o := quiet(m)
	o.NoRecover, o.NoObserve, o.Agent.MaxMalformed, o.Agent.Tools = false, false, 1, registry(t, write)
	o.Agent.Approve = func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
		asked++
		return agent.Decision{Verdict: agent.Deny}, nil
	}
	w := carryOut(t, o, "g", task("a"), task("b", "a"))
	if asked != 1 || w.statuses()["a"] != plan.Blocked || w.statuses()["b"] != plan.Blocked || !slices.Equal(w.steps(), []plan.Step{plan.StepSkip}) {
		t.Errorf("asked %d times, %v, recovered by %v: %s", asked, w.statuses(), w.steps(), w.state.Error)
	}
}

// TestStopAtTheQuestionAboutATask: it stops the plan, and is no advice. Nobody is
// asked about the other task, which failed as often.
func TestStopAtTheQuestionAboutATask(t *testing.T) {
	asked, asking := 0, make(chan struct{}, 2)
	o := quiet(&model{reply: func(string, string) string { return "" }})
	o.NoRecover, o.Workers, o.Agent.MaxMalformed = false, 2, 1
	o.AskUser = func(context.Context, string) (string, error) {
		if asked++; asked == 1 {
			<-asking
			<-asking
		}
		return "", plan.ErrStop
	}
	w := watch(func(yield func(agent.Event, error) bool) {
		for ev, err := range mustPlan(t, o).Run(t.Context(), nil, "g", []plan.Task{task("a"), task("b"), task("c")}) {
			if r, ok := ev.Payload.(plan.Recovery); ok && r.Step == plan.StepAsk {
				asking <- struct{}{}
			}
			yield(ev, err)
		}
	})
	if w.result.StopReason != agent.StopDenied || asked != 1 || w.err != nil || w.state.CurrentTask != "a" {
		t.Errorf("%s, asked %d times, at %q: %v", w.result.StopReason, asked, w.state.CurrentTask, w.err)
	}
	for id, s := range w.statuses() {
		if s != plan.Pending {
			t.Errorf("%s is %s", id, s)
		}
	}
}

// TestHistoryIsBounded: a model that says much makes the state no longer.
func TestHistoryIsBounded(t *testing.T) {
	o := quiet(&model{reply: func(kind, message string) string {
		if kind == "observe" {
			return `{"success": true, "learned": ["x"` + strings.Repeat(`, "x"`, 150) + `, "last"]}`
		}
		return reply(kind, message)
	}})
	o.NoObserve = false
	w := carryOut(t, o, "g", task("a"))
	if n := len(w.state.Learnings); n != 100 || w.state.Learnings[n-1] != "last" {
		t.Errorf("%d learnings: %v", n, w.state.Learnings)
	}
}

// TestObserverCannotMakeASuccess: a task that failed was no success, whatever
// the model says.
func TestObserverCannotMakeASuccess(t *testing.T) {
	o := quiet(&model{reply: func(kind, message string) string {
		if kind == "task" {
			return ""
		}
		return reply(kind, message)
	}})
	o.NoObserve, o.Agent.MaxMalformed = false, 1
	w := carryOut(t, o, "g", task("a"))
	seen := false
	for _, ev := range w.events {
		if p, ok := ev.Payload.(plan.Observed); ok {
			if seen = true; p.Success {
				t.Error("told as a success")
			}
		}
	}
	if !seen || w.statuses()["a"] != plan.Failed {
		t.Errorf("observed: %v, %v", seen, w.statuses())
	}
}

// TestPlanThatGrows has an observer that always adds a task: one with the same
// words is added once, and the limit of iterations is that of the plan's beginning.
func TestPlanThatGrows(t *testing.T) {
	n := 0
	for name, add := range map[string]func() string{
		"the same words": func() string { return "do more" },
		"other words":    func() string { n++; return fmt.Sprintf("do more of it, part %d", n) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{reply: func(kind, message string) string {
				if kind == "observe" {
					return fmt.Sprintf(`{"success": true, "adjustments": {"add": [%q]}}`, add())
				}
				return reply(kind, message)
			}}
			o := quiet(m)
			o.NoObserve = false
			w := carryOut(t, o, "g", task("a"), task("b"))
			if name == "the same words" {
				if !w.state.Success || len(w.state.Tasks) != 3 || w.state.Iteration != 3 {
					t.Errorf("%d iterations, %+v", w.state.Iteration, w.state.Tasks)
				}
				return
			}
			if w.result.StopReason != agent.StopIncomplete || w.state.Iteration != 10 || w.state.MaxIterations != 10 {
				t.Errorf("%s after %d iterations of %d", w.result.StopReason, w.state.Iteration, w.state.MaxIterations)
			}
		})
	}
}

// TestQuestionEndsThePlan: if the model cannot be asked what to do next, the tasks beside
// it are ended, and not waited for.
func TestQuestionEndsThePlan(t *testing.T) {
	m := &model{hanging: make(chan struct{}, 1)}
	m.reply = func(kind, message string) string {
		switch {
		case kind != "reason":
			return "hang"
		case len(m.asked("reason")) > 1:
			<-m.hanging
			return "fail"
		}
		return `{"selected_task_id": "a"}`
	}
	o := quiet(m)
	o.NoReason, o.Workers = false, 2
	w := carryOut(t, o, "g", task("a"), task("b"), task("c"))
	if w.result.StopReason != agent.StopModelError || w.statuses()["a"] != plan.Pending {
		t.Errorf("%+v, %v", w.result, w.statuses())
	}
}

// TestTasksBesideALimit: tasks that are under way when the plan reaches a limit come to
// their end. If one of them fails then, the others are ended.
func TestTasksBesideALimit(t *testing.T) {
	for end, want := range map[string]plan.Status{"did: do b": plan.Completed, "fail": plan.Pending} {
		synctest.Test(t, func(t *testing.T) {
			slow := tool(t, "slow", tools.Reads, func(ctx context.Context) (tools.Result, error) {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute): // b has ended long before
				}
				return tools.Result{Text: "slow is done"}, ctx.Err()
			})
			o := quiet(&model{reply: func(kind, message string) string {
				switch {
				case strings.HasPrefix(message, "do a"):
					return call("slow")
				case strings.HasPrefix(message, "do b"):
					return end
				}
				return reply(kind, message)
			}})
			o.Workers, o.MaxIterations, o.Agent.Tools = 3, 2, registry(t, slow)
			w := carryOut(t, o, "g", task("a"), task("b"), task("c"), task("d"))
			if got := w.statuses(); w.result.StopReason != agent.StopIncomplete || got["a"] != want || got["c"] != plan.Pending {
				t.Errorf("b says %q: %s, %v", end, w.result.StopReason, got)
			}
		})
	}
}
