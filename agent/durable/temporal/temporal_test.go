package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// store is sessions in memory.
type store struct {
	mu       sync.Mutex
	sessions map[string][]agent.Entry
	down     error // of every call
	opened   int
}

func (s *store) Append(_ context.Context, e agent.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	if e.Seq > 1 && s.sessions[e.Session] == nil {
		return journal.ErrNotFound
	}
	if e.Seq != len(s.sessions[e.Session])+1 {
		return journal.ErrInUse
	}
	if s.sessions == nil {
		s.sessions = map[string][]agent.Entry{}
	}
	s.sessions[e.Session] = append(s.sessions[e.Session], e)
	return nil
}

func (s *store) Open(_ context.Context, id string) (*agent.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if s.down != nil {
		return nil, s.down
	}
	if s.sessions[id] == nil {
		return nil, journal.ErrNotFound
	}
	return agent.LoadSession(id, s.sessions[id])
}

// text is what a session holds, an entry a line.
func (s *store) text(t *testing.T, id string) string {
	session, err := s.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range session.Entries() {
		switch p := e.Payload.(type) {
		case agent.ReplyEntry:
			fmt.Fprintf(&b, "reply %s\n", p.Raw)
		case agent.CallEntry:
			fmt.Fprintf(&b, "call %s %s\n", p.Name, p.Args)
		case agent.ResultEntry:
			fmt.Fprintf(&b, "result %s%s unknown=%v denied=%v\n", p.Text, p.Error, p.Unknown, p.Denied)
		case agent.EndEntry:
			fmt.Fprintf(&b, "end %s\n", p.StopReason)
		default:
			fmt.Fprintf(&b, "%s\n", e.Kind())
		}
	}
	return b.String()
}

// bench is runs in the SDK's test environment.
type bench struct {
	*testsuite.TestWorkflowEnvironment
	store *store
	runs  *temporal.Runs
	mu    sync.Mutex
	ran   []string // the calls
}

type in struct {
	Text string `json:"text"`
}

func (b *bench) called(name string) func(context.Context, in) (tools.Result, error) {
	return func(_ context.Context, i in) (tools.Result, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ran = append(b.ran, name+" "+i.Text)
		origin := ""
		if i.Text == "foreign" {
			origin = "https://example.com/"
		}
		return tools.Result{Text: name + " did " + i.Text, Origin: origin}, nil
	}
}

func newBench(t *testing.T, o agent.Options, more ...*tools.Tool) *bench {
	var suite testsuite.WorkflowTestSuite
	b := &bench{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), store: &store{}}
	b.busy()
	var err error
	if o.Tools, err = tools.NewRegistry(append(b.registry(t).Tools(), more...)...); err != nil {
		t.Fatal(err)
	}
	if b.runs, err = temporal.New(o, b.store); err != nil {
		t.Fatal(err)
	}
	b.runs.Register(b)
	return b
}

// begins calls a function as each activity begins, also a local one, with its name.
func (b *bench) begins(does func(name string)) {
	b.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { does(info.ActivityType.Name) })
	b.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) { does(info.ActivityType.Name) })
}

// busy lets the machine take its time.
func (b *bench) busy() {
	b.SetTestTimeout(time.Minute)
	b.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
}

func (b *bench) registry(t *testing.T) *tools.Registry {
	r, err := b.tools()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) tools() (*tools.Registry, error) {
	read, err1 := tools.New("read", "Reads.", tools.Reads, b.called("read"))
	write, err2 := tools.New("write", "Writes.", tools.Writes, b.called("write"))
	fail, err3 := tools.New("fail", "Fails.", tools.Reads, func(context.Context, in) (tools.Result, error) { return tools.Result{}, errors.New("it fails") })
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return tools.NewRegistry(read, write, fail)
}

