package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/providers/demo"
	"mylm/tools"
)

// entries are a recorder.
type entries []agent.Entry

func (all *entries) Append(_ context.Context, e agent.Entry) error {
	*all = append(*all, e)
	return nil
}

// shown is what the events say that a record has, one a line: where they come in pieces or
// not does not count, and neither do their numbers and times.
func shown(t *testing.T, ev agent.Event) string {
	t.Helper()
	switch p := ev.Payload.(type) {
	case agent.TextDelta, agent.Notice, agent.AnswerStart, plan.Recovery:
		return ""
	case agent.FinalResponse:
		p.Result.Duration = 0
		ev.Payload = p
	case agent.ToolOutput:
		p.Duration = 0
		ev.Payload = p
	case agent.ToolCall:
		p.Preview = ""
		ev.Payload = p
	}
	text, err := json.Marshal(ev.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return ev.Payload.Type() + " " + ev.Task + " " + string(text) + "\n"
}

// What is played of the record of a plan is what the plan has reported, its state included.
func TestPlayPlan(t *testing.T) {
	list, err := tools.New("list_dir", "Lists.", tools.Reads, func(context.Context, struct {
		Path string `json:"path"`
	}) (tools.Result, error) {
		return tools.Result{Text: "a.txt\nb.txt"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, goal string
		o          plan.Options
	}{
		{"tasks", "list the files here, then what is 2 + 3?, then what is 4 + 5?, then what is 6 + 7?", plan.Options{}},
		{"a task that fails", "list the files here, then fly to the moon, then what is 2 + 3?", plan.Options{}},
		{"a limit", "list the files here, then what is 2 + 3?", plan.Options{MaxTurns: 4}},
		{"no questions", "list the files here", plan.Options{NoPlan: true, NoObserve: true, MaxIterations: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var kept entries
			tt.o.Agent = agent.Options{Model: demo.New(), Tools: registry, Recorder: &kept}
			planner, err := plan.New(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			var want, got strings.Builder
			var result agent.Result
			for ev := range planner.Run(t.Context(), nil, tt.goal, nil) {
				if ev.Payload == nil { // the error
					continue
				}
				want.WriteString(shown(t, ev))
				if end, ok := ev.Payload.(agent.FinalResponse); ok && ev.Task == "" {
					result = end.Result
				}
			}
			p := &player{}
			for _, e := range kept {
				for _, ev := range p.play(e) {
					got.WriteString(shown(t, ev))
				}
			}
			p.result.Response = p.plan.Output // see watch.result
			got.WriteString(shown(t, p.final(p.result)))
			if got.String() != want.String() {
				t.Errorf("played\n%s\nreported\n%s", &got, &want)
			}
			if result.Turns == 0 {
				t.Error("nothing was done")
			}
		})
	}
}

// What only a plan on many machines records of what happened are its events again.
func TestPlayEvents(t *testing.T) {
	want := []agent.Event{
		{Payload: agent.Notice{Code: plan.NoticeUnreadable, Text: "no plan was made"}},
		{Task: "t1", Payload: plan.Recovery{ID: "t1", Step: plan.StepAgain, Reason: "it failed"}},
	}
	p := &player{}
	p.play(agent.Entry{Payload: agent.RunEntry{Name: plan.RunName}})
	for _, ev := range want {
		args, err := json.Marshal(ev.Payload)
		if err != nil {
			t.Fatal(err)
		}
		got := p.play(agent.Entry{Payload: agent.CustomEntry{Type: plan.EntryEvent, Name: ev.Task, Purpose: agent.Purpose(ev.Payload.Type()), Args: args}})
		if len(got) != 1 || got[0].Task != ev.Task || got[0].Payload != ev.Payload {
			t.Errorf("%+v", got)
		}
	}
}
