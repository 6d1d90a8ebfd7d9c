package temporal_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/plan"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// copies are names, and what was called in them.
type copies struct {
	mu    sync.Mutex
	made  map[string]*bench
	gone  []string // names that were removed
	wrong error    // of Make
}

func (c *copies) Make(_ context.Context, name string, of workflow.Execution) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong != nil {
		return "", c.wrong
	}
	if c.made == nil {
		c.made = map[string]*bench{}
	}
	if c.made[name] == nil {
		c.made[name] = &bench{}
	}
	return "/copies/" + name + " of " + of.ID, nil
}

// names are those of the copies that were made.
func (c *copies) names() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.made {
		all = append(all, name)
	}
	return all
}

func (c *copies) find(name string) (*bench, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.made[name]; b != nil {
		return b, nil
	}
	return nil, temporal.ErrNoCopy
}

func (c *copies) Tools(name string) (*tools.Registry, error) {
	b, err := c.find(name)
	if err != nil {
		return nil, err
	}
	return b.tools()
}

func (c *copies) Changes(_ context.Context, name string) (json.RawMessage, error) {
	b, err := c.find(name)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ran) == 0 {
		return nil, nil
	}
	return json.Marshal(strings.Join(b.ran, ", "))
}

func (c *copies) Remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.made, name)
	c.gone = append(c.gone, name)
	return nil
}

// inCopies has the runs of a bench work in copies.
func (b *bench) inCopies(t *testing.T) *copies {
	all := &copies{}
	b.runs.ToolQueue, b.runs.CopyQueue, b.runs.Copies = "agents/tools", "agents/copies", all
	once := registry{b, map[string]bool{"mylm.tool": true}}
	b.runs.RegisterTools(once)
	b.runs.RegisterCopies(once)
	return all
}

// registry is a bench that takes what it does not have.
type registry struct {
	*bench
	has map[string]bool
}

func (r registry) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	if !r.has[o.Name] {
		r.has[o.Name] = true
		r.bench.RegisterActivityWithOptions(a, o)
	}
}

// losing is a model that loses the copies of its run.
type losing struct {
	providers.Model
	all *copies
}

func (m *losing) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	for _, name := range m.all.names() {
		_ = m.all.Remove(name)
	}
	return m.Model.Generate(ctx, r)
}

// changed is what the entry before the end of a session says of its copy.
func (s *store) changed(t *testing.T, id string) (args, failed string) {
	t.Helper()
	all := s.sessions[id]
	if n := len(all); n < 2 || all[n-1].Kind() != agent.EntryEnd || all[n-1].Seq != n || all[n-2].Seq != n-1 {
		t.Fatalf("the session %s is\n%s", id, s.text(t, id))
	}
	e, _ := all[len(all)-2].Payload.(agent.CustomEntry)
	return string(e.Args), e.Error
}

// Each run calls its tools in a copy of its own, and its changes are recorded before its end.
func TestCopies(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("read", "a"), call("write", "b"), "done"), Environment: &prompts.Environment{Directory: "/shared"}})
	all := b.inCopies(t)
	out := b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
	if out.StopReason != agent.StopComplete || out.Entries != len(b.store.sessions["s"]) || len(b.ran) > 0 {
		t.Errorf("%+v, ran in the workspace: %v", out, b.ran)
	}
	if args, _ := b.store.changed(t, "s"); args != `"read a, write b"` {
		t.Errorf("changed %s", args)
	}
	if len(all.gone) != 1 || len(all.made) > 0 {
		t.Errorf("removed %v, left %v", all.gone, all.names())
	}
	system := b.store.sessions["s"][0].Payload.(agent.RunEntry).System
	if !strings.Contains(system, "/copies/"+all.gone[0]) || strings.Contains(system, "/shared") {
		t.Error(system)
	}
}

// A run that has changed nothing has no entry about it, and one that is cancelled has.
func TestCopiesEnd(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say("done")})
	all := b.inCopies(t)
	b.run(t, temporal.Input{Prompt: "go"})
	if text := b.store.text(t, "s"); len(all.gone) != 1 || strings.Contains(text, "changes") {
		t.Error(text)
	}
	b = newBench(t, agent.Options{Model: scripted.Say(call("read", "a"), call("write", "b"))})
	all = b.inCopies(t)
	b.RegisterDelayedCallback(b.CancelWorkflow, time.Hour)
	b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
	if args, _ := b.store.changed(t, "s"); args != `"read a"` || len(all.gone) != 1 {
		t.Errorf("changed %s, removed %v", args, all.gone)
	}
}

