package agent_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// far are effects in another process, which take hours.
type far struct {
	agent.Effects
	t       *testing.T
	runs    string // the goroutine of the run
	request []agent.ModelRequest
}

func (f *far) Elsewhere() {}

func (f *far) Model(ctx context.Context, q agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	time.Sleep(time.Hour)
	f.request = append(f.request, q)
	return f.Effects.Model(ctx, q)
}

func (f *far) Tool(ctx context.Context, q agent.ToolRequest) tools.Outcome {
	if here := goroutine(); here != f.runs {
		f.t.Errorf("the tool is run by %s, the run by %s", here, f.runs)
	}
	time.Sleep(time.Hour)
	return f.Effects.Tool(ctx, q)
}

func (f *far) Info(ctx context.Context) (providers.Info, error) {
	if _, limited := ctx.Deadline(); limited {
		f.t.Error("the question about the window has a deadline of its own")
	}
	return providers.Info{Window: 8192}, nil
}

func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), " [")
	return name
}

// The loop of a run whose effects are elsewhere has no clock and no goroutine.
func TestElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{t: t, runs: goroutine()}
		o := agent.Options{
			Model: newModel(call("echo", `{"text":"x"}`), "done"), Tools: new(bench).registry(t), MaxContextTokens: 6000,
			FirstTokenTimeout: time.Second, TokenTimeout: time.Second, StepTimeout: time.Second, ToolTimeout: time.Second,
			Effects: func(_ *agent.Session, real agent.Effects) agent.Effects {
				f.Effects = real
				return f
			},
		}
		if r := ask(t, o, "go"); r.Response != "done" || len(f.request) != 2 {
			t.Fatalf("%s, %v: %q", r.StopReason, r.Err, r.Response)
		}
		if s := f.request[1].State; s == nil || s.LastCall == "" || s.Turn != 2 {
			t.Errorf("the state of the second request: %+v", s)
		}
	})
}

// What carries out the effects of a loop elsewhere keeps its limits, and takes no more of
// a reply than that loop will.
func TestEffectsOfALoopElsewhere(t *testing.T) {
	hear := func(t *testing.T, o agent.Options) (text string, err error) {
		a, failed := agent.New(o)
		if failed != nil {
			t.Fatal(failed)
		}
		s := agent.NewSession(providers.Message{Role: providers.User, Text: "go"})
		q := agent.ModelRequest{Turn: 1, Attempt: 1, Through: 1, State: &agent.State{Turn: 1}}
		for c, e := range a.Effects(s).Model(t.Context(), q) {
			text += c.Text
			err = e
		}
		return text, err
	}
	t.Run("a call ends the reply", func(t *testing.T) {
		m := newModel(call("echo", `{"text":"x"}`) + "\n" + strings.Repeat("and more ", 100))
		text, err := hear(t, agent.Options{Model: m, Tools: new(bench).registry(t)})
		if err != nil || !strings.Contains(text, "echo") || strings.Contains(text, "and more and more") || m.left == "" {
			t.Errorf("%q, %v; left: %q", text, err, m.left)
		}
	})
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var limit *agent.LimitError
			text, err := hear(t, agent.Options{Model: newModel(say{text: "so", hang: true}), TokenTimeout: time.Minute})
			if text != "so" || !errors.As(err, &limit) || limit.Limit != "TokenTimeout" {
				t.Errorf("%q, %v", text, err)
			}
		})
	})
	t.Run("repetition", func(t *testing.T) {
		var limit *agent.LimitError
		_, err := hear(t, agent.Options{Model: newModel(strings.Repeat("again and ", 5000))})
		if !errors.As(err, &limit) || limit.Reason != agent.StopStuck {
			t.Error(err)
		}
	})
}
