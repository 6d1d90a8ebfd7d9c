package temporal_test

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/journal"
	"mylm/agent/plan"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// planner is a model that makes a plan of two tasks beside each other and a third behind
// both, and does each as its task says: with a call, and then with what came of it.
type planner struct {
	tasks string

	mu    sync.Mutex
	asked []string
}

const threeTasks = `{"tasks": [{"id": "a", "description": "read a"}, {"id": "b", "description": "write b"},
	{"id": "c", "description": "sum up", "dependencies": ["a", "b"]}]}`

func (m *planner) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		system, last := r.Messages[0].Text, r.Messages[len(r.Messages)-1].Text
		var text string
		switch {
		case strings.Contains(system, `{"tasks"`):
			text = m.tasks
		case strings.Contains(system, `{"success"`):
			text = `{"success": true, "learned": ["all is well"], "progress": "on"}`
		case strings.Contains(system, `{"progress"`):
			text = `{"progress": "on"}`
		case strings.Contains(last, " did "):
			text = "done with " + last[strings.Index(last, " did ")+5:][:1]
		case strings.HasPrefix(last, "read a"):
			text = call("read", "a")
		case strings.HasPrefix(last, "write b"):
			text = call("write", "b")
		default:
			text = "both are done"
		}
		m.mu.Lock()
		m.asked = append(m.asked, last)
		m.mu.Unlock()
		_ = yield(providers.Chunk{Text: text}, nil) && yield(providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 10, Output: 2}}, nil)
	}
}

// The result and the record of a plan are those of the same plan in a process, but for the
// sessions of its runs, which are apart.
func TestPlan(t *testing.T) {
	m := &planner{tasks: threeTasks}
	b := newBench(t, agent.Options{Model: m, Labels: map[string]string{"project": "x"}})
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all of it", Allow: tools.Writes, Options: plan.Options{Workers: 2}})
	if err := b.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var out temporal.Output
	if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopComplete {
		t.Fatalf("%+v, %v\n%s", out, err, b.store.text(t, "p"))
	}
	slices.Sort(b.ran)
	if ran := strings.Join(b.ran, ", "); ran != "read a, write b" {
		t.Errorf("ran %s", ran)
	}
	local := &store{}
	p, err := plan.New(plan.Options{Agent: agent.Options{Model: &planner{tasks: threeTasks}, Tools: new(bench).registry(t), Approve: agent.AllowAll, Recorder: local}, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	state, err := plan.Collect(p.Run(t.Context(), &agent.Session{ID: "p"}, "all of it", nil))
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.store.Open(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	saved, err := plan.Load(s)
	if err != nil || len(saved.Tasks) != 3 || out.Turns != state.Turns {
		t.Fatalf("%+v, %v; %d turns, in a process %d", saved, err, out.Turns, state.Turns)
	}
	for i, task := range saved.Tasks {
		if want := state.Tasks[i]; task.Status != want.Status || task.Result != want.Result {
			t.Errorf("%s is %s with %q, in a process %s with %q", task.ID, task.Status, task.Result, want.Status, want.Result)
		}
		if of := b.store.sessions[task.Session()]; len(of) == 0 || of[len(of)-1].Kind() != agent.EntryEnd {
			t.Errorf("the session %q of %s has %d entries", task.Session(), task.ID, len(of))
		}
	}
	for id, of := range b.store.sessions {
		if begins, ok := of[0].Payload.(agent.RunEntry); !ok || begins.Setup.Labels[journal.LabelPlan] != "p" || begins.Setup.Labels["project"] != "x" {
			t.Errorf("%s has the labels %v", id, begins.Setup.Labels)
		}
	}
	if got := b.store.text(t, "p"); !strings.HasSuffix(got, "reply "+state.Output+"\nend complete\n") {
		t.Errorf("the session of the plan is\n%s\nin a process it is\n%s", got, local.text(t, "p"))
	}
}

// A task that fails is tried again with the error in view, and a question whose answer
// cannot be read is asked again.
func TestPlanRecovers(t *testing.T) {
	m := &planner{tasks: "I would rather not."}
	b := newBench(t, agent.Options{Model: m, MaxTurns: 1})
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "read a", Allow: tools.Writes})
	var out temporal.Output
	if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopIncomplete || out.Limit == nil {
		t.Fatalf("%+v, %v\n%s", out, err, b.store.text(t, "p"))
	}
	if text := b.store.text(t, "p"); strings.Count(text, "event\n") < 4 { // three replies that were no plan, and a further attempt
		t.Error(text)
	}
	again := 0
	for _, prompt := range m.asked {
		if strings.Contains(prompt, "max_turns") {
			again++
		}
	}
	if again == 0 {
		t.Errorf("asked\n%s", strings.Join(m.asked, "\n----\n"))
	}
}

// Each session of a task is in the record before anything of it is done, also that of a
// further attempt.
func TestPlanNamesSessions(t *testing.T) {
	b := newBench(t, agent.Options{Model: &planner{}})
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "read a", TaskTurns: 1, Options: plan.Options{NoPlan: true, NoObserve: true, NoReflect: true}})
	if err := b.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, e := range b.store.sessions["p"] {
		var step struct{ Task plan.Task }
		if c, ok := e.Payload.(agent.CustomEntry); ok && c.Type == plan.EntryStep && json.Unmarshal(c.Args, &step) == nil && step.Task.Status == plan.InProgress {
			named[step.Task.Session()] = true
		}
	}
	for id := range b.store.sessions {
		if id != "p" && !named[id] || len(b.store.sessions) < 3 {
			t.Errorf("the session %s of %d is not named where it begins", id, len(b.store.sessions))
		}
	}
}

