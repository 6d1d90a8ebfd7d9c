package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mylm/agent"
)

// end says how the plan came out, and closes its record.
func (r *run) end(ctx context.Context) {
	s := &r.state
	if r.graph != nil {
		s.Tasks = r.graph.Tasks()
	}
	r.verdict()
	for _, t := range s.Tasks {
		if r.cut[t.ID] && s.CurrentTask == "" {
			s.CurrentTask = t.ID
		}
	}
	s.Turns, s.Usage = r.budget.spent(), r.cost.usage
	s.Thoughts, s.Actions = append([]string{}, r.cost.thoughts...), append([]Action{}, r.cost.actions...)
	s.Learnings, s.Tasks = append([]string{}, s.Learnings...), append([]Task{}, s.Tasks...)
	s.Output = output(s.Tasks)
	keep := context.WithoutCancel(ctx) // a reader should see why it ended
	var recorded error
	if s.Output != "" && !r.opts.PlanOnly {
		recorded = r.record(keep, agent.ReplyEntry{Text: s.Output, Raw: s.Output, Answer: s.Output, Stop: "stop"})
	}
	recorded = cmp.Or(recorded, r.record(keep, agent.EndEntry{StopReason: r.stop, Error: message(r.err)}))
	if recorded != nil && r.stop.Status() != agent.Failed {
		e := asEnd(recorded)
		r.stop, r.err = e.reason, e.err
	}
	s.StopReason, s.Error = r.stop, message(r.err)
	s.Success = r.stop == agent.StopComplete && r.graph.Done()
	result := agent.Result{
		Run: r.id, Session: r.session.ID, Response: s.Output, Status: r.stop.Status(), StopReason: r.stop, Turns: s.Turns,
		Calls: append([]agent.CallRecord{}, r.cost.calls...), Usage: s.Usage, UsagePartial: r.cost.partial, Duration: time.Since(r.started), Err: r.err,
	}
	r.emit("", End{State: *s})
	r.emit("", agent.FinalResponse{Result: result})
}

// verdict is the completion check: a plan is complete when every task is.
func (r *run) verdict() {
	switch {
	case r.stop != "":
	case r.opts.PlanOnly, r.graph.Done():
		r.stop = agent.StopComplete
	default:
		var left []string
		for _, t := range r.graph.tasks {
			switch {
			case t.has(droppedKey):
				left = append(left, t.ID+" (dropped)")
			case t.Status != Completed:
				left = append(left, fmt.Sprintf("%s (%s)", t.ID, t.Status))
			}
		}
		text := fmt.Sprintf("%d of %d tasks are completed; left are %s", r.graph.Count(Completed), len(r.graph.tasks), strings.Join(left[:min(len(left), 10)], ", "))
		r.notice("", NoticeBlocked, "nothing more can be done: "+text)
		r.stop, r.err = agent.StopIncomplete, &agent.LimitError{
			Reason: agent.StopIncomplete, Message: "the plan is not complete: " + text,
		}
	}
	r.state.Completed = r.graph != nil && !r.opts.PlanOnly && r.graph.Count(Pending)+r.graph.Count(InProgress) == 0
}

// message is the text of an error, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// reasonOf is why a context that is done ends a plan.
func reasonOf(ctx context.Context) agent.StopReason {
	var e *agent.LimitError
	if errors.As(context.Cause(ctx), &e) {
		return e.Reason
	}
	return agent.StopInterrupted
}
