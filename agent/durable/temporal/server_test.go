package temporal_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

var record = flag.String("record", "", "write the history of the recorded run to this file")

const recorded = "testdata/history.json"

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

// A recorded history runs again and asks for the same.
func TestReplay(t *testing.T) {
	_, runs := script(t, &store{})
	replayer := worker.NewWorkflowReplayer()
	runs.Register(workflows{replayer})
	if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, recorded); err != nil {
		t.Error(err)
	}
	other, err := temporal.New(agent.Options{Model: scripted.Say("x"), Tools: new(bench).registry(t), MaxTurns: 2}, &store{})
	if err != nil {
		t.Fatal(err)
	}
	replayer = worker.NewWorkflowReplayer()
	other.Register(workflows{replayer})
	if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, recorded); err == nil {
		t.Error("a loop with fewer turns passes as well")
	}
}

// workflows takes no activity.
type workflows struct{ worker.WorkflowReplayer }

func (workflows) RegisterActivityWithOptions(any, activity.RegisterOptions) {}

// server starts a development server of Temporal's on loopback, with a client.
func server(t *testing.T, o client.Options) *testsuite.DevServer {
	path := os.Getenv("TEMPORAL_TEST_BIN")
	if path == "" {
		if os.Getenv("TEMPORAL_TEST_REQUIRED") != "" {
			t.Fatal("TEMPORAL_TEST_BIN names no server")
		}
		t.Skip("TEMPORAL_TEST_BIN names no server of Temporal's: see scripts/get-temporal")
	}
	o.Identity = "test"
	s, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{ExistingPath: path, LogLevel: "error", ClientOptions: &o})
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

func work(t *testing.T, c client.Client, runs *temporal.Runs) worker.Worker {
	w := worker.New(c, "agents", worker.Options{Identity: "test", WorkerStopTimeout: time.Second})
	runs.Register(w)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w
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

// A run begun by one worker is finished by another, with a decision in between, and its
// history runs again.
func TestServer(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	first, runs := script(t, store)
	w := work(t, c, runs)
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
	q := waiting(t, c, "s")
	w.Stop()

	second := &bench{}
	rest, err := temporal.New(agent.Options{Model: scripted.Say(call("write", "c"), "It is done."), Tools: second.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	w = work(t, c, rest)
	defer w.Stop()
	decide := func(d temporal.Decision) {
		update, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: "s", UpdateName: temporal.UpdateDecide, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{d},
		})
		if err == nil {
			err = update.Get(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	decide(temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: agent.Allow}})
	for was := q.Call; q.Call == was; {
		q = waiting(t, c, "s")
	}
	decide(temporal.Decision{Call: q.Call, Decision: agent.Decision{Reason: "no"}})
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if ran := strings.Join(append(first.ran, second.ran...), ", "); out.Turns != 4 || ran != "read a, write b" || len(second.ran) != 1 {
		t.Errorf("%+v; ran %s\n%s", out, ran, store.text(t, "s"))
	}
	if !strings.HasSuffix(store.text(t, "s"), "reply It is done.\nend denied\n") {
		t.Error(store.text(t, "s"))
	}

	h := &history.History{}
	events := c.GetWorkflowHistory(t.Context(), "s", run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: "\t"}.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events, %d bytes of JSON, in %d turns", len(h.Events), len(text), out.Turns)
	if *record != "" {
		if err := os.WriteFile(*record, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	replayer := worker.NewWorkflowReplayer()
	rest.Register(workflows{replayer})
	if err := replayer.ReplayWorkflowHistory(nil, h); err != nil {
		t.Error(err)
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

// With an ExternalStorage the history of a run grows by little more than references,
// however long the results are.
func TestServerHistory(t *testing.T) {
	storage := &payloads{}
	c, store := server(t, client.Options{ExternalStorage: converter.ExternalStorage{Drivers: []converter.StorageDriver{storage}, PayloadSizeThreshold: 512}}).Client(), &store{}
	const turns = 20
	var says []string
	for i := range turns - 1 {
		says = append(says, call("long", fmt.Sprint(i)))
	}
	long, err := tools.New("long", "Reads much.", tools.Reads, func(_ context.Context, i in) (tools.Result, error) {
		return tools.Result{Text: strings.Repeat(i.Text+" is long. ", 5000)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(long)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := temporal.New(agent.Options{Model: scripted.Say(append(says, "done")...), Tools: registry, MaxTurns: turns, SummarizeAfterTurns: agent.Off}, store)
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, c, runs).Stop()
	began := time.Now()
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.Turns != turns || out.StopReason != agent.StopComplete {
		t.Fatalf("%+v, %v", out, err)
	}
	d, err := c.DescribeWorkflow(t.Context(), "s", "")
	if err != nil {
		t.Fatal(err)
	}
	info := d.RawResponse.GetWorkflowExecutionInfo()
	t.Logf("%d events, %d bytes, %d payloads elsewhere, in %v", info.GetHistoryLength(), info.GetHistorySizeBytes(), len(storage.all), time.Since(began))
	if size := info.GetHistorySizeBytes() / turns; size > 3<<10 {
		t.Errorf("the history has %d bytes a turn", size)
	}
}

// payloads is an external storage in memory.
type payloads struct {
	mu  sync.Mutex
	all []*common.Payload
}

func (*payloads) Name() string { return "memory" }
func (*payloads) Type() string { return "memory" }

func (p *payloads) Store(_ converter.StorageDriverStoreContext, all []*common.Payload) (claims []converter.StorageDriverClaim, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range all {
		claims = append(claims, converter.StorageDriverClaim{ClaimData: map[string]string{"n": strconv.Itoa(len(p.all))}})
		p.all = append(p.all, one)
	}
	return claims, nil
}

func (p *payloads) Retrieve(_ converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) (all []*common.Payload, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, claim := range claims {
		n, err := strconv.Atoi(claim.ClaimData["n"])
		if err != nil {
			return nil, err
		}
		all = append(all, p.all[n])
	}
	return all, nil
}
