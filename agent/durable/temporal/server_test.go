package temporal_test

import (
	"context"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

var record = flag.Bool("record", false, "write the histories in testdata again")

// The recorded histories that are written again, with decisions and of a run that another
// execution began. Others are of earlier versions.
const (
	recorded  = "testdata/closing.json" // with what the run leaves
	continued = "testdata/local-continued.json"
	apart     = "testdata/queues.json"     // of a run whose tools were called by other workers
	planned   = "testdata/local-plan.json" // of a plan with tasks beside each other
	copied    = "testdata/copies.json"     // of a run in a copy of the workspace
	first     = "testdata/history.json"    // without the settings of its run
)

// script is that of the recorded run: what it asks for is repeated when it is replayed.
func script(t *testing.T, store *store) (*bench, *temporal.Runs) {
	b := &bench{store: store}
	m := scripted.Say("I look. "+call("read", "a"), call("write", "b"), call("write", "c"), "It is done.")
	runs, err := temporal.New(agent.Options{Model: m, Tools: b.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	return b, runs
}

// The recorded histories run again and ask for the same, those of earlier versions too.
func TestReplay(t *testing.T) {
	_, runs := script(t, &store{})
	replayer := worker.NewWorkflowReplayer()
	runs.Register(workflows{replayer})
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		runs.Ended = endedOf(file)
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Histories run again on a worker that has become another one: with longer notes of a
// project, with fewer turns, and with tools that say something else about the same calls,
// as those do that write what is already written.
func TestReplayElsewhere(t *testing.T) {
	read, err := tools.New("write", "It only reads.", tools.Reads, new(bench).called("write"))
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(read)
	if err != nil {
		t.Fatal(err)
	}
	notes := []prompts.Section{{Title: "PROJECT", Text: strings.Repeat("Use the tools of the house. ", 3000)}}
	other, err := temporal.New(agent.Options{Model: scripted.Say("x"), Tools: registry, MaxTurns: 2, Sections: notes}, &store{})
	if err != nil {
		t.Fatal(err)
	}
	replayer := worker.NewWorkflowReplayer()
	other.Register(workflows{replayer})
	for _, file := range []string{recorded, continued, apart, planned, copied, "testdata/local.json", "testdata/settings.json", "testdata/settings-continued.json", "testdata/plan.json"} {
		other.Ended = endedOf(file)
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, first); err == nil {
		t.Error("a history without settings passes as well")
	}
}

// endedOf is what the workers of a recorded history were told of its end with.
func endedOf(file string) func(context.Context, *agent.Session, agent.Result) error {
	if file != recorded {
		return nil
	}
	return func(context.Context, *agent.Session, agent.Result) error { return nil }
}

// workflows takes no activity.
type workflows struct{ worker.WorkflowReplayer }

func (workflows) RegisterActivityWithOptions(any, activity.RegisterOptions) {}

// server starts a development server of Temporal's on loopback, with a client.
func server(t *testing.T, o client.Options, args ...string) *testsuite.DevServer {
	path := os.Getenv("TEMPORAL_TEST_BIN")
	if path == "" {
		if os.Getenv("TEMPORAL_TEST_REQUIRED") != "" {
			t.Fatal("TEMPORAL_TEST_BIN names no server")
		}
		t.Skip("TEMPORAL_TEST_BIN names no server of Temporal's: see scripts/get-temporal")
	}
	o.Identity = "test"
	s, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{ExistingPath: path, LogLevel: "error", ClientOptions: &o, ExtraArgs: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Log(err)
		}
	})
	return s
}

// work starts a worker that takes runs.
func work(t *testing.T, c client.Client, runs *temporal.Runs) worker.Worker {
	return started(t, worker.New(c, "agents", worker.Options{Identity: "test", WorkerStopTimeout: time.Second, DeadlockDetectionTimeout: time.Minute}), runs.Register)
}

// workTools starts one that calls tools for the runs of others.
func workTools(t *testing.T, c client.Client, runs *temporal.Runs) worker.Worker {
	return started(t, worker.New(c, "agents/tools", worker.Options{Identity: "test", WorkerStopTimeout: time.Second, DisableWorkflowWorker: true}), runs.RegisterTools)
}

func started(t *testing.T, w worker.Worker, register func(temporal.Registry)) worker.Worker {
	register(w)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// runsAgain fails if a history does not.
func runsAgain(t *testing.T, runs *temporal.Runs, h *history.History) {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	runs.Register(workflows{replayer})
	if err := replayer.ReplayWorkflowHistory(nil, h); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T, c client.Client, in temporal.Input) client.WorkflowRun {
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: in.Session, TaskQueue: "agents"}, temporal.WorkflowName, in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func waiting(t *testing.T, c client.Client, id string) *agent.ApprovalRequest {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		value, err := c.QueryWorkflow(ctx, id, "", temporal.QueryWaiting)
		var q *agent.ApprovalRequest
		if err == nil && value.Get(&q) == nil && q != nil {
			return q
		}
	}
	t.Fatal("no call waits")
	return nil
}

func decide(t *testing.T, c client.Client, id string, d temporal.Decision) {
	t.Helper()
	update, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: temporal.UpdateDecide, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{d},
	})
	if err == nil {
		err = update.Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keep writes a history to testdata.
func keep(t *testing.T, h *history.History, file string) {
	if !*record {
		return
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: "\t"}.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func historyOf(t *testing.T, c client.Client, id, run string) *history.History {
	h := &history.History{}
	events := c.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// A run begun by one worker is finished by another, with a decision in between, and its
// history runs again.
func TestServer(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	first, runs := script(t, store)
	var left agent.Result
	kept := func(_ context.Context, _ *agent.Session, r agent.Result) error {
		left = r
		return nil
	}
	runs.Ended = kept
	w := work(t, c, runs)
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
	q := waiting(t, c, "s")
	w.Stop()

	second := &bench{}
	rest, err := temporal.New(agent.Options{Model: scripted.Say(call("write", "c"), "It is done."), Tools: second.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	rest.Ended = kept
	w = work(t, c, rest)
	defer w.Stop()
	decide(t, c, "s", temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: agent.Allow}})
	for was := q.Call; q.Call == was; {
		q = waiting(t, c, "s")
	}
	decide(t, c, "s", temporal.Decision{Call: q.Call, Decision: agent.Decision{Reason: "no"}})
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if ran := strings.Join(append(first.ran, second.ran...), ", "); out.Turns != 4 || ran != "read a, write b" || len(second.ran) != 1 {
		t.Errorf("%+v; ran %s\n%s", out, ran, store.text(t, "s"))
	}
	if !strings.HasSuffix(store.text(t, "s"), "reply It is done.\nend denied\n") || left.Response != "It is done." {
		t.Errorf("%+v\n%s", left, store.text(t, "s"))
	}

	h := historyOf(t, c, "s", run.GetRunID())
	t.Logf("%d events in %d turns", len(h.Events), out.Turns)
	keep(t, h, recorded)
	runsAgain(t, rest, h)
}

// A run goes on in new executions, with the server's word on when, and theirs run again.
func TestServerContinues(t *testing.T) {
	c, store := server(t, client.Options{}, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=20").Client(), &store{}
	b, runs := script(t, store)
	defer work(t, c, runs).Stop()
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes})
	first := run.GetRunID()
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.Turns != 4 || out.StopReason != agent.StopComplete {
		t.Fatalf("%+v, %v", out, err)
	}
	all := executions(t, c, "s", first)
	if ran := strings.Join(b.ran, ", "); len(all) < 2 || ran != "read a, write b, write c" {
		t.Fatalf("%d executions; ran %s", len(all), ran)
	}
	keep(t, all[1].History, continued)
	for _, x := range all {
		runsAgain(t, runs, x.History)
	}
}

// A run that is cancelled ends its model call.
func TestServerCancel(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	m := &hanging{began: make(chan struct{}), ended: make(chan struct{})}
	runs, err := temporal.New(agent.Options{Model: m}, store)
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, c, runs).Stop()
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
	<-m.began
	if err := c.CancelWorkflow(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	<-m.ended
	t.Logf("the model call ended after %v", time.Since(began))
	if err := run.Get(t.Context(), nil); err == nil || !strings.HasSuffix(store.text(t, "s"), "end interrupted\n") {
		t.Errorf("%v\n%s", err, store.text(t, "s"))
	}
}

// A run that is cancelled in the last call of its execution, which is part of a workflow
// task, has the result of the call in its record, and an end. Temporal lets no such task end
// the execution.
func TestServerCancelInLastCall(t *testing.T) {
	for name, o := range map[string]agent.Options{"that ends": {MaxTurns: 1, NoLastWord: true}, "that continues": {}} {
		c, store := server(t, client.Options{}, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=3").Client(), &store{}
		calls := 0
		write, err := tools.New("write", "Writes.", tools.Writes, func(context.Context, in) (tools.Result, error) {
			calls++
			return tools.Result{Text: "written"}, c.CancelWorkflow(t.Context(), "s", "")
		})
		if err != nil {
			t.Fatal(err)
		}
		if o.Tools, err = tools.NewRegistry(write); err != nil {
			t.Fatal(err)
		}
		o.Model = scripted.Say(call("write", "a"), "done")
		runs, err := temporal.New(o, store)
		if err != nil {
			t.Fatal(err)
		}
		w := work(t, c, runs)
		err = start(t, c, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes}).Get(t.Context(), nil)
		w.Stop()
		if err != nil && strings.Contains(err.Error(), "went on in another way") || calls != 1 {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
		if text := store.text(t, "s"); strings.Contains(text, "unknown=true") || !strings.Contains(text, "result written") || !strings.Contains(text, "\nend ") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// hanging is a model that says nothing.
type hanging struct{ began, ended chan struct{} }

func (m *hanging) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		close(m.began)
		<-ctx.Done()
		close(m.ended)
		yield(providers.Chunk{}, ctx.Err())
	}
}