// adding is a planner that adds a task when it sees the first result.
type adding struct{ *planner }

func (m adding) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if system, last := r.Messages[0].Text, r.Messages[len(r.Messages)-1].Text; strings.Contains(system, `{"success"`) && strings.Contains(last, "done with a") {
		return scripted.Say(`{"success": true, "progress": "on", "adjustments": {"add": [{"id": "d", "description": "sum up again", "dependencies": ["b"]}]}}`).Generate(ctx, r)
	}
	return m.planner.Generate(ctx, r)
}

// A plan that is changed names the sessions of the tasks that are under way.
func TestPlanChangedNamesSessions(t *testing.T) {
	b := newBench(t, agent.Options{Model: adding{&planner{tasks: threeTasks}}})
	b.decideLater(t, agent.Allow)
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Options: plan.Options{Workers: 2}})
	if err := b.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range b.store.sessions["p"] {
		var p plan.Planned
		if c, ok := e.Payload.(agent.CustomEntry); ok && c.Type == plan.EntryPlan && json.Unmarshal(c.Args, &p) == nil {
			for _, task := range p.Tasks {
				if task.Status == plan.InProgress {
					found = true
					if b.store.sessions[task.Session()] == nil {
						t.Errorf("the plan that was changed names the session %q of %s", task.Session(), task.ID)
					}
				}
			}
		}
	}
	if !found {
		t.Errorf("no plan was changed while a task was under way\n%s", b.store.text(t, "p"))
	}
}

// A plan that is only to be made is not carried out, and what a workflow cannot do is an error.
func TestPlanOnly(t *testing.T) {
	b := newBench(t, agent.Options{Model: &planner{tasks: threeTasks}})
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Allow: tools.Writes, PlanOnly: true})
	var out temporal.Output
	if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopComplete || out.Turns != 1 || len(b.ran) > 0 {
		t.Errorf("%+v, %v; ran %v", out, err, b.ran)
	}
	for what, o := range map[string]plan.Options{"Explore": {Explore: true}, "MaxTurns": {MaxTurns: 501}} {
		b = newBench(t, agent.Options{Model: &planner{tasks: threeTasks}})
		b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Allow: tools.Writes, Options: o})
		if err := b.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), what) || len(b.ran) > 0 {
			t.Errorf("%v; ran %v", err, b.ran)
		}
	}
}

