package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/providers"
)

// State is the whole state of a plan: while it lasts, and at its end.
type State struct {
	Goal          string   `json:"goal"`
	Tasks         []Task   `json:"tasks"`
	CurrentTask   string   `json:"current_task,omitempty"` // the first that was in progress when the plan was interrupted
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"max_iterations"`
	Thoughts      []string `json:"thoughts"`
	Actions       []Action `json:"actions"`
	Learnings     []string `json:"learnings"`
	Completed     bool     `json:"completed"` // nothing is left that could be done
	Success       bool     `json:"success"`   // every task is completed
	Error         string   `json:"error,omitempty"`

	Turns    int             `json:"turns"`     // replies of the model
	MaxTurns int             `json:"max_turns"` // of which there may be so many
	Usage    providers.Usage `json:"usage"`

	StopReason agent.StopReason `json:"stop_reason,omitempty"`
	Output     string           `json:"output"` // the results, in the order of the plan
}

// Action is a call of a tool in a task.
type Action struct {
	Task    string          `json:"task"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Success bool            `json:"success"`
}

// Bounds of what a State keeps: the last thoughts and learnings, which a person
// reads.
const maxHistory = 100

func appendLast(list []string, more ...string) []string {
	for _, s := range more {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list[max(0, len(list)-maxHistory):]
}

// output are the results of the tasks: of one by itself, of several under their
// descriptions; "" as long as there is none.
func output(tasks []Task) string {
	switch {
	case !slices.ContainsFunc(tasks, func(t Task) bool { return t.Status == Completed }):
		return ""
	case len(tasks) == 1:
		return tasks[0].Result
	}
	var parts []string
	for _, t := range tasks {
		body := t.Result
		if t.Status != Completed {
			body = fmt.Sprintf("(%s: %s)", t.Status, t.Error)
			if t.Error == "" {
				body = fmt.Sprintf("(%s)", t.Status)
			}
		}
		parts = append(parts, "## "+oneLine(t.Description)+"\n\n"+strings.TrimSpace(body))
	}
	return strings.Join(parts, "\n\n")
}

func oneLine(s string) string { return truncate(strings.Join(strings.Fields(s), " "), 200) }

// truncate is the beginning of a text, n bytes at most.
func truncate(s string, n int) string {
	if s = strings.TrimSpace(s); len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}

// end reports how the plan ended, and closes its record.
func (r *run) end(ctx context.Context) {
	s := &r.state
	if r.graph != nil {
		s.Tasks = r.graph.Tasks()
	}
	r.checkCompletion()
	for _, t := range s.Tasks {
		if r.interrupted[t.ID] && s.CurrentTask == "" {
			s.CurrentTask = t.ID
		}
	}
	s.Turns, s.Usage = r.budget.usedTurns(), r.cost.usage
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
		Calls: append([]agent.CallRecord{}, r.cost.calls...), Usage: s.Usage, UsagePartial: r.cost.partial, Duration: r.now().Sub(r.started), Err: r.err,
		Tainted: r.opts.Agent.Tainted || r.plannerTainted.Load() || r.graph != nil && r.tainted(),
	}
	r.emit("", End{State: *s})
	r.emit("", agent.FinalResponse{Result: result})
}

// checkCompletion is the completion check: a plan is complete when every task is.
func (r *run) checkCompletion() {
	switch {
	case r.stop != "":
	case r.opts.PlanOnly, r.graph.Done():
		r.stop = agent.StopComplete
	default:
		var left []string
		for _, t := range r.graph.tasks {
			switch {
			case t.hasNote(droppedKey):
				left = append(left, t.ID+" (dropped)")
			case t.Status != Completed:
				left = append(left, fmt.Sprintf("%s (%s)", t.ID, t.Status))
			}
		}
		text := fmt.Sprintf("%d of %d tasks completed; left: %s", r.graph.Count(Completed), len(r.graph.tasks), strings.Join(left[:min(len(left), 10)], ", "))
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
