package temporal_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// next is a bench for another workflow, or another execution, with the same store.
func (b *bench) next() *bench {
	n := b.reset()
	n.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: rand.Text()})
	return n
}

// reset is a bench for the same workflow, from its beginning.
func (b *bench) reset() *bench {
	var suite testsuite.WorkflowTestSuite
	n := &bench{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), store: b.store, runs: b.runs}
	n.busy()
	b.runs.Register(n)
	return n
}

// A run in a session that has one sees it, and takes over what it learned.
func TestSecondRun(t *testing.T) {
	m := scripted.Say(call("read", "foreign"), "The first.", call("write", "x"), "The second.", "The third.")
	b := newBench(t, agent.Options{Model: m})
	b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
	second := b.next()
	second.RegisterDelayedCallback(func() {
		value, err := second.QueryWorkflow(temporal.QueryWaiting)
		var q *agent.ApprovalRequest
		if err != nil || value.Get(&q) != nil || q == nil || !q.Tainted || !strings.Contains(q.Foreign, "foreign") {
			t.Errorf("after foreign text, of another run, nothing waits: %+v, %v", q, err)
			second.CancelWorkflow()
			return
		}
		second.UpdateWorkflow(temporal.UpdateDecide, "1", &testsuite.TestUpdateCallback{
			OnReject: func(err error) { t.Error(err) },
		}, temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: agent.Allow}})
	}, time.Hour)
	out := second.run(t, temporal.Input{Prompt: "and now", Allow: tools.Writes, Continue: true})
	if out.StopReason != agent.StopComplete || out.Turns != 2 || out.Entries != len(b.store.sessions["s"]) {
		t.Errorf("%+v\n%s", out, b.store.text(t, "s"))
	}
	var shown []string
	for _, m := range m.Requests()[3].Messages[1:] {
		shown = append(shown, m.Text)
	}
	if text := strings.Join(shown, "\n"); !strings.Contains(text, "The first.") || !strings.Contains(text, "and now") || !strings.Contains(text, "write did x") {
		t.Errorf("the model is shown\n%s", text)
	}
	none := b.next()
	if out := none.run(t, temporal.Input{Session: "new", Prompt: "go", Continue: true}); out.StopReason != agent.StopComplete {
		t.Errorf("in a session without entries: %+v", out)
	}
}

// A run that was cut is resumed where it was; one that was not is left as it is.
func TestResume(t *testing.T) {
	local := &store{}
	a, err := agent.New(agent.Options{Model: scripted.Say(call("read", "a"), call("write", "b"), "done"), Tools: new(bench).registry(t), Approve: agent.AllowAll, Recorder: local})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Collect(a.Run(t.Context(), &agent.Session{ID: "s"}, "go")); err != nil {
		t.Fatal(err)
	}
	all := local.sessions["s"]
	for n := 2; n < len(all); n++ {
		var rest []string
		for _, e := range all[n:] {
			if p, ok := e.Payload.(agent.ReplyEntry); ok {
				rest = append(rest, p.Raw)
			}
		}
		b := newBench(t, agent.Options{Model: scripted.Say(rest...)})
		b.store.sessions = map[string][]agent.Entry{"s": all[:n:n]}
		out := b.run(t, temporal.Input{Allow: tools.Writes, Continue: true})
		_, called := all[n-1].Payload.(agent.CallEntry)
		unknown := called && !all[n-1].Payload.(agent.CallEntry).OnlyReads()
		if got, want := b.store.text(t, "s"), local.text(t, "s"); out.Run != all[0].Run || out.Turns != 3 || unknown != strings.Contains(got, "unknown=true") || !unknown && got != want {
			t.Errorf("resumed after entry %d: %+v\n%s", n, out, got)
		}
	}
	for name, entries := range map[string][]agent.Entry{"nothing to resume": all, "no question": nil} {
		b := newBench(t, agent.Options{Model: scripted.Say("x")})
		b.store.sessions = map[string][]agent.Entry{"s": entries}
		b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Continue: true})
		if err := b.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "no ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A worker reads a session once, and again when another worker has written to it.
func TestSessionReadOnce(t *testing.T) {
	m := scripted.Say(call("read", "a"), call("read", "b"), "The first.", call("read", "d"), "The third.")
	b := newBench(t, agent.Options{Model: m})
	b.run(t, temporal.Input{Prompt: "go"})
	if b.store.opened != 1 {
		t.Errorf("it was read %d times", b.store.opened)
	}
	other := newBench(t, agent.Options{Model: scripted.Say(call("read", "c"), "The second.")})
	other.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "other"})
	other.store.sessions = b.store.sessions
	other.run(t, temporal.Input{Prompt: "go", Continue: true})
	b.store.sessions = other.store.sessions
	b.next().run(t, temporal.Input{Prompt: "go", Continue: true})
	last := m.Requests()[len(m.Requests())-1]
	if !slices.ContainsFunc(last.Messages, func(m providers.Message) bool { return m.Text == "The second." }) {
		t.Errorf("the model is not shown what another worker wrote: %+v", last.Messages)
	}
}

// A run whose session is deleted ends.
func TestSessionDeleted(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("read", "a"), "done")})
	b.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		b.store.sessions = nil
	})
	b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
	if err := b.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), journal.ErrNotFound.Error()) {
		t.Error(err)
	}
}

