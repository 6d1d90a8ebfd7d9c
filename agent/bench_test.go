package agent_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"mylm/agent"
	"mylm/providers/scripted"
	"mylm/tools"
)

// BenchmarkTurn measures what the engine itself costs: a scripted model that
// calls a tool that does nothing, 200 times. It reports the time of a turn
// around the 10th and around the 200th, which must not grow with the length of
// the conversation.
func BenchmarkTurn(b *testing.B) {
	const turns = 210
	replies := make([]string, turns)
	for i := range replies {
		replies[i] = "I go on.\n" + call("noop", fmt.Sprintf(`{"text":"%d"}`, i))
	}
	noop, err := tools.New("noop", "Do nothing.", tools.Reads, func(context.Context, echoIn) (tools.Result, error) {
		return tools.Result{Text: "ok"}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := tools.NewRegistry(noop)
	if err != nil {
		b.Fatal(err)
	}
	var at [turns + 2]time.Duration // when each turn began, summed over the runs
	var first, last time.Duration
	b.ReportAllocs()
	for b.Loop() {
		model := scripted.Say(replies...)
		model.Discard = true
		a, err := agent.New(agent.Options{Model: model, Tools: registry, Approve: agent.AllowAll, MaxTurns: turns})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		for ev, err := range a.Run(b.Context(), nil, "go") {
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := ev.Payload.(agent.TurnStart); ok {
				at[ev.Turn] = time.Since(start)
			}
		}
		first += at[20] - at[10]
		last += at[210] - at[200]
	}
	b.ReportMetric(float64(first.Nanoseconds())/10/float64(b.N), "ns/turn@10")
	b.ReportMetric(float64(last.Nanoseconds())/10/float64(b.N), "ns/turn@200")
	b.ReportMetric(float64(last)/float64(first), "turn200/turn10")
}
