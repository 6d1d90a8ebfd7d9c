package sink

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
)

// Meter measures what no event has: how long each reply took to begin, those
// included that are about a plan or a summary. The zero value is ready.
type Meter struct {
	mu      sync.Mutex
	waits   []time.Duration // until something came, for each reply
	stopped int             // replies that were ended at their call
}

// Effects are those of a run, measured. It goes into agent.Options.
func (m *Meter) Effects(_ *agent.Session, real agent.Effects) agent.Effects {
	return &metered{real, m}
}

type metered struct {
	agent.Effects
	*Meter
}

// Model implements agent.Effects.
func (m *metered) Model(ctx context.Context, r agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		start, waiting := time.Now(), true
		for c, err := range m.Effects.Model(ctx, r) {
			if waiting && err == nil {
				waiting = false
				m.mu.Lock()
				m.waits = append(m.waits, time.Since(start))
				m.mu.Unlock()
			}
			if !yield(c, err) {
				if ctx.Err() == nil && err == nil && c.Stop == "" {
					m.mu.Lock()
					m.stopped++
					m.mu.Unlock()
				}
				return
			}
		}
	}
}

// text describes the cost of a run.
func (m *Meter) text(r agent.Result) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	least := ""
	if r.UsagePartial {
		least = "at least "
	}
	parts := []string{term.Plural(r.Turns, "turn"), term.Plural(len(r.Calls), "call")}
	in := least + term.Plural(r.Usage.Prompt, "token") + " in"
	if r.Usage.Evaluated > 0 {
		in += fmt.Sprintf(" (%s%d evaluated)", least, r.Usage.Evaluated)
	}
	parts = append(parts, in, fmt.Sprintf("%s%d out", least, r.Usage.Output))
	if len(m.waits) > 0 {
		parts = append(parts, "first token after "+term.Seconds(m.waits[0]))
		if worst := slices.Max(m.waits); len(m.waits) > 1 {
			parts = append(parts, "at worst after "+term.Seconds(worst))
		}
	}
	if m.stopped > 0 {
		parts = append(parts, fmt.Sprintf("%d stopped at the call", m.stopped))
	}
	return strings.Join(append(parts, term.Seconds(r.Duration)), ", ")
}
