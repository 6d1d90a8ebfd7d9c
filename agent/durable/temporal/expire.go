package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Expirer deletes the payloads that were last put or read before a time.
type Expirer interface {
	Expire(ctx context.Context, before time.Time) (int64, error)
}

// expireEvery is how often Sweep does it.
const expireEvery = time.Hour

// slack is for clocks that differ, for what is stored before its workflow starts, and for
// Payloads that do not note each read.
const slack = 24 * time.Hour

// Sweep deletes payloads that no history of the runs of a task queue names any more, as it
// begins and then each hour, until its context is done. The payloads are those of the
// workers of that queue and of nobody else. Failed is told what goes wrong, which is tried
// again. Any number of processes may do it.
func Sweep(ctx context.Context, c client.Client, namespace, queue string, p Expirer, failed func(error)) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		before, err := Needless(ctx, c, namespace, queue)
		if err == nil {
			_, err = p.Expire(ctx, before)
		}
		if err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("payloads of runs that have ended are not deleted: %w", err))
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Needless returns the time before which payloads were stored that no history of a task
// queue names any more: a day before the first run began that Temporal still knows, and
// at most a day and the retention of the namespace ago.
func Needless(ctx context.Context, c client.Client, namespace, queue string) (time.Time, error) {
	d, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return time.Time{}, err
	}
	retention := d.GetConfig().GetWorkflowExecutionRetentionTtl()
	if retention == nil {
		return time.Time{}, errors.New("the namespace does not say how long it keeps histories")
	}
	first := time.Now().Add(-retention.AsDuration())
	query := fmt.Sprintf("TaskQueue = '%s' AND StartTime < '%s'", strings.ReplaceAll(queue, "'", "''"), first.UTC().Format(time.RFC3339Nano))
	for page := []byte(nil); ; {
		list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: query, NextPageToken: page})
		if err != nil {
			return time.Time{}, err
		}
		for _, e := range list.GetExecutions() {
			if began := e.GetStartTime().AsTime(); began.Before(first) {
				first = began
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return first.Add(-slack), nil
		}
	}
}
