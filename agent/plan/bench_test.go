package plan_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/providers"
)

// slow answers after a fixed delay, and sums up how long that really took: on a
// busy machine it is more.
type slow struct {
	delay        time.Duration
	took, counts atomic.Int64
}

func (d *slow) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		start := time.Now()
		defer func() { d.took.Add(int64(time.Since(start))); d.counts.Add(1) }()
		select {
		case <-time.After(d.delay):
		case <-ctx.Done():
			yield(providers.Chunk{}, ctx.Err())
			return
		}
		if yield(providers.Chunk{Text: "done"}, nil) {
			yield(providers.Chunk{Stop: providers.StopEnd}, nil)
		}
	}
}

// randomTasks are n tasks, each of which waits for up to three before it.
func randomTasks(n int, seed uint64) (tasks []plan.Task, critical int) {
	r := rand.New(rand.NewPCG(seed, 2))
	depth := make([]int, n)
	for i := range n {
		var deps []string
		for range r.IntN(4) {
			if i > 0 {
				d := r.IntN(i)
				deps = append(deps, fmt.Sprint("n", d))
				depth[i] = max(depth[i], depth[d])
			}
		}
		depth[i]++
		critical = max(critical, depth[i])
		tasks = append(tasks, task(fmt.Sprint("n", i), deps...))
	}
	return tasks, critical
}

// BenchmarkSideBySide runs 200 tasks of a random graph with four workers on a
// model that takes 50 ms. "of ideal" is the time against what no order can
// beat with the delays that there were: the longest chain, or a quarter of the
// work.
func BenchmarkSideBySide(b *testing.B) {
	const n, workers, delay = 200, 4, 50 * time.Millisecond
	tasks, critical := randomTasks(n, 1)
	m := &slow{delay: delay}
	p, err := plan.New(plan.Options{
		Agent: agent.Options{Model: m}, Workers: workers, MaxTurns: 10 * n, NoReason: true, NoObserve: true, NoReflect: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		state, err := plan.Collect(p.Run(b.Context(), nil, "all of it", tasks))
		if err != nil || !state.Success {
			b.Fatal(state.Error, err)
		}
	}
	mean := float64(m.took.Load()) / float64(m.counts.Load())
	ideal := mean * float64(max(critical, (n+workers-1)/workers))
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/ideal, "of-ideal")
	b.ReportMetric(mean/1e6, "ms/reply")
	b.ReportMetric(float64(critical), "longest-chain")
}

// TestOrderOfManyTasks: 200 tasks with four workers start after all that they
// wait for.
func TestOrderOfManyTasks(t *testing.T) {
	for seed := range uint64(5) {
		tasks, _ := randomTasks(200, seed)
		o := quiet(&model{reply: reply})
		o.Workers, o.MaxTurns = 4, 200
		w := carryOut(t, o, "all", tasks...)
		if !w.state.Success {
			t.Fatalf("seed %d: %s", seed, w.state.Error)
		}
		needs, ended := map[string][]string{}, map[string]bool{}
		for _, task := range tasks {
			needs[task.ID] = task.Dependencies
		}
		for _, ev := range w.events {
			switch p := ev.Payload.(type) {
			case plan.TaskStart:
				for _, d := range needs[p.ID] {
					if !ended[d] {
						t.Fatalf("seed %d: %s began before %s ended", seed, p.ID, d)
					}
				}
			case plan.TaskEnd:
				ended[p.ID] = true
			}
		}
	}
}
