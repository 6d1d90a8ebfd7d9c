package agent_test

import (
	"context"
	"sync"
	"testing"

	"mylm/agent"
	"mylm/providers/scripted"
	"mylm/tools"
)

// BenchmarkLongRun measures what it costs to keep a conversation within its
// window: 200 turns with results of 50 KB, in 8,192 tokens.
func BenchmarkLongRun(b *testing.B) {
	const turns = 200
	text := make([]byte, 50_000)
	for i := range text {
		text[i] = "some words of a page, and a line end\n"[i%37]
	}
	page, err := tools.New("page", "Show a page.", tools.Reads, func(_ context.Context, in echoIn) (tools.Result, error) {
		return tools.Result{Text: in.Text + string(text)}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := tools.NewRegistry(page)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := &window{size: 8192, count: func(string) int { return 0 }, reply: reading(turns)}
		a, err := agent.New(agent.Options{Model: m, Tools: registry, MaxTurns: turns + 1})
		if err != nil {
			b.Fatal(err)
		}
		if r, err := a.Ask(b.Context(), "Read."); err != nil || r.StopReason != agent.StopComplete {
			b.Fatal(r.StopReason, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/turns, "ns/turn")
}

// BenchmarkRunsAtOnce measures 1,000 runs with one call each, all at once.
func BenchmarkRunsAtOnce(b *testing.B) {
	const runs = 1000
	tool, err := tools.New("echo", "Say it again.", tools.Reads, func(_ context.Context, in echoIn) (tools.Result, error) {
		return tools.Result{Text: in.Text}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var wg sync.WaitGroup
		for range runs {
			wg.Go(func() {
				m := scripted.New(scripted.Reply{Text: "I look.\n" + call("echo", `{"text":"x"}`), Chunk: 7}, scripted.Reply{Text: "Seen.", Chunk: 3})
				a, err := agent.New(agent.Options{Model: m, Tools: registry})
				if err != nil {
					b.Error(err)
					return
				}
				if r, err := a.Ask(b.Context(), "look"); err != nil || r.StopReason != agent.StopComplete {
					b.Error(r.StopReason, err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/runs, "ns/run")
}
