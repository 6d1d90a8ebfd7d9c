package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/tools"
)

// gate lets a number of callers in together.
type gate struct {
	mu     sync.Mutex
	inside int
	most   int
}

func TestSideBySide(t *testing.T) {
	arrived, open := make(chan struct{}, 10), make(chan struct{})
	m := &model{reply: func(kind, message string) string {
		arrived <- struct{}{}
		<-open
		return reply(kind, message)
	}}
	go func() { // all four are there before one is answered
		for range 4 {
			<-arrived
		}
		close(open)
	}()
	o := quiet(m)
	o.Workers = 4
	w := carryOut(t, o, "g", task("a"), task("b"), task("c"), task("d"), task("e", "a", "b", "c", "d"))
	if !w.state.Success || !strings.HasPrefix(w.state.Output, "## do a\n\ndid: do a\n\n## do b") {
		t.Errorf("%+v", w.state)
	}
	last := map[string]int{} // events of each run keep their order
	for _, ev := range w.events {
		if ev.Seq <= last[ev.Run] {
			t.Errorf("event %d of the run %s after %d", ev.Seq, ev.Run, last[ev.Run])
		}
		last[ev.Run] = ev.Seq
	}
}

func TestAlone(t *testing.T) {
	g := gate{}
	in := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inside += n
		g.most = max(g.most, g.inside)
	}
	write := tool(t, "write", tools.Writes, func(context.Context) (tools.Result, error) { return tools.Result{}, nil })
	m := &model{reply: func(kind, message string) string {
		in(1)
		defer in(-1)
		return reply(kind, message)
	}}
	o := quiet(m)
	o.Workers, o.Agent.Tools = 4, registry(t, write)
	o.Alone = func(r *tools.Registry) bool { return r.Lookup("write") != nil }
	w := carryOut(t, o, "g", task("a"), task("b"), task("c"), task("d"))
	if !w.state.Success || g.most != 1 {
		t.Errorf("%d at once, %v", g.most, w.statuses())
	}
}

func TestInterruptedWithFourWorkersBusy(t *testing.T) {
	m := &model{reply: func(kind, message string) string { return "hang" }, hanging: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 4 {
			<-m.hanging
		}
		cancel()
	}()
	o := quiet(m)
	o.Workers = 4
	p, err := plan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(p.Run(ctx, nil, "g", []plan.Task{task("a"), task("b"), task("c"), task("d"), task("e")}))
	if w.result.StopReason != agent.StopInterrupted || !errors.Is(w.err, context.Canceled) {
		t.Errorf("%s, %v", w.result.StopReason, w.err)
	}
	if w.state.CurrentTask != "a" {
		t.Errorf("the current task is %q", w.state.CurrentTask)
	}
	for id, s := range w.statuses() {
		if s != plan.Pending {
			t.Errorf("%s is %s", id, s)
		}
	}
}

func TestConsumerLeaves(t *testing.T) {
	m := &model{reply: func(kind, message string) string { return "hang" }, hanging: make(chan struct{}, 4)}
	o := quiet(m)
	o.Workers = 2
	p, err := plan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for ev := range p.Run(t.Context(), nil, "g", []plan.Task{task("a"), task("b"), task("c")}) {
		if ev.Payload.Type() == "turn_start" {
			<-m.hanging
			break // and Run returns, which is what is tested
		}
	}
}

func TestCrashAndResume(t *testing.T) {
	counted := 0
	count := tool(t, "count", tools.Writes, func(context.Context) (tools.Result, error) { counted++; return tools.Result{Text: "42"}, nil })
	answers := func(kind, message string) string {
		switch {
		case kind == "plan":
			return twoTasks
		case strings.HasPrefix(message, "count") && !strings.Contains(message, "<observation>"):
			return call("count")
		case strings.Contains(message, "<observation>"):
			return "it is 42"
		}
		return reply(kind, message)
	}
	options := func(rec agent.Recorder, m *model) plan.Options {
		return plan.Options{Agent: agent.Options{Model: m, Tools: registry(t, count), Recorder: rec, Approve: agent.AllowAll, Tries: 1}, NoObserve: true}
	}
	whole := &memory{}
	if w := watch(mustPlan(t, options(whole, &model{reply: answers})).Run(t.Context(), nil, "how many?", nil)); !w.state.Success || counted != 1 {
		t.Fatalf("%+v", w.state)
	}
	entries := whole.all()
	for n := 2; n < len(entries); n++ { // the process dies after each entry
		counted = 0
		session, err := agent.LoadSession("s", entries[:n])
		if err != nil {
			t.Fatal(err)
		}
		begun := slices.ContainsFunc(entries[:n], func(e agent.Entry) bool { return own(e, plan.EntryTask).Effect != nil })
		m := &model{reply: answers}
		rest := &memory{entries: entries[:n:n]}
		w := watch(mustPlan(t, options(rest, m)).Resume(t.Context(), session))
		done := slices.ContainsFunc(entries[:n], func(e agent.Entry) bool {
			args := string(own(e, plan.EntryStep).Args)
			return strings.Contains(args, `"id":"b"`) && strings.Contains(args, `"completed"`)
		})
		if done {
			if !errors.Is(w.err, agent.ErrComplete) {
				t.Errorf("after %d entries: %v", n, w.err)
			}
			continue
		}
		if !w.state.Success {
			t.Errorf("after %d entries: %+v, %v", n, w.state, w.err)
		}
		if begun && counted != 0 {
			t.Errorf("after %d entries: what was done was done again", n)
		}
		planned := slices.ContainsFunc(entries[:n], func(e agent.Entry) bool { return e.Kind() == plan.EntryPlan })
		if planned != (len(m.asked("plan")) == 0) {
			t.Errorf("after %d entries: planned is %v, and the planner was asked %d times", n, planned, len(m.asked("plan")))
		}
		for i, e := range rest.all() {
			if e.Seq != i+1 {
				t.Fatalf("after %d entries: entry %d has the number %d", n, i+1, e.Seq)
			}
		}
	}
}

