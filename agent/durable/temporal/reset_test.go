package temporal_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// A workflow that was reset, after its run or within it, makes no call again, and its
// session stays as it was, whether the model says the same again or something else.
func TestReset(t *testing.T) {
	for name, again := range map[string][]string{
		"the same":            {call("write", "a"), "done", "and done"},
		"another call":        {call("write", "b"), "done"},
		"another text":        {"I write. " + call("write", "a"), "done"},
		"no call":             {"done"},
		"a call in between":   {call("read", "x"), call("write", "a"), "done"},
		"one more at the end": {call("write", "a"), call("write", "b"), "done"},
	} {
		b := newBench(t, agent.Options{Model: scripted.Say(append([]string{call("write", "a"), "done"}, again...)...)})
		in := temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes}
		b.run(t, in)
		before := b.store.text(t, "s")
		n := b.reset()
		n.ExecuteWorkflow(temporal.WorkflowName, in)
		if err := n.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "before its workflow was reset") {
			t.Errorf("%s: %v", name, err)
		}
		if got := b.store.text(t, "s"); got != before || strings.Join(b.ran, ", ") != "write a" {
			t.Errorf("%s: ran %v\n%s\nand before\n%s", name, b.ran, got, before)
		}
	}
}

// A run that continues a session goes on where its record ends after a reset, and not again
// from its beginning.
func TestResetContinued(t *testing.T) {
	first := newBench(t, agent.Options{Model: scripted.Say("The first.", call("write", "a"), "done")})
	first.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "first"})
	first.run(t, temporal.Input{Prompt: "go"})
	in := temporal.Input{Session: "s", Prompt: "and now", Allow: tools.Writes, Continue: true}
	whole := first.reset().run(t, in)
	all := first.store.sessions["s"]
	for _, tt := range []struct {
		entries int
		says    []string
		ran     string
		unknown bool
	}{
		{6, []string{call("write", "a"), "done"}, "write a", false}, // after the prompt
		{8, []string{"done"}, "", true},                             // within the call
		{9, []string{"done"}, "", false},                            // after it
	} {
		b := newBench(t, agent.Options{Model: scripted.Say(tt.says...)})
		b.store.sessions = map[string][]agent.Entry{"s": all[:tt.entries:tt.entries]}
		out, text := b.run(t, in), b.store.text(t, "s")
		if out.Run != whole.Run || out.StopReason != agent.StopComplete || strings.Join(b.ran, ", ") != tt.ran ||
			strings.Contains(text, "unknown=true") != tt.unknown || len(b.store.sessions["s"]) != len(all) {
			t.Errorf("after entry %d: %+v, ran %v\n%s", tt.entries, out, b.ran, text)
		}
	}
	after := first.reset()
	after.ExecuteWorkflow(temporal.WorkflowName, in)
	if err := after.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "nothing is to be done") || len(first.store.sessions["s"]) != len(all) {
		t.Errorf("after its end: %v\n%s", err, first.store.text(t, "s"))
	}
}

// The same with a server, for each task of the workflow that it can be reset to: the call
// was made, and is made no more.
func TestServerReset(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	b := &bench{}
	runs, err := temporal.New(agent.Options{Model: always{}, Tools: b.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, c, runs).Stop()
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes})
	if err := run.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	before := store.text(t, "s")
	for _, e := range historyOf(t, c, "s", run.GetRunID()).Events {
		if e.EventType != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		reset, err := c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: "s", RunId: run.GetRunID()}, Reason: "test",
			WorkflowTaskFinishEventId: e.EventId, RequestId: fmt.Sprint(e.EventId),
		})
		if err != nil {
			t.Fatal(err)
		}
		err = c.GetWorkflow(t.Context(), "s", reset.RunId).Get(t.Context(), nil)
		t.Logf("reset to event %d: %v", e.EventId, err)
		if got := store.text(t, "s"); got != before || len(b.ran) != 1 {
			t.Errorf("reset to event %d: ran %v\n%s\nand before\n%s", e.EventId, b.ran, got, before)
		}
	}
}

// always is a model that writes once, and then says so.
type always struct{}

func (always) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		text := "done"
		if len(r.Messages) == 2 {
			text = call("write", "a")
		}
		yield(providers.Chunk{Text: text, Stop: providers.StopEnd}, nil)
	}
}