// executions runs a workflow and those that continue it to the end.
func (b *bench) executions(t *testing.T, input temporal.Input, prepare func(*bench)) (out temporal.Output, n int) {
	t.Helper()
	for n = 1; ; n++ {
		prepare(b)
		b.ExecuteWorkflow(temporal.WorkflowName, input)
		err := b.GetWorkflowError()
		var more *workflow.ContinueAsNewError
		if !errors.As(err, &more) {
			if err != nil {
				t.Fatal(err)
			}
			if err := b.GetWorkflowResult(&out); err != nil {
				t.Fatal(err)
			}
			return out, n
		}
		input = temporal.Input{}
		if err := converter.GetDefaultDataConverter().FromPayloads(more.Input, &input); err != nil {
			t.Fatal(err)
		}
		b = b.next()
	}
}

// states are what a run knew at its turns, as far as it is the same in any run. The window
// is looked up again by each execution.
func states(t *testing.T, entries []agent.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		if p, ok := e.Payload.(agent.ReplyEntry); ok && p.State != nil {
			s := *p.State
			s.Run, s.Started, s.Events, s.Window = "", time.Time{}, 0, 0
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", text)
		}
	}
	return b.String()
}

// named is a model that the loop knows again.
type named struct{ *scripted.Model }

func (named) Name() string { return "scripted" }

// A run that is continued as a new execution in each turn is that which is not: with its
// counters, its limits, its taint and its decisions.
func TestContinueAsNew(t *testing.T) {
	script := func() providers.Model {
		return named{scripted.New(
			scripted.Reply{Text: "I look. " + call("read", "a"), Usage: providers.Usage{Prompt: 900, Output: 20}}, scripted.Reply{Text: call("write", "b")},
			scripted.Reply{Text: "<tool_code>{"}, scripted.Reply{Text: call("read", "foreign")}, scripted.Reply{Text: call("write", "c")},
			scripted.Reply{Text: call("fail", "1")}, scripted.Reply{Text: call("fail", "2")}, scripted.Reply{Text: call("read", "d")},
			scripted.Reply{Text: call("read", "d")}, scripted.Reply{Text: "So far."},
		)}
	}
	decide := func(b *bench) {
		b.RegisterDelayedCallback(func() {
			value, err := b.QueryWorkflow(temporal.QueryWaiting)
			var q *agent.ApprovalRequest
			if err == nil && value.Get(&q) == nil && q != nil {
				b.UpdateWorkflow(temporal.UpdateDecide, "1", &testsuite.TestUpdateCallback{OnReject: func(err error) { t.Error(err) }},
					temporal.Decision{Call: q.Call, Decision: agent.Decision{Reason: "no"}})
			}
		}, time.Hour)
	}
	whole := newBench(t, agent.Options{Model: script(), MaxContextTokens: 9000})
	want, n := whole.executions(t, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes}, decide)
	if n != 1 || want.StopReason != agent.StopDenied || want.Turns != 9 {
		t.Fatalf("%d executions: %+v", n, want)
	}
	for name, set := range map[string]func(*bench){
		"suggested": func(b *bench) { b.SetContinueAsNewSuggested(true) },
		"too long":  func(b *bench) { b.SetCurrentHistoryLength(8000) },
	} {
		parts := newBench(t, agent.Options{Model: script(), MaxContextTokens: 9000})
		got, n := parts.executions(t, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes}, func(b *bench) { set(b); decide(b) })
		if n != want.Turns {
			t.Errorf("%s: %d executions, and %d turns", name, n, want.Turns)
		}
		if got.Run = want.Run; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, and in one execution %+v", name, got, want)
		}
		if got, want := parts.store.text(t, "s"), whole.store.text(t, "s"); got != want {
			t.Errorf("%s: the session is\n%s\nin one execution it is\n%s", name, got, want)
		}
		if got, want := states(t, parts.store.sessions["s"]), states(t, whole.store.sessions["s"]); got != want {
			t.Errorf("%s: the run knew\n%s\nin one execution\n%s", name, got, want)
		}
		for _, e := range parts.store.sessions["s"] {
			if e.Run != parts.store.sessions["s"][0].Run {
				t.Errorf("%s: entry %d is of the run %s", name, e.Seq, e.Run)
			}
		}
	}
}

// A run that is cancelled while it is handed over has an end.
func TestCancelledBetweenExecutions(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("read", "a"), "done")})
	b.SetContinueAsNewSuggested(true)
	b.begins(func(name string) {
		if name == "mylm.record" {
			b.CancelWorkflow()
		}
	})
	b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
	var more *workflow.ContinueAsNewError
	if err := b.GetWorkflowError(); err == nil || errors.As(err, &more) || !strings.HasSuffix(b.store.text(t, "s"), "end interrupted\n") {
		t.Errorf("%v\n%s", err, b.store.text(t, "s"))
	}
}

// The next execution goes on with no run but its own.
func TestAnotherRunInBetween(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say("done", "x")})
	b.run(t, temporal.Input{Prompt: "go"})
	n := b.next()
	n.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Continue: true, Run: "other"})
	if err := n.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), journal.ErrInUse.Error()) {
		t.Error(err)
	}
}
