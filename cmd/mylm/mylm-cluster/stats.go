package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"mylm/agent/durable/temporal"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
)

func (c *cluster) statsCommand() *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "count runs, calls that wait, the backlog of the queue, sessions and memories",
		Description: "Of runs, Temporal keeps those that are under way and those that ended a short time ago: how long, its\nnamespace says.",
		Flags:       join(temporalFlags(), jsonFlag()),
		Action:      func(ctx *cli.Context) error { return c.withLink(ctx, func(l *link) error { return c.stats(ctx, l) }) },
	}
}

// stats are what stats --json prints.
type stats struct {
	Queue    string           `json:"queue"`
	Runs     map[string]int64 `json:"runs"`    // by status; a plan is one
	Waiting  int              `json:"waiting"` // runs, and tasks of plans, with a call that waits for a decision
	Asked    int              `json:"asked"`   // running ones that were asked whether one waits
	Workers  int              `json:"workers"`
	Settings int              `json:"settings"` // how many different ones there are among workers with the same --takes
	Backlog  backlog          `json:"backlog"`
	Sessions map[string]int   `json:"sessions"` // by state
	Memories int              `json:"memories"`

	answering int  // workers that take runs, and answer for them
	partly    bool // others were not asked
}

// backlog is how many tasks nobody works on, approximately.
type backlog struct {
	Workflow int64 `json:"workflow"`
	Activity int64 `json:"activity"`
	Tools    int64 `json:"tools"` // calls for workers that take tools
}

func (c *cluster) stats(ctx *cli.Context, l *link) (err error) {
	s := stats{Queue: l.queue}
	if s.Sessions, err = l.sessions.Count(ctx.Context); err != nil {
		return err
	}
	store, err := l.db.Memory(ctx.Context, ctx.String("tenant"), memory.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	held, err := store.Stats(ctx.Context)
	if err != nil {
		return err
	}
	s.Memories = held.Documents
	if err := l.counts(ctx.Context, &s); err != nil {
		return err
	}
	if ctx.Bool("json") {
		return term.PrintJSON(c.screen, s)
	}
	waiting := fmt.Sprint(s.Waiting)
	if s.partly {
		waiting = fmt.Sprintf("%d of the %d runs that were asked", s.Waiting, s.Asked)
	}
	workers := term.Plural(s.Workers, "worker")
	if s.Settings > 1 {
		workers += fmt.Sprintf(" with %d different settings", s.Settings)
	}
	c.screen.Answer(fmt.Sprintf("queue %s: %s, a backlog of %d and %d (runs, calls)\nruns: %s\nwaiting for a decision: %s\nsessions: %s\nmemories: %d\n",
		term.Printable(s.Queue), workers, s.Backlog.Workflow, s.Backlog.Activity+s.Backlog.Tools, counted(s.Runs), waiting, counted(s.Sessions), s.Memories))
	return nil
}

// counted is a list of numbers, by name.
func counted[N int | int64](all map[string]N) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%d %s", all[name], name))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// counts asks Temporal.
func (l *link) counts(ctx context.Context, s *stats) error {
	groups, err := l.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType IN (%q, %q) AND TaskQueue = %q AND ParentWorkflowId IS NULL GROUP BY ExecutionStatus",
			temporal.WorkflowName, temporal.PlanName, l.queue),
	})
	if err != nil {
		return err
	}
	s.Runs = map[string]int64{}
	for _, g := range groups.GetGroups() {
		var status string
		if len(g.GetGroupValues()) == 1 && converter.GetDefaultDataConverter().FromPayload(g.GetGroupValues()[0], &status) == nil {
			s.Runs[strings.ToLower(status)] = g.GetCount()
		}
	}
	all, err := l.crew(ctx)
	if err != nil {
		return err
	}
	s.answering, s.Workers, s.Settings = all.runs, all.same, all.kinds()
	for _, b := range []struct {
		queue string
		of    enums.TaskQueueType
		n     *int64
	}{
		{l.queue, enums.TASK_QUEUE_TYPE_WORKFLOW, &s.Backlog.Workflow},
		{l.queue, enums.TASK_QUEUE_TYPE_ACTIVITY, &s.Backlog.Activity},
		{toolQueue(l.queue), enums.TASK_QUEUE_TYPE_ACTIVITY, &s.Backlog.Tools},
	} {
		d, err := l.pollers(ctx, b.queue, b.of)
		if err != nil {
			return err
		}
		*b.n = d.GetStats().GetApproximateBacklogCount()
	}
	return l.countWaiting(ctx, s)
}

// maxAsked is how many runs are asked whether a call waits: a worker answers each.
const maxAsked = 100

// countWaiting asks running runs, those for plans too. Those that no worker answers for are
// not counted.
func (l *link) countWaiting(ctx context.Context, s *stats) error {
	if s.answering == 0 {
		s.partly = s.Runs["running"] > 0
		return nil
	}
	list, err := l.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: maxAsked,
		Query: fmt.Sprintf("WorkflowType = %q AND TaskQueue = %q AND ExecutionStatus = 'Running'",
			temporal.WorkflowName, l.queue)})
	if err != nil {
		return err
	}
	s.partly = len(list.GetNextPageToken()) > 0
	runs := list.GetExecutions()
	waiting := make([]bool, len(runs))
	asking, limited := errgroup.WithContext(ctx)
	asking.SetLimit(8)
	for i, run := range runs {
		asking.Go(func() error {
			q, err := l.waiting(limited, strings.TrimPrefix(run.GetExecution().GetWorkflowId(), l.workflow("")))
			var gone *serviceerror.NotFound
			var f *failure.Error
			if err != nil && !errors.As(err, &gone) && !errors.As(err, &f) {
				return err
			}
			waiting[i] = q != nil
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		return err
	}
	s.Asked = len(runs)
	for _, is := range waiting {
		if is {
			s.Waiting++
		}
	}
	return nil
}
