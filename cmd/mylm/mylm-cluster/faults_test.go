package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"mylm/agent"
	"mylm/agent/durable/pgtest"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/term"
)

// frontend is what of Temporal these tests need: a namespace, and a queue with a worker.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
	worker string        // its identity
	since  time.Duration // it was there
}

func (*frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (*frontend) DescribeNamespace(_ context.Context, r *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	if r.Namespace != "default" {
		return nil, serviceerror.ToStatus(serviceerror.NewNamespaceNotFound(r.Namespace)).Err()
	}
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (f *frontend) DescribeTaskQueue(context.Context, *workflowservice.DescribeTaskQueueRequest) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{Identity: f.worker, LastAccessTime: timestamppb.New(time.Now().Add(-f.since))}}}, nil
}

func (*frontend) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.ToStatus(serviceerror.NewNotFound("no workflow")).Err()
}

// serve answers as a frontend on loopback.
func (f *frontend) serve(t *testing.T, with ...grpc.ServerOption) string {
	return serveFrontend(t, f, with...)
}

func serveFrontend(t *testing.T, f workflowservice.WorkflowServiceServer, with ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(with...)
	workflowservice.RegisterWorkflowServiceServer(s, f)
	go func() { _ = s.Serve(listener) }() // until it is stopped
	t.Cleanup(s.Stop)
	return listener.Addr().String()
}

// Whatever is wrong with Temporal, its namespace, the workers or a model says what to do.
func TestFaultsSayWhatToDo(t *testing.T) {
	t.Setenv("MYLM_DATABASE", pgtest.Database(t))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OLLAMA_HOST", "127.0.0.1:1")
	if _, messages, code := run(t, "migrate"); code != 0 {
		t.Fatal(messages)
	}
	good := (&frontend{worker: identity()}).serve(t)
	other := (&frontend{worker: "mylm-loop/9 1@host"}).serve(t)
	foreign := (&frontend{worker: "somebody"}).serve(t)
	gone := (&frontend{worker: "mylm-loop/9 1@host", since: time.Hour}).serve(t)
	missing := filepath.Join(t.TempDir(), "script.txt")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"no Temporal", []string{"ask", "--temporal", "127.0.0.1:1", "x"}, 3, []string{"no Temporal answers at 127.0.0.1:1", "temporal server start-dev", "MYLM_TEMPORAL"}},
		{"no address", []string{"ask", "--temporal", "x", "x"}, 2, []string{"a host and a port", "127.0.0.1:7233"}},
		{"no namespace", []string{"worker", "--temporal", good, "--namespace", "nosuch"}, 2, []string{`no namespace "nosuch"`, "temporal operator namespace create nosuch"}},
		{"workers of another version", []string{"ask", "--temporal", other, "x"}, 2, []string{"have another version: 9 of the loop, this one has 6", "MYLM_TASK_QUEUE"}},
		{"workers that are none of ours", []string{"ask", "--temporal", foreign, "x"}, 2, []string{"another version: unknown"}},
		{"a worker beside another version", []string{"worker", "-m", "demo", "--temporal", other}, 2, []string{"1 worker of another version", "a queue of its own"}},
		{"a worker where another version was", []string{"worker", "-m", "scripted/" + missing, "--temporal", gone}, 2, []string{"cannot read the script"}},
		{"no model", []string{"worker", "-m", "scripted/" + missing, "--temporal", good}, 2, []string{"cannot read the script"}},
		{"no Ollama", []string{"worker", "-m", "nosuch:1b", "--temporal", good}, 3, []string{"127.0.0.1:1", "--host"}},
		{"a plan without an end", []string{"agent", "run", "--plan", "/dev/zero", "--temporal", good}, 2, []string{"--plan /dev/zero: the text is longer than 67 MB"}},
		{"a plan that is a directory", []string{"agent", "run", "--plan", "/", "--temporal", good}, 2, []string{"--plan /: "}},
		{"an approval of nothing", []string{"approve", "--yes", "a\x1b[31mb", "--temporal", good}, 2, []string{"no run of a session"}},
		{"no question", []string{"ask", "--temporal", good}, 2, []string{"there is no question"}},
		{"an id of two lines", []string{"ask", "--session", "a\nb", "--temporal", good, "x"}, 2, []string{"an id has letters"}},
		{"both decisions", []string{"approve", "--yes", "--deny", "a"}, 2, []string{"contradict"}},
		{"no id", []string{"tail"}, 2, []string{"takes the id of a session"}},
		{"a tenant without a name", []string{"stats", "--tenant", strings.Repeat("x", 201), "--temporal", good}, 2, []string{"MYLM_TENANT"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, messages, code := run(t, tt.args...)
			if code != tt.code || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, tt.code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(messages, want) {
					t.Errorf("stderr lacks %q:\n%s", want, messages)
				}
			}
		})
	}
	t.Run("two forms", func(t *testing.T) { // before a run is started
		_, messages, code := run(t, "ask", "--json", "-o", "ndjson", "--temporal", good, "x")
		if code != 2 || !strings.Contains(messages, "--json and --output ndjson exclude each other") {
			t.Errorf("%d: %s", code, messages)
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		out, _, code := run(t, "ask", "--json", "--temporal", "127.0.0.1:1", "x")
		if code != 3 || !strings.Contains(out, `"code": "unreachable"`) || !strings.Contains(out, `"hint": `) {
			t.Errorf("%d: %s", code, out)
		}
		out, _, _ = run(t, "tail", "-o", "ndjson", "--temporal", "127.0.0.1:1", "x")
		if !strings.HasPrefix(out, `{"type":"failure","error":{"code":"unreachable"`) {
			t.Error(out)
		}
	})
}