// A run whose copy, or the worker that has it, is gone says so and ends.
func TestCopyGone(t *testing.T) {
	late := sdk.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	for name, tt := range map[string]struct {
		lose func(b *bench, m *losing)
		want string
	}{
		"the copy": {func(b *bench, m *losing) { m.all = b.runs.Copies.(*copies) }, "is not there any more: "},
		"the worker": {func(b *bench, _ *losing) {
			b.OnActivity("mylm.tool", mock.Anything, mock.Anything).Return(tools.Outcome{}, late)
			b.OnActivity("mylm.leave", mock.Anything, mock.Anything).Return(false, late)
		}, "has taken no call for 5m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &losing{Model: scripted.Say(call("write", "b"), "and on"), all: &copies{}}
			b := newBench(t, agent.Options{Model: m})
			b.inCopies(t)
			tt.lose(b, m)
			out := b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
			text := b.store.text(t, "s")
			if out.StopReason != agent.StopInternal || !strings.Contains(out.Error, tt.want) || strings.Contains(text, "and on") || strings.Contains(text, "unknown=true") {
				t.Errorf("%+v\n%s", out, text)
			}
			if _, failed := b.store.changed(t, "s"); !strings.Contains(failed, tt.want) {
				t.Errorf("of the changes: %s", failed)
			}
		})
	}
}

// A workspace that cannot be copied anywhere is no reason to wait.
func TestNoCopy(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say("done")})
	b.inCopies(t).wrong = permanent{}
	b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
	if err := b.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "the schema is older") {
		t.Error(err)
	}
}

// The tasks of a plan share a copy, whose changes are recorded before the end of the plan. A
// plan that is only made needs none.
func TestPlanCopies(t *testing.T) {
	for _, only := range []bool{false, true} {
		b := newBench(t, agent.Options{Model: &planner{tasks: threeTasks}})
		all := b.inCopies(t)
		b.ExecuteWorkflow(temporal.PlanName, temporal.PlanInput{Session: "p", Goal: "all of it", Allow: tools.Writes, PlanOnly: only})
		var out temporal.Output
		if err := b.GetWorkflowResult(&out); err != nil || out.StopReason != agent.StopComplete || len(b.ran) > 0 {
			t.Fatalf("%+v, %v, ran in the workspace: %v", out, err, b.ran)
		}
		if only {
			if len(all.made)+len(all.gone) > 0 {
				t.Errorf("copies %v and %v were made", all.names(), all.gone)
			}
			continue
		}
		if args, failed := b.store.changed(t, "p"); args != `"read a, write b"` || len(all.gone) != 1 {
			t.Errorf("changed %s %s, removed %v", args, failed, all.gone)
		}
		s, err := b.store.Open(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if saved, err := plan.Load(s); err != nil || saved.Tasks[2].Status != plan.Completed {
			t.Errorf("%+v, %v", saved, err)
		}
	}
}

// On a real server the calls of a run stay with the worker that has made its copy, also
// when that is started again, and those of a plan; the histories run again.
func TestServerCopies(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	here := &bench{}
	all := []*copies{{}, {}}
	says := []string{call("read", "a"), call("write", "b"), call("write", "c"), "It is done."}
	var runs []*temporal.Runs
	var own []worker.Worker
	for i, name := range []string{"agents/copies/one", "agents/copies/two"} {
		r, err := temporal.New(agent.Options{Model: scripted.Say(says...), Tools: here.registry(t)}, store)
		if err != nil {
			t.Fatal(err)
		}
		r.ToolQueue, r.CopyQueue, r.Copies = "agents/tools", name, all[i]
		defer workTools(t, c, r).Stop()
		own = append(own, workCopies(t, c, r))
		runs = append(runs, r)
	}
	defer work(t, c, runs[0]).Stop()
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
	for range 2 {
		q := waiting(t, c, "s")
		i := 0 // of the worker with the copy
		if len(all[1].names()) > 0 {
			i = 1
		}
		own[i].Stop()
		decide(t, c, "s", temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: agent.Allow}})
		own[i] = workCopies(t, c, runs[i])
	}
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.StopReason != agent.StopComplete || len(here.ran) > 0 {
		t.Fatalf("%+v, %v, ran in the workspace: %v\n%s", out, err, here.ran, store.text(t, "s"))
	}
	if args, failed := store.changed(t, "s"); args != `"read a, write b, write c"` {
		t.Errorf("changed %s %s", args, failed)
	}
	h := historyOf(t, c, "s", run.GetRunID())
	keep(t, h, copied)
	runsAgain(t, runs[1], h)
	for _, w := range own {
		w.Stop()
	}
}

// workCopies starts a worker that calls tools in its copies.
func workCopies(t *testing.T, c client.Client, runs *temporal.Runs) worker.Worker {
	return started(t, worker.New(c, runs.CopyQueue, worker.Options{Identity: "test", WorkerStopTimeout: time.Second, DisableWorkflowWorker: true}), runs.RegisterCopies)
}
