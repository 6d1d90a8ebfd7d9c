package temporal_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "go.temporal.io/sdk/temporal"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers/scripted"
	"mylm/tools"
)

// A cancelled run stops its model call, and its record has an end.
func TestCancel(t *testing.T) {
	t.Run("model", func(t *testing.T) {
		b := newBench(t, agent.Options{Model: scripted.New(scripted.Reply{Text: "I beg", Hang: true})})
		b.begins(func(string) { b.CancelWorkflow() })
		b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
		if err := b.GetWorkflowError(); !sdk.IsCanceledError(errors.Unwrap(err)) {
			t.Error(err)
		}
		if text := b.store.text(t, "s"); !strings.HasSuffix(text, "end interrupted\n") {
			t.Error(text)
		}
	})
	t.Run("tool", func(t *testing.T) { // waited for, so that what it did is recorded
		var b *bench
		wait, err := tools.New("wait", "Waits.", tools.Writes, func(ctx context.Context, _ in) (tools.Result, error) {
			b.CancelWorkflow()
			<-ctx.Done()
			return tools.Result{Text: "half of it is written"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		b = newBench(t, agent.Options{Model: scripted.Say(call("wait", "x"), "done")}, wait)
		b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes})
		if text := b.store.text(t, "s"); !strings.Contains(text, "half of it is written") || strings.Contains(text, "unknown=true") || !strings.HasSuffix(text, "end interrupted\n") {
			t.Error(text)
		}
	})
	t.Run("decision", func(t *testing.T) {
		b := newBench(t, agent.Options{Model: scripted.Say(call("write", "x"))})
		b.RegisterDelayedCallback(func() {
			b.SignalWorkflow(temporal.SignalCancel, "cancelled by somebody")
			b.CancelWorkflow()
		}, time.Hour)
		b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go"})
		if text := b.store.text(t, "s"); !strings.HasSuffix(text, "end interrupted\n") || len(b.ran) > 0 {
			t.Error(text)
		}
		all := b.store.sessions["s"]
		if end, _ := all[len(all)-1].Payload.(agent.EndEntry); end.Error != "cancelled by somebody" {
			t.Errorf("%+v", end)
		}
	})
}
