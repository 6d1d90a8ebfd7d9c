package temporal_test

import (
	"context"
	"testing"
	"time"

	workflow "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"mylm/agent/durable/temporal"
)

// expirer ends the sweep with its first time.
type expirer struct {
	before time.Time
	stop   context.CancelFunc
}

func (e *expirer) Expire(_ context.Context, before time.Time) (int64, error) {
	e.before = before
	e.stop()
	return 0, nil
}

// old are executions that a server would have, in pages of one.
type old struct {
	client.Client
	began []time.Time
}

func (o *old) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	r := &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflow.WorkflowExecutionInfo{{StartTime: timestamppb.New(o.began[0])}}}
	if o.began = o.began[1:]; len(o.began) > 0 {
		r.NextPageToken = []byte("more")
	}
	return r, nil
}

// Payloads are kept for as long as a history may name them: the retention of the namespace,
// and since before the first run that is still known.
func TestServerExpire(t *testing.T) {
	c := server(t, client.Options{}).Client()
	d, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, earliest := &expirer{stop: cancel}, time.Now().Add(-d.Config.WorkflowExecutionRetentionTtl.AsDuration()-24*time.Hour)
	temporal.Sweep(ctx, c, "default", "it's a queue", e, func(err error) { t.Error(err); cancel() })
	if after := e.before.Sub(earliest); after < 0 || after > time.Minute {
		t.Errorf("what was stored before %v is deleted, and not before %v", e.before, earliest)
	}
	first := time.Now().Add(-90 * 24 * time.Hour).Truncate(time.Second)
	before, err := temporal.Needless(t.Context(), &old{c, []time.Time{first.Add(time.Hour), first, first.Add(time.Minute)}}, "default", "agents")
	if err != nil || !before.Equal(first.Add(-24*time.Hour)) {
		t.Errorf("%v, %v", before, err)
	}
}
