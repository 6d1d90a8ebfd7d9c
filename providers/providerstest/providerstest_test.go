package providerstest_test

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/providerstest"
)

// model keeps the contract, but for one fault that is planted in it.
type model struct {
	reply providerstest.Reply
	fault string

	mu       sync.Mutex
	requests []providers.Request
	left     int
}

func open(fault string) func(*testing.T, providerstest.Reply) providerstest.Rig {
	return func(_ *testing.T, r providerstest.Reply) providerstest.Rig {
		m := &model{reply: r, fault: fault}
		return providerstest.Rig{
			Model: m,
			Requests: func() []providers.Request {
				m.mu.Lock()
				defer m.mu.Unlock()
				return slices.Clone(m.requests)
			},
			Left: func() int {
				m.mu.Lock()
				defer m.mu.Unlock()
				return m.left
			},
		}
	}
}

func (m *model) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != "nobody notices" {
		m.left++
	}
}

func (m *model) note(r providers.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Messages, r.Status = slices.Clone(r.Messages), nil
	switch m.fault {
	case "reorders":
		slices.Reverse(r.Messages)
	case "sends defaults":
		zero := 0.0
		r.Temperature = &zero
	case "drops zeros":
		if r.Seed != nil && *r.Seed == 0 {
			r.Seed = nil
		}
	}
	m.requests = append(m.requests, r)
}

func (m *model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if m.fault == "eager" {
		m.note(r)
	}
	return func(yield func(providers.Chunk, error) bool) {
		if err := ctx.Err(); err != nil && m.fault != "ignores cancel" {
			yield(providers.Chunk{}, err)
			return
		}
		if m.fault != "eager" {
			m.note(r)
		}
		if m.fault == "leaks" {
			go func() { select {} }()
		}
		if m.say(ctx, yield) {
			m.end(ctx, yield)
		}
	}
}

func (m *model) say(ctx context.Context, yield func(providers.Chunk, error) bool) bool {
	chunks := []providers.Chunk{}
	for _, s := range m.reply.Thought {
		chunks = append(chunks, providers.Chunk{Thought: s})
	}
	for _, s := range m.reply.Text {
		chunks = append(chunks, providers.Chunk{Text: s})
	}
	switch {
	case m.fault == "loses text" && len(chunks) > 1:
		chunks = chunks[1:]
	case m.fault == "trims":
		for i := range chunks {
			chunks[i].Text = strings.TrimSpace(chunks[i].Text)
		}
	}
	for _, c := range chunks {
		if !yield(c, nil) {
			m.leave()
			return false
		}
		if err := ctx.Err(); err != nil && m.fault != "ignores cancel" {
			m.leave()
			yield(providers.Chunk{}, err)
			return false
		}
	}
	return true
}

func (m *model) end(ctx context.Context, yield func(providers.Chunk, error) bool) {
	r := m.reply
	last := providers.Chunk{Stop: r.Stop, Usage: r.Usage}
	if last.Stop == "" || m.fault == "length is stop" {
		last.Stop = providers.StopEnd
	}
	switch {
	case r.Hang:
		<-ctx.Done()
		m.leave()
		yield(providers.Chunk{}, ctx.Err())
		return
	case m.fault == "cut is whole" && r.Cut:
	case r.Fail != "" && m.fault == "untyped":
		yield(providers.Chunk{}, context.DeadlineExceeded)
		return
	case r.Fail != "":
		if yield(providers.Chunk{}, &providers.Error{Kind: r.Fail, Message: "as told"}) && m.fault == "goes on after an error" {
			yield(last, nil)
		}
		return
	case r.Cut:
		yield(providers.Chunk{}, &providers.Error{Kind: providers.Interrupted, Message: "cut"})
		return
	}
	switch m.fault {
	case "no end":
		return
	case "usage early":
		if !yield(providers.Chunk{Usage: last.Usage}, nil) {
			return
		}
	case "no usage":
		last.Usage = providers.Usage{}
	}
	if yield(last, nil) && m.fault == "two ends" {
		yield(last, nil)
	}
}

func backend(fault string) providerstest.Backend {
	return providerstest.Backend{
		Open:     open(fault),
		Thoughts: true,
		Usage:    true,
		NoSeed:   fault == "passes over a seed",
		Patience: patience(fault),
		Fails:    []providers.Kind{providers.ServerFault},
		Breaks:   []providers.Kind{providers.Overflow},
	}
}

// patience is short where the suite is to find that something never happens.
func patience(fault string) time.Duration {
	if fault == "leaks" || fault == "nobody notices" {
		return 300 * time.Millisecond
	}
	return 0
}

func TestGoodModelPasses(t *testing.T) { providerstest.Run(t, backend("")) }

func TestUnscriptedModelPasses(t *testing.T) {
	providerstest.Run(t, providerstest.Backend{
		Unscripted: true,
		Open: func(t *testing.T, _ providerstest.Reply) providerstest.Rig {
			return open("")(t, providerstest.Reply{Text: []string{"my own words"}})
		},
	})
}

// faultEnv makes TestPlanted run, in a process of its own, since it fails.
const faultEnv = "PROVIDERSTEST_FAULT"

func TestPlanted(t *testing.T) {
	fault := os.Getenv(faultEnv)
	if fault == "" {
		t.Skip("run by TestSuiteFindsFaults")
	}
	providerstest.Run(t, backend(fault))
}

func TestSuiteFindsFaults(t *testing.T) {
	faults := []string{"reorders", "sends defaults", "drops zeros", "eager", "leaks", "loses text", "trims",
		"length is stop", "cut is whole", "untyped", "goes on after an error", "no end", "usage early", "no usage",
		"two ends", "ignores cancel", "nobody notices", "passes over a seed"}
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel() // each has a process of its own
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPlanted$", "-test.failfast")
			cmd.Env = append(os.Environ(), faultEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestPlanted/") {
				t.Errorf("the suite does not fail a model with this fault: %v\n%s", err, out)
			}
		})
	}
}
