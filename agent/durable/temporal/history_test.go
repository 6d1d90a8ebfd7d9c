package temporal_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers/scripted"
	"mylm/tools"
)

// reader is runs whose tool returns 50 KB, so many times.
func reader(t *testing.T, store temporal.Store, turns int) *temporal.Runs {
	var says []string
	for i := range turns - 1 {
		says = append(says, call("long", fmt.Sprint(i)))
	}
	long, err := tools.New("long", "Reads much.", tools.Reads, func(_ context.Context, i in) (tools.Result, error) {
		return tools.Result{Text: strings.Repeat(i.Text+" is long. ", 50<<10/len(i.Text+" is long. "))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(long)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := temporal.New(agent.Options{Model: named{scripted.Say(append(says, "done")...)}, Tools: registry, MaxTurns: turns, SummarizeAfterTurns: agent.Off}, store)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// execution is the part of a run that has a history of its own.
type execution struct {
	*history.History
	size int64
}

// executions are those of a run, the first of which has an id.
func executions(t *testing.T, c client.Client, id, run string) (all []execution) {
	for run != "" {
		h := historyOf(t, c, id, run)
		d, err := c.DescribeWorkflow(t.Context(), id, run)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, execution{h, d.RawResponse.GetWorkflowExecutionInfo().GetHistorySizeBytes()})
		run = h.Events[len(h.Events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return all
}

// The history of a run grows by little more than references, however long the results are,
// and a run is longer than a history.
func TestServerHistory(t *testing.T) {
	for _, tt := range []struct{ turns, most int }{{120, 4096}, {40, 120}, {1000, 4096}} {
		t.Run(fmt.Sprintf("%d turns, %d events", tt.turns, tt.most), func(t *testing.T) {
			if tt.turns == 1000 && os.Getenv("MYLM_SLOW") == "" {
				t.Skip("MYLM_SLOW is not set")
			}
			storage, store := &payloads{}, &store{}
			c := server(t, client.Options{ExternalStorage: temporal.Storage(storage)}, "--dynamic-config-value", fmt.Sprint("limit.historyCount.suggestContinueAsNew=", tt.most)).Client()
			runs := reader(t, store, tt.turns)
			defer work(t, c, runs).Stop()
			began := time.Now()
			run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
			first := run.GetRunID()
			var out temporal.Output
			if err := run.Get(t.Context(), &out); err != nil || out.Turns != tt.turns || out.StopReason != agent.StopComplete || out.Entries != len(store.sessions["s"]) {
				t.Fatalf("%+v, %v", out, err)
			}
			took, size, all := time.Since(began), int64(0), executions(t, c, "s", first)
			for i, x := range all {
				size += x.size
				t.Logf("execution %d: %d events, %d bytes", i+1, len(x.Events), x.size)
				if len(x.Events) > tt.most+100 {
					t.Errorf("a history has %d events", len(x.Events))
				}
			}
			t.Logf("%d bytes a turn, %d payloads elsewhere, %v", size/int64(tt.turns), len(storage.all), took)
			if size/int64(tt.turns) > 3<<10 {
				t.Errorf("the history has %d bytes a turn", size/int64(tt.turns))
			}
			if few := 8 * tt.turns / tt.most; len(all) < few {
				t.Errorf("%d executions, which is less than %d", len(all), few)
			}
			for _, e := range store.sessions["s"] {
				if e.Run != out.Run {
					t.Fatalf("entry %d is of the run %s", e.Seq, e.Run)
				}
			}
			replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{ExternalStorage: temporal.Storage(storage)})
			if err != nil {
				t.Fatal(err)
			}
			runs.Register(workflows{replayer})
			for i, x := range all {
				if err := replayer.ReplayWorkflowHistory(nil, x.History); err != nil {
					t.Errorf("execution %d does not run again: %v", i+1, err)
				}
			}
		})
	}
}
