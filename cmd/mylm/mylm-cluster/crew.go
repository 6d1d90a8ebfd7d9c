package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// pollers are the workers that were there for a queue of a type a short time ago.
func (l *link) pollers(ctx context.Context, queue string, of enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return l.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: l.space, TaskQueue: &taskqueue.TaskQueue{Name: queue, Kind: enums.TASK_QUEUE_KIND_NORMAL}, TaskQueueType: of, ReportStats: true,
	})
}

// present is how long ago a worker may have asked for work: each asks once a minute.
const present = 70 * time.Second

// crew are the workers of a queue, and those that call its tools.
type crew struct {
	same, other int            // of this version of the loop, and of another
	version     string         // one of the others
	runs, tools int            // of this version, those that take runs, and calls of tools
	settings    map[string]int // of those of this version, by the digest
}

// crew asks Temporal for the workers of the queue.
func (l *link) crew(ctx context.Context) (c crew, err error) {
	c.settings = map[string]int{}
	seen := map[string]bool{}
	for queue, of := range map[string]enums.TaskQueueType{l.queue: enums.TASK_QUEUE_TYPE_WORKFLOW, toolQueue(l.queue): enums.TASK_QUEUE_TYPE_ACTIVITY} {
		d, err := l.pollers(ctx, queue, of)
		if err != nil {
			return c, err
		}
		for _, p := range d.GetPollers() {
			if time.Since(p.GetLastAccessTime().AsTime()) > present {
				continue
			}
			c.count(p.GetIdentity(), queue == l.queue, seen[p.GetIdentity()])
			seen[p.GetIdentity()] = true
		}
	}
	return c, nil
}

// count counts a worker that asks for runs, or for calls of tools. It may do both.
func (c *crew) count(name string, runs, again bool) {
	rest, ours := strings.CutPrefix(name, identityPrefix) // see identity
	version, _, _ := strings.Cut(rest, " ")
	if !ours || version != strconv.Itoa(loopVersion) {
		if c.version = "unknown"; ours {
			c.version = version
		}
		if !again {
			c.other++
		}
		return
	}
	if runs {
		c.runs++
	} else {
		c.tools++
	}
	if again {
		return
	}
	c.same++
	if words := strings.Fields(name); len(words) >= 2 {
		c.settings[strings.Join(words[len(words)-2:], " ")]++
	}
}

// kinds is how many different settings there are among workers with the same --takes.
func (c *crew) kinds() (most int) {
	of := map[string]int{}
	for settings := range c.settings {
		takes, _, _ := strings.Cut(settings, " ")
		of[takes]++
		most = max(most, of[takes])
	}
	return most
}