func mustPlan(t *testing.T, o plan.Options) *plan.Planner {
	t.Helper()
	p, err := plan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLoad(t *testing.T) {
	rec := &memory{}
	o := quiet(&model{reply: reply})
	o.Agent.Recorder = rec
	carryOut(t, o, "the goal", task("a"), task("b", "a"))
	session, err := agent.LoadSession("s", rec.all())
	if err != nil {
		t.Fatal(err)
	}
	saved, err := plan.Load(session)
	if tasks := saved.Tasks; err != nil || saved.Goal != "the goal" || len(tasks) != 2 || tasks[1].Status != plan.Completed || tasks[1].Result != "did: do b" {
		t.Errorf("%+v, %v", saved, err)
	}
	if !saved.Options.NoObserve || saved.Options.Workers != 1 || plan.Unfinished(session) {
		t.Errorf("%+v, unfinished: %v", saved.Options, plan.Unfinished(session))
	}
	if session.Unfinished() {
		t.Error("the session counts as unfinished")
	}
	if text := fmt.Sprint(session.Messages()); !strings.Contains(text, "the goal") || !strings.Contains(text, "did: do b") {
		t.Errorf("a further question would see %s", text)
	}
	rec = &memory{}
	o.Agent.Recorder, o.Agent.Model, o.Agent.MaxTurns = rec, &model{reply: func(string, string) string { return call("nothing") }}, 1
	carryOut(t, o, "the goal", task("a"), task("b", "a"))
	if session, err = agent.LoadSession("s", rec.all()); err != nil {
		t.Fatal(err)
	}
	saved, err = plan.Load(session)
	if tasks := saved.Tasks; err != nil || tasks[0].Status != plan.Failed || tasks[1].Status != plan.Blocked || !plan.Unfinished(session) {
		t.Errorf("%+v, %v", tasks, err)
	}
	if _, err := plan.Load(agent.NewSession()); !errors.Is(err, plan.ErrNoPlan) {
		t.Errorf("an empty session: %v", err)
	}
}

func TestRecordThatFails(t *testing.T) {
	o := quiet(&model{reply: reply})
	o.Agent.Recorder = &memory{full: 5}
	w := carryOut(t, o, "g", task("a"), task("b"))
	if w.result.StopReason != agent.StopInternal || w.err == nil || !strings.Contains(w.err.Error(), "the disk is full") {
		t.Errorf("%+v, %v", w.result, w.err)
	}
}

// TestResumeAfterIterations: a plan that ended at its limit of iterations has
// the same number again.
func TestResumeAfterIterations(t *testing.T) {
	rec := &memory{}
	o := quiet(&model{reply: reply})
	o.Agent.Recorder, o.MaxIterations = rec, 1
	p := mustPlan(t, o)
	watch(p.Run(t.Context(), nil, "g", []plan.Task{task("a"), task("b")}))
	session, err := agent.LoadSession("s", rec.all())
	if err != nil {
		t.Fatal(err)
	}
	if w := watch(p.Resume(t.Context(), session)); !w.state.Success || w.state.Iteration != 2 {
		t.Errorf("%+v", w.state)
	}
}

// TestAloneBesideOthers: a task that has to be alone waits for those that need
// not be, and they for it.
func TestAloneBesideOthers(t *testing.T) {
	nothing := func(context.Context) (tools.Result, error) { return tools.Result{}, nil }
	o := quiet(&model{reply: reply})
	o.Workers, o.Agent.Tools = 4, registry(t, tool(t, "write", tools.Writes, nothing), tool(t, "look", tools.Reads, nothing))
	o.Alone = func(r *tools.Registry) bool { return r.Lookup("write") != nil }
	a, b, c := task("a"), task("b"), task("c")
	a.Tools, b.Tools = []string{"look"}, []string{"look"}
	w := carryOut(t, o, "g", task("z"), a, b, c)
	running := map[string]bool{}
	together := false
	for _, ev := range w.events {
		switch e := ev.Payload.(type) {
		case plan.TaskStart:
			running[e.ID] = true
			together = together || running["a"] && running["b"]
		case plan.TaskEnd:
			delete(running, e.ID)
		}
		if (running["c"] || running["z"]) && len(running) > 1 {
			t.Fatalf("they run side by side: %v", running)
		}
	}
	if !together || !w.state.Success {
		t.Errorf("a and b were not side by side, or %v", w.statuses())
	}
}

// TestFailedTaskBeginsAnew: a failed task is not resumed where it failed.
func TestFailedTaskBeginsAnew(t *testing.T) {
	rec := &memory{}
	m := &model{reply: func(string, string) string { return call("nothing") }}
	o := quiet(m)
	o.Agent.Recorder, o.Agent.MaxTurns = rec, 1
	p := mustPlan(t, o)
	if w := watch(p.Run(t.Context(), nil, "g", []plan.Task{task("a")})); w.statuses()["a"] != plan.Failed {
		t.Fatalf("%v", w.statuses())
	}
	session, err := agent.LoadSession("s", rec.all())
	if err != nil {
		t.Fatal(err)
	}
	m.reply = reply
	w := watch(p.Resume(t.Context(), session))
	asked := m.asked("task")
	if last := asked[len(asked)-1]; !w.state.Success || !strings.HasPrefix(last, "do a\n") {
		t.Errorf("%v; asked\n%s", w.statuses(), last)
	}
}

// TestResumeTakesUpWhatWasGivenUp: what the model dropped, and what was denied.
func TestResumeTakesUpWhatWasGivenUp(t *testing.T) {
	rec := &memory{}
	m := &model{reply: func(kind, message string) string {
		switch {
		case kind == "observe" && strings.Contains(message, "Task a:"):
			return `{"success": true, "adjustments": {"drop": ["b"]}}`
		case strings.HasPrefix(message, "do c"):
			return call("write")
		}
		return reply(kind, message)
	}}
	o := quiet(m)
	o.NoObserve, o.NoRecover, o.Agent.Recorder = false, false, rec
	o.Agent.Tools = registry(t, tool(t, "write", tools.Writes, func(context.Context) (tools.Result, error) { return tools.Result{}, nil }))
	w := watch(mustPlan(t, o).Run(t.Context(), nil, "g", []plan.Task{task("a"), task("b"), task("c")})) // writing is denied
	if w.result.StopReason != agent.StopIncomplete || !strings.Contains(w.state.Error, "left: b (dropped), c (blocked)") {
		t.Fatalf("%+v", w.state)
	}
	session, err := agent.LoadSession("s", rec.all())
	if err != nil {
		t.Fatal(err)
	}
	o.Agent.Approve = agent.AllowAll
	w = watch(mustPlan(t, o).Resume(t.Context(), session))
	if !w.state.Success {
		t.Errorf("%+v", w.state)
	}
	for _, task := range w.state.Tasks {
		if len(task.Metadata) != 1 {
			t.Errorf("%s remembers %v", task.ID, task.Metadata)
		}
	}
}

// TestRefusedWithRunner: what does not work with a Runner is refused, and not left out.
func TestRefusedWithRunner(t *testing.T) {
	o := quiet(&model{reply: reply})
	o.Runner = struct{ plan.Runner }{}
	for name, set := range map[string]func(*plan.Options){
		"Explore": func(o *plan.Options) { o.Explore = true },
		"AskUser": func(o *plan.Options) { o.AskUser = func(context.Context, string) (string, error) { return "", nil } },
		"Agree": func(o *plan.Options) {
			o.Agree = func(context.Context, plan.Planned) ([]plan.Task, error) { return nil, nil }
		},
	} {
		bad := o
		set(&bad)
		if _, err := plan.New(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rec := &memory{}
	here := quiet(&model{reply: func(string, string) string { return "fail" }})
	here.Agent.Recorder = rec
	carryOut(t, here, "g", task("a"))
	session, err := agent.LoadSession("s", rec.all())
	if err != nil {
		t.Fatal(err)
	}
	if w := watch(mustPlan(t, o).Resume(t.Context(), session)); w.err == nil || !strings.Contains(w.err.Error(), "not resumed") || len(w.events) > 0 {
		t.Errorf("resumed: %v, %v", w.err, w.events)
	}
}
