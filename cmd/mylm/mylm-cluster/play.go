package main

import (
	"time"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/plan"
	"mylm/providers"
	"mylm/tools"
)

// player makes events of the entries of a session: those that the run had, as far as the
// record has them. Texts come whole.
type player struct {
	run    string
	turn   int
	seq    int
	began  time.Time
	last   agent.Entry
	calls  int // results of the turn
	asked  bool
	end    *agent.EndEntry
	result agent.Result

	plan *played // that the run is; nil: it is none
	of   *player // the plan that the run is for; nil: it is for none
	task string  // of that plan

	looked time.Time // the last time that something came, or that it was looked whether a call waits
	told   int       // the last entry before a call that waits
}

// play returns the events of an entry.
func (p *player) play(e agent.Entry) (all []agent.Event) {
	addTo := func(task string, payload agent.Payload) {
		p.seq++
		all = append(all, agent.Event{Run: e.Run, Task: task, Seq: p.seq, Turn: p.turn, Time: e.Time, Payload: payload})
	}
	add := func(payload agent.Payload) { addTo("", payload) }
	endTurn := func() {
		if p.asked {
			add(agent.TurnEnd{HasToolCalls: p.calls > 0})
		}
		p.asked, p.calls = false, 0
	}
	p.looked = time.Now()
	p.last = e
	switch x := e.Payload.(type) {
	case agent.RunEntry:
		*p = player{run: e.Run, began: e.Time, last: e, plan: newPlayed(x), of: p.of, task: p.task, looked: p.looked,
			result: agent.Result{Run: e.Run, Session: e.Session, Calls: []agent.CallRecord{}}}
	case agent.PromptEntry:
		if p.plan != nil {
			p.plan.Goal = x.Text
		}
	case agent.CustomEntry:
		if x.Type == temporal.EntryChanges {
			add(agent.Notice{Code: string(x.Type), Text: changesText(e)})
		} else if p.plan != nil {
			parts := p.playPlan(x, addTo)
			return append(parts, all...)
		}
	case agent.ReplyEntry:
		if p.plan != nil { // what its tasks came to
			p.plan.Output = x.Answer
			return nil
		}
		endTurn()
		p.usage(x.Usage)
		if p.turn = e.Turn; x.Purpose == agent.PurposeTurn {
			p.result.Turns = max(p.result.Turns, e.Turn)
			if p.of != nil {
				p.of.result.Turns++
			}
			p.asked = true
			add(agent.TurnStart{})
		}
		if x.Thought != "" {
			add(agent.Thought{Text: x.Thought})
		}
		if x.Answer != "" {
			add(agent.TextDelta{Text: x.Answer})
		}
		if x.Error != "" {
			add(agent.Error{Source: "model", Message: x.Error})
		}
	case agent.AuxiliaryEntry:
		p.usage(x.Usage)
	case agent.CallEntry:
		p.calls++
		add(agent.ToolCall{ID: x.ID, Name: x.Name, Args: x.Args, Effect: effectOf(x), Repairs: x.Repairs, Refused: x.Refused})
	case agent.ResultEntry:
		p.calls++
		p.called(agent.CallRecord{Name: x.Name, Args: x.Args,
			Success: x.Success, Denied: x.Denied, Skipped: x.Skipped, DryRun: x.DryRun, Blocked: x.Blocked})
		add(agent.ToolOutput{ID: x.ID, Name: x.Name, Args: x.Args, Success: x.Success, Output: x.Text, Error: x.Error, Denied: x.Denied, Skipped: x.Skipped, DryRun: x.DryRun,
			ExitCode: x.ExitCode, Truncated: x.Truncated, Origin: x.Origin, Duration: x.Duration, Refused: x.Refused, Blocked: x.Blocked})
	case agent.EndEntry:
		endTurn()
		p.end = &x
		p.result.StopReason, p.result.Status, p.result.Duration = x.StopReason, x.StopReason.Status(), e.Time.Sub(p.began)
		if p.plan != nil {
			add(plan.End{State: p.endPlan(x)})
		}
	}
	return all
}

// called keeps a call, also for the plan that it was made for.
func (p *player) called(c agent.CallRecord) {
	p.result.Calls = append(p.result.Calls, c)
	if p.of != nil {
		p.of.result.Calls = append(p.of.result.Calls, c)
		action := plan.Action{Task: p.task, Name: c.Name, Args: c.Args, Success: c.Success}
		p.of.plan.Actions = append(p.of.plan.Actions, action)
	}
}

func (p *player) usage(u *providers.Usage) {
	if p.of != nil {
		p.of.usage(u)
	}
	if u == nil {
		p.result.UsagePartial = true
		return
	}
	p.result.Usage = p.result.Usage.Add(*u)
}

// final is the last event, which only the end of the run can make.
func (p *player) final(r agent.Result) agent.Event {
	p.seq++
	return agent.Event{Run: r.Run, Seq: p.seq, Turn: p.turn, Time: p.last.Time, Payload: agent.FinalResponse{Result: r}}
}

// mayWait reports whether a call of the run may wait for a decision: the last thing that
// happened is a reply, or a call that may have been refused something.
func (p *player) mayWait() bool {
	switch e := p.last.Payload.(type) {
	case agent.ReplyEntry:
		return e.Text != e.Answer
	case agent.CallEntry:
		return true
	}
	return false
}

func effectOf(c agent.CallEntry) (e tools.Effect) {
	if c.Effect != nil {
		e = *c.Effect
	}
	return e
}