// run runs the workflow to its end.
func (b *bench) run(t *testing.T, input temporal.Input) (out temporal.Output) {
	t.Helper()
	if input.Session == "" {
		input.Session = "s"
	}
	b.ExecuteWorkflow(temporal.WorkflowName, input)
	if err := b.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if err := b.GetWorkflowResult(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func call(tool, text string) string {
	return fmt.Sprintf("<tool_code><name>%s</name><parameters>{\"text\":%q}</parameters></tool_code>", tool, text)
}

// The session is that of the same run in a process.
func TestRun(t *testing.T) {
	script := []string{"I look. " + call("read", "a"), call("write", "b"), "It is done."}
	b := newBench(t, agent.Options{Model: scripted.Say(script...)})
	out := b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
	if out.StopReason != agent.StopComplete || out.Turns != 3 || out.Entries != 10 {
		t.Errorf("%+v", out)
	}
	if got := strings.Join(b.ran, ", "); got != "read a, write b" {
		t.Errorf("ran %s", got)
	}
	local := &store{}
	a, err := agent.New(agent.Options{Model: scripted.Say(script...), Tools: new(bench).registry(t), Approve: agent.AllowAll, Recorder: local})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Collect(a.Run(t.Context(), &agent.Session{ID: "s"}, "go")); err != nil {
		t.Fatal(err)
	}
	if got, want := b.store.text(t, "s"), local.text(t, "s"); got != want {
		t.Errorf("the session is\n%s\nin a process it is\n%s", got, want)
	}
	if got, want := b.store.sessions["s"][0].Payload, local.sessions["s"][0].Payload; !reflect.DeepEqual(got, want) {
		t.Errorf("it begins with\n%+v\nin a process with\n%+v", got, want)
	}
}

// A session that has a run already is left as it is.
func TestSessionInUse(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say("done")})
	other := agent.Entry{Session: "s", Seq: 1, Run: "other", Payload: agent.RunEntry{System: "x"}}
	if err := b.store.Append(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
	if err := b.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "the session s has another run") || len(b.store.sessions["s"]) != 1 {
		t.Errorf("%v, %d entries", err, len(b.store.sessions["s"]))
	}
}

// A call whose worker is lost has one attempt if it does more than read, and the model
// is told that its end is unknown.
func TestLostCall(t *testing.T) {
	for tool, want := range map[string]int{"read": 5, "write": 1} {
		t.Run(tool, func(t *testing.T) {
			b := newBench(t, agent.Options{Model: scripted.Say(call(tool, "x"), "done")})
			b.OnActivity("mylm.tool", mock.Anything, mock.Anything).Return(tools.Outcome{}, sdk.NewHeartbeatTimeoutError())
			out := b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
			text := b.store.text(t, "s")
			if out.StopReason != agent.StopComplete || strings.Contains(text, "unknown=true") != (tool == "write") {
				t.Error(text)
			}
			b.AssertNumberOfCalls(t, "mylm.tool", want)
		})
	}
}

// An attempt that finds its call begun does not make it again, unless it only reads.
func TestCallBegunBefore(t *testing.T) {
	for tool, want := range map[string]string{"read": "read x, read x", "write": "write x"} {
		t.Run(tool, func(t *testing.T) {
			b := newBench(t, agent.Options{Model: scripted.Say(call(tool, "x"), "done")})
			var input any
			b.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, args []any) {
				if info.ActivityType.Name == "mylm.tool" {
					input = args[0]
				}
			})
			b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
			var suite testsuite.WorkflowTestSuite
			again := suite.NewTestActivityEnvironment()
			b.runs.Register(activities{again})
			value, err := again.ExecuteActivity("mylm.tool", input)
			if err != nil {
				t.Fatal(err)
			}
			var o tools.Outcome
			if err := value.Get(&o); err != nil || o.Unknown != (tool == "write") || strings.Join(b.ran, ", ") != want {
				t.Errorf("%+v, %v; ran %v", o, err, b.ran)
			}
		})
	}
}

// activities takes no workflow.
type activities struct {
	*testsuite.TestActivityEnvironment
}

func (activities) RegisterWorkflowWithOptions(any, workflow.RegisterOptions) {}

// Faults that may pass are retried, others are not.
func TestFaults(t *testing.T) {
	fault := func(kind providers.Kind) scripted.Reply {
		return scripted.Reply{Err: &providers.Error{Kind: kind, Message: "a fault", Hint: "a hint"}}
	}
	passes := newBench(t, agent.Options{Model: scripted.New(fault(providers.ServerFault), scripted.Reply{Text: "half", Cut: true}, scripted.Reply{Text: "done"})})
	if out := passes.run(t, temporal.Input{Prompt: "go"}); out.StopReason != agent.StopComplete || out.Turns != 1 {
		t.Errorf("%+v", out)
	}
	for _, kind := range []providers.Kind{providers.Auth, providers.ServerFault} {
		m := scripted.New(fault(kind), fault(kind), fault(kind), scripted.Reply{Text: "too late"})
		b := newBench(t, agent.Options{Model: m})
		asked := map[providers.Kind]int{providers.Auth: 1, providers.ServerFault: 3}[kind]
		if out := b.run(t, temporal.Input{Prompt: "go"}); out.StopReason != agent.StopModelError || out.Error != "a fault" || out.Fault.Kind != kind || out.Fault.Hint != "a hint" || len(m.Requests()) != asked {
			t.Errorf("%+v after %d requests", out, len(m.Requests()))
		}
	}
}

