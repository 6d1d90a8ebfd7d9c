package temporal_test

import (
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers/scripted"
	"mylm/tools"
)

// Two workers take turns with the activities of a run. Each reads what the other has appended
// meanwhile, and makes the calls: nothing is taken for a call that was begun before.
func TestWorkersTakeTurns(t *testing.T) {
	m := scripted.Say(call("write", "a"), call("write", "b"), call("read", "c"), call("write", "d"), "It is done.")
	var suite testsuite.WorkflowTestSuite
	b := &bench{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), store: &store{}}
	b.busy()
	var both [2]captured
	for i := range both {
		runs, err := temporal.New(agent.Options{Model: m, Tools: b.registry(t)}, b.store)
		if err != nil {
			t.Fatal(err)
		}
		b.runs, both[i] = runs, captured{}
		runs.Register(both[i])
	}
	b.RegisterWorkflowWithOptions(b.runs.Workflow, workflow.RegisterOptions{Name: temporal.WorkflowName})
	for name, first := range both[0] {
		// The reply is one worker's and its call the other's, in the first turns, and then the reverse.
		var n atomic.Int64
		either := reflect.MakeFunc(first.Type(), func(args []reflect.Value) []reflect.Value {
			turn := int(n.Add(1)-1) / 2
			if name == "mylm.tool" {
				turn++
			}
			return both[turn%2][name].Call(args)
		})
		b.RegisterActivityWithOptions(either.Interface(), activity.RegisterOptions{Name: name})
	}
	out := b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
	text := b.store.text(t, "s")
	if out.StopReason != agent.StopComplete || out.Turns != 5 || strings.Join(b.ran, ", ") != "write a, write b, read c, write d" || strings.Contains(text, "unknown=true") {
		t.Errorf("%+v; ran %v\n%s", out, b.ran, text)
	}
}

// captured are the activities of a worker, by their names.
type captured map[string]reflect.Value

func (captured) RegisterWorkflowWithOptions(any, workflow.RegisterOptions) {}

func (a captured) RegisterActivityWithOptions(f any, o activity.RegisterOptions) {
	a[o.Name] = reflect.ValueOf(f)
}