// A plan that is cancelled cancels its tasks, and records its end.
func TestPlanCancelled(t *testing.T) {
	b := newBench(t, agent.Options{Model: &planner{tasks: threeTasks}})
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(temporal.SignalCancel, "cancelled by somebody")
		b.CancelWorkflow()
	}, time.Hour)
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Options: plan.Options{Workers: 2}}) // write b waits for a decision
	entries := b.store.sessions["p"]
	if end, _ := entries[len(entries)-1].Payload.(agent.EndEntry); end.Error != "cancelled by somebody" {
		t.Errorf("%+v", end)
	}
	if err := b.GetWorkflowError(); err == nil || !strings.HasSuffix(b.store.text(t, "p"), "end interrupted\n") {
		t.Errorf("%v\n%s", err, b.store.text(t, "p"))
	}
	ends := 0
	for id := range b.store.sessions {
		if strings.HasSuffix(b.store.text(t, id), "end interrupted\n") {
			ends++
		}
	}
	if ends != 2 {
		t.Errorf("%d sessions are interrupted, and not those of the plan and of b", ends)
	}
}

// broken is a planner whose task a ends with a fault that stays, after its call.
type broken struct{ *planner }

func (m broken) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if strings.Contains(r.Messages[len(r.Messages)-1].Text, " did a") {
		return func(yield func(providers.Chunk, error) bool) {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.Auth, Message: "a fault"})
		}
	}
	return m.planner.Generate(ctx, r)
}

// A plan that has failed cancels its other tasks: a call that waits is not made any more.
func TestPlanFails(t *testing.T) {
	b := newBench(t, agent.Options{Model: broken{&planner{tasks: threeTasks}}})
	b.decideLater(t, agent.Allow)
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Options: plan.Options{Workers: 2}})
	var out temporal.Output
	if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopModelError || out.Fault == nil {
		t.Errorf("%+v, %v", out, err)
	}
	if ran := strings.Join(b.ran, ", "); ran != "read a" {
		t.Errorf("ran %s", ran)
	}
}

// Who says stop to a call of a task stops the plan.
func TestPlanStopped(t *testing.T) {
	b := newBench(t, agent.Options{Model: &planner{tasks: threeTasks}})
	b.decideLater(t, agent.Stop)
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Options: plan.Options{Workers: 2}})
	var out temporal.Output
	if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopDenied || !strings.HasSuffix(b.store.text(t, "p"), "end denied\n") {
		t.Errorf("%+v, %v\n%s", out, err, b.store.text(t, "p"))
	}
}

// decideLater decides an hour later on the calls of tasks that wait.
func (b *bench) decideLater(t *testing.T, v agent.Verdict) {
	b.waitingLater(func(id string, q *agent.ApprovalRequest) {
		err := b.UpdateWorkflowByID(id, temporal.UpdateDecide, id, &testsuite.TestUpdateCallback{OnReject: func(err error) { t.Error(err) }},
			temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: v}})
		if err != nil {
			t.Error(err)
		}
	})
}

// waitingLater calls a function an hour later with the calls of tasks that wait.
func (b *bench) waitingLater(f func(id string, q *agent.ApprovalRequest)) {
	b.RegisterDelayedCallback(func() {
		b.store.mu.Lock()
		ids := slices.Sorted(maps.Keys(b.store.sessions))
		b.store.mu.Unlock()
		for _, id := range ids {
			var q *agent.ApprovalRequest
			if value, err := b.QueryWorkflowByID(id, temporal.QueryWaiting); err == nil && value.Get(&q) == nil && q != nil {
				f(id, q)
			}
		}
	}, time.Hour)
}

