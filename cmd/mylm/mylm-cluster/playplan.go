package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/prompts"
)

// played is a plan as far as its entries tell it.
type played struct {
	plan.State
	limit int                // of iterations, in the options
	parts map[string]*player // the runs for it, by their sessions
	cut   map[string]bool    // tasks that were in progress when it ended
}

// newPlayed is that of a run that begins, nil if it is none of a plan.
func newPlayed(begins agent.RunEntry) *played {
	if begins.Name != plan.RunName {
		return nil
	}
	var setup struct{ Options plan.Options }
	_ = json.Unmarshal(begins.Args, &setup) // without it limits are not known
	v := &played{limit: setup.Options.MaxIterations, parts: map[string]*player{}, cut: map[string]bool{}}
	v.MaxTurns, v.Tasks = setup.Options.MaxTurns, []plan.Task{}
	v.Thoughts, v.Actions, v.Learnings = []string{}, []plan.Action{}, []string{}
	return v
}

// playPlan returns the events of an entry that only plans have.
func (p *player) playPlan(c agent.CustomEntry, add func(task string, payload agent.Payload)) (parts []agent.Event) {
	v := p.plan
	switch c.Type {
	case plan.EntryTask, plan.EntryConsult:
		return p.playPart(c)
	case plan.EntryPlan:
		if made, ok := read[plan.Planned](c); ok {
			was := v.Tasks
			v.Tasks = made.Tasks
			v.MaxIterations = cmp.Or(v.MaxIterations, v.limit, max(10, 2*len(v.Tasks)))
			add("", made)
			for _, t := range was {
				at := v.task(t.ID)
				if t.Status == plan.Pending && at != nil && at.Status == plan.Blocked { // it was dropped
					add(t.ID, plan.TaskEnd{ID: t.ID, Status: at.Status, Error: at.Error})
				}
			}
		}
	case plan.EntryStep:
		if s, ok := read[plan.Progress](c); ok {
			p.step(s, add)
		}
	case plan.EntryEvent:
		switch string(c.Purpose) {
		case plan.Recovery{}.Type():
			if ev, ok := read[plan.Recovery](c); ok {
				add(c.Name, ev)
			}
		case agent.Notice{}.Type():
			if ev, ok := read[agent.Notice](c); ok {
				add(c.Name, ev)
			}
		}
	case plan.EntryRead:
		if c.Error == "" {
			p.seen(c, add)
		}
	}
	return nil
}

// onlyMade reports whether nothing was to be done yet of a plan that has ended.
func (v *played) onlyMade() bool {
	return v.StopReason == agent.StopComplete && v.Iteration == 0 && len(v.Tasks) > 0
}

// read is what an entry has in its arguments.
func read[T any](c agent.CustomEntry) (value T, ok bool) {
	return value, json.Unmarshal(c.Args, &value) == nil
}

// task is one of the plan, nil if there is no such task.
func (v *played) task(id string) *plan.Task {
	if i := slices.IndexFunc(v.Tasks, func(t plan.Task) bool { return t.ID == id }); i >= 0 {
		return &v.Tasks[i]
	}
	return nil
}

// step is the start or the end of a task, or another attempt.
func (p *player) step(s plan.Progress, add func(string, agent.Payload)) {
	v, t := p.plan, p.plan.task(s.Task.ID)
	if t == nil {
		return
	}
	was := t.Status
	*t, v.Iteration = s.Task, s.Iteration
	v.Learnings = append(v.Learnings, s.Learned...)
	v.cut[t.ID] = t.Status == plan.Pending
	switch {
	case t.Status != plan.InProgress:
		add(t.ID, plan.TaskEnd{ID: t.ID, Status: t.Status, Result: t.Result, Error: t.Error})
	case was != plan.InProgress:
		add(t.ID, plan.TaskStart{ID: t.ID, Description: t.Description,
			Iteration: s.Iteration, MaxIterations: v.MaxIterations})
	}
}

// seen is what was read in an answer about the plan.
func (p *player) seen(c agent.CustomEntry, add func(string, agent.Payload)) {
	v, thought := p.plan, ""
	switch string(c.Purpose) {
	case prompts.Reason:
		said, _ := read[plan.Choice](c)
		thought = said.Thought
		add("", plan.Reasoned{Choice: said})
	case prompts.Observe:
		said, _ := read[plan.Observation](c)
		if t := v.task(c.Name); t != nil {
			if part := v.parts[t.Session()]; part != nil && part.result.Status != agent.Success {
				said.Success = false // as the plan counts it
			}
		}
		thought = said.Progress
		add(c.Name, plan.Observed{ID: c.Name, Observation: said})
	case prompts.Reflect:
		said, _ := read[plan.Observation](c)
		thought, v.Learnings = said.Progress, append(v.Learnings, said.Learned...)
		add("", plan.Reflected{Progress: said.Progress, Learned: said.Learned, Adjustment: said.Adjustment})
	}
	if thought != "" {
		v.Thoughts = append(v.Thoughts, thought)
	}
}

// playPart returns the events of a run for the plan: of a question about it, those that a
// person waits for.
func (p *player) playPart(c agent.CustomEntry) (all []agent.Event) {
	e, ok := read[agent.Entry](c)
	if !ok {
		return nil
	}
	part := p.plan.parts[e.Session]
	if part == nil {
		part = &player{of: p, task: c.Name}
		p.plan.parts[e.Session] = part
	}
	events := part.play(e)
	if reply, ok := e.Payload.(agent.ReplyEntry); ok {
		part.result.Response = strings.TrimSpace(reply.Answer)
	}
	if e.Kind() == agent.EntryEnd {
		events = append(events, part.final(part.result))
	}
	for _, ev := range events {
		switch ev.Payload.(type) {
		case agent.Thought, agent.ToolCall, agent.ToolOutput:
		default:
			if c.Type == plan.EntryConsult {
				continue
			}
		}
		ev.Task = c.Name
		all = append(all, ev)
	}
	return all
}

// endPlan completes the state of a plan that has ended.
func (p *player) endPlan(end agent.EndEntry) plan.State {
	v := p.plan
	v.StopReason, v.Error, v.Turns, v.Usage = end.StopReason, end.Error, p.result.Turns, p.result.Usage
	if i := slices.IndexFunc(v.Tasks, func(t plan.Task) bool { return v.cut[t.ID] }); i >= 0 {
		v.CurrentTask = v.Tasks[i].ID
	}
	count := func(all ...plan.Status) (n int) {
		for _, t := range v.Tasks {
			if slices.Contains(all, t.Status) {
				n++
			}
		}
		return n
	}
	v.Success = end.StopReason == agent.StopComplete && count(plan.Completed) == len(v.Tasks)
	v.Completed = len(v.Tasks) > 0 && count(plan.Pending, plan.InProgress) == 0
	return v.State
}

// waits are the runs that may have a call which waits for a decision: this one, or those for
// the tasks of the plan that it is.
func (p *player) waits() (all []*player) {
	if p.plan == nil {
		return []*player{p}
	}
	for _, t := range p.plan.Tasks {
		if part := p.plan.parts[t.Session()]; part != nil {
			all = append(all, part)
		}
	}
	return all
}