// quitting is a frontend where whoever starts a run changes their mind meanwhile.
type quitting struct {
	frontend
	quit      func()
	cancelled chan string
}

func (f *quitting) StartWorkflowExecution(context.Context, *workflowservice.StartWorkflowExecutionRequest) (*workflowservice.StartWorkflowExecutionResponse, error) {
	f.quit()
	return &workflowservice.StartWorkflowExecutionResponse{RunId: "r"}, nil
}

func (*quitting) SignalWorkflowExecution(context.Context, *workflowservice.SignalWorkflowExecutionRequest) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	return &workflowservice.SignalWorkflowExecutionResponse{}, nil
}

func (f *quitting) RequestCancelWorkflowExecution(_ context.Context, r *workflowservice.RequestCancelWorkflowExecutionRequest) (*workflowservice.RequestCancelWorkflowExecutionResponse, error) {
	f.cancelled <- r.WorkflowExecution.WorkflowId
	return &workflowservice.RequestCancelWorkflowExecutionResponse{}, nil
}

// Ctrl-C while a run is started cancels it: else it would go on, and nobody would know.
func TestInterruptedStart(t *testing.T) {
	t.Setenv("MYLM_DATABASE", pgtest.Database(t))
	t.Setenv("HOME", t.TempDir())
	if _, messages, code := run(t, "migrate"); code != 0 {
		t.Fatal(messages)
	}
	ctx, quit := context.WithCancel(t.Context())
	f := &quitting{frontend: frontend{worker: identity()}, quit: quit, cancelled: make(chan string, 1)}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c := &cluster{screen: term.NewScreen(term.Streams{In: null, Out: null, Err: null})}
	args := []string{"mylm-cluster", "ask", "--detach", "--session", "s", "--temporal", serveFrontend(t, f), "x"}
	if err := cmdline.Parse(ctx, c.app(), args, c.screen).Run(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case id := <-f.cancelled:
		if id != "default/s" {
			t.Error(id)
		}
	default:
		t.Error("the run goes on")
	}
}

// together is a frontend that answers queries only when so many are asked at once.
type together struct {
	frontend
	asked sync.WaitGroup
}

func (f *together) QueryWorkflow(_ context.Context, r *workflowservice.QueryWorkflowRequest) (*workflowservice.QueryWorkflowResponse, error) {
	f.asked.Done()
	f.asked.Wait()
	if id := r.Execution.WorkflowId; id != "default/b" {
		return nil, serviceerror.ToStatus(serviceerror.NewNotFound(id)).Err()
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(agent.ApprovalRequest{Call: "of b"})
	return &workflowservice.QueryWorkflowResponse{QueryResult: payloads}, err
}

// The tasks of a plan are asked at once whether their calls wait: where no worker answers, each
// question takes its time.
func TestAskAll(t *testing.T) {
	f := &together{}
	f.asked.Add(3)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: serveFrontend(t, f)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := &link{Client: c, tenant: defaultTenant}
	var order []int
	for i, said := range l.askAll(t.Context(), []string{"a", "b", "c"}) {
		order = append(order, i)
		if (said.q != nil) != (i == 1) || said.q != nil && said.q.Call != "of b" {
			t.Errorf("%d: %+v, %v", i, said.q, said.err)
		}
	}
	if !slices.Equal(order, []int{0, 1, 2}) {
		t.Error(order)
	}
}

// The queue of a tenant is its own, and that of nobody else.
func TestQueueOf(t *testing.T) {
	for _, tt := range []struct{ tenant, want string }{{"default", "q/default"}, {"a", "q/a"}} {
		if got := queueOf("q", tt.tenant); got != tt.want {
			t.Errorf("%s: %s", tt.tenant, got)
		}
	}
}

// What health answers says what does not work.
func TestHealth(t *testing.T) {
	h := &health{}
	if err := h.working(); err == nil {
		t.Error("a worker that has not begun works")
	}
	h.works.Store(true)
	if err := h.working(); err != nil {
		t.Error(err)
	}
}