// A task whose run is cancelled by itself interrupts the plan, and what it has used counts.
func TestPlanTaskCancelled(t *testing.T) {
	m := &planner{tasks: threeTasks}
	b := newBench(t, agent.Options{Model: m})
	var cancelled string
	b.waitingLater(func(id string, _ *agent.ApprovalRequest) {
		cancelled = id
		if err := b.SignalWorkflowByID(id, temporal.SignalCancel, "by somebody"); err != nil {
			t.Error(err)
		}
		b.CancelWorkflowByID(id, "")
	})
	b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Options: plan.Options{Workers: 2}})
	var out temporal.Output
	if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopInterrupted || out.Error != "the run "+cancelled+", a part of the plan, was cancelled: by somebody" {
		t.Errorf("%+v, %v", out, err)
	}
	if out.Turns != len(m.asked) {
		t.Errorf("%d turns, but the model was asked %d times", out.Turns, len(m.asked))
	}
}

// On a real server tasks are child workflows, one of which waits for a decision while the
// other goes on, and all histories run again.
func TestServerPlan(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	b := &bench{store: store}
	runs, err := temporal.New(agent.Options{Model: &planner{tasks: threeTasks}, Tools: b.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, c, runs).Stop()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "p", TaskQueue: "agents"}, temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all", Prefix: "team/", Options: plan.Options{Workers: 2}})
	if err != nil {
		t.Fatal(err)
	}
	child, q := waitingTask(t, c, run)
	decide(t, c, child, temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: agent.Allow}})
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.StopReason != agent.StopComplete || !strings.HasPrefix(child, "team/") {
		t.Fatalf("%+v, %v, with %s", out, err, child)
	}
	h := historyOf(t, c, "p", run.GetRunID())
	t.Logf("%d events", len(h.Events))
	keep(t, h, planned)
	runsAgain(t, runs, h)
}

// What a task has used whose run is cancelled by itself reaches the plan through a server.
func TestServerPlanTaskCancelled(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	b := &bench{store: store}
	runs, err := temporal.New(agent.Options{Model: &planner{tasks: `{"tasks": [{"id": "b", "description": "write b"}]}`}, Tools: b.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, c, runs).Stop()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "p", TaskQueue: "agents"}, temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all"})
	if err != nil {
		t.Fatal(err)
	}
	child, _ := waitingTask(t, c, run)
	if err := c.CancelWorkflow(t.Context(), child, ""); err != nil {
		t.Fatal(err)
	}
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.StopReason != agent.StopInterrupted || out.Turns != 2 || !strings.Contains(out.Error, child) {
		t.Errorf("%+v, %v, with %s", out, err, child)
	}
}

// waitingTask is the workflow of a plan's task whose call waits for a decision, and the call.
func waitingTask(t *testing.T, c client.Client, run client.WorkflowRun) (id string, q *agent.ApprovalRequest) {
	for e := range following(t, c, run.GetID(), run.GetRunID()) {
		x := e.GetChildWorkflowExecutionStartedEventAttributes().GetWorkflowExecution()
		if x == nil {
			continue
		}
		if q := asked(t, c, x.WorkflowId, x.RunId); q != nil {
			return x.WorkflowId, q
		}
	}
	t.Fatal("no task waits for a decision")
	return "", nil
}

// following are the events of a workflow until it is closed, as they come.
func following(t *testing.T, c client.Client, id, run string) iter.Seq[*history.HistoryEvent] {
	return func(yield func(*history.HistoryEvent) bool) {
		for events := c.GetWorkflowHistory(t.Context(), id, run, true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			e, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// asked is the call of a workflow that waits for a decision, nil if it is closed without one.
func asked(t *testing.T, c client.Client, id, run string) *agent.ApprovalRequest {
	for e := range following(t, c, id, run) {
		if e.EventType != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		var q *agent.ApprovalRequest
		if value, err := c.QueryWorkflow(t.Context(), id, run, temporal.QueryWaiting); err == nil && value.Get(&q) == nil && q != nil {
			return q
		}
	}
	return nil
}