// A call that is not allowed waits for days, and for a decision on itself.
func TestDecision(t *testing.T) {
	for name, d := range map[string]agent.Decision{
		"write did x unknown=false denied=false":        {Verdict: agent.Allow},
		"write did y unknown=false denied=false":        {Verdict: agent.Allow, Args: []byte(`{"text":"y"}`)},
		"not allowed: no unknown=false denied=true":     {Reason: "no"},
		"the rules forbid it unknown=false denied=true": {Verdict: agent.Forbid, Reason: "the rules forbid it"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, agent.Options{Model: scripted.Say(call("write", "x"), "done")})
			var wrong error
			b.RegisterDelayedCallback(func() {
				value, err := b.QueryWorkflow(temporal.QueryWaiting)
				var q *agent.ApprovalRequest
				if err != nil || value.Get(&q) != nil || q == nil || q.Name != "write" {
					t.Errorf("waiting: %+v, %v", q, err)
					b.CancelWorkflow()
					return
				}
				if text := b.store.text(t, "s"); !strings.Contains(text, "reply <tool_code>") {
					t.Errorf("who decides can read\n%s", text)
				}
				b.UpdateWorkflow(temporal.UpdateDecide, "1", &testsuite.TestUpdateCallback{
					OnAccept: func() { t.Error("a decision on another call is accepted") }, OnReject: func(err error) { wrong = err },
				}, temporal.Decision{Call: "another", Decision: d})
				b.UpdateWorkflow(temporal.UpdateDecide, "2", &testsuite.TestUpdateCallback{
					OnAccept: func() { t.Error("a decision on another question is accepted") }, OnReject: func(error) {},
				}, temporal.Decision{Call: q.Call, Refused: []tools.Refusal{{Kind: "connect"}}, Decision: d})
				b.UpdateWorkflow(temporal.UpdateDecide, "3", &testsuite.TestUpdateCallback{
					OnReject: func(err error) { t.Error(err) },
				}, temporal.Decision{Call: q.Call, Decision: d})
			}, 72*time.Hour)
			b.run(t, temporal.Input{Prompt: "go"})
			if text := b.store.text(t, "s"); !strings.Contains(text, "result "+name+"\n") {
				t.Error(text)
			}
			if wrong == nil || !strings.Contains(wrong.Error(), "not another") {
				t.Error(wrong)
			}
		})
	}
}

// A hook that makes prompts smaller is called where the model is, and the loop knows that
// counts of tokens say nothing then.
func TestTransformContext(t *testing.T) {
	m := scripted.New(
		scripted.Reply{Usage: providers.Usage{Prompt: 400}}, // empty: the model is told
		scripted.Reply{Text: "done", Usage: providers.Usage{Prompt: 350}},
	)
	o := agent.Options{Model: m}
	o.Hooks.TransformContext = func(_ context.Context, all []providers.Message) ([]providers.Message, error) { return all[1:], nil }
	if out := newBench(t, o).run(t, temporal.Input{Prompt: "go"}); out.StopReason != agent.StopComplete || m.Requests()[1].Messages[0].Role == providers.System {
		t.Errorf("%+v, asked %+v", out, m.Requests()[1].Messages)
	}
}

// A run that a limit ended says which.
func TestLimit(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("read", "x"), "so far"), MaxTurns: 1})
	if out := b.run(t, temporal.Input{Prompt: "go"}); out.StopReason != agent.StopMaxTurns || out.Limit == nil || out.Limit.Limit != "MaxTurns" {
		t.Errorf("%+v", out)
	}
}

func TestRefusedOptions(t *testing.T) {
	_, err := temporal.New(agent.Options{Model: scripted.Say("x"), MaxTime: time.Second}, &store{})
	if err == nil {
		t.Error("MaxTime is accepted")
	}
}
