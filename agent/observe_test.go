package agent_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

type observed struct{}

// observer notes what it is given, and marks the context of each run.
type observer struct {
	runs   []agent.Observed
	events []agent.Event
}

func (o *observer) observe(ctx context.Context, of agent.Observed) (context.Context, func(agent.Event)) {
	o.runs = append(o.runs, of)
	return context.WithValue(ctx, observed{}, len(o.runs)), func(ev agent.Event) { o.events = append(o.events, ev) }
}

// marked is a model that is only asked in an observed context.
type marked struct {
	*model
	t *testing.T
}

func (m marked) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if ctx.Value(observed{}) == nil {
		m.t.Error("the model is asked in another context")
	}
	return m.model.Generate(ctx, r)
}

func TestHookObserve(t *testing.T) {
	var o observer
	tool, err := tools.New("look", "Look.", tools.Reads, func(ctx context.Context, _ noneIn) (tools.Result, error) {
		if ctx.Value(observed{}) == nil {
			t.Error("the tool runs in another context")
		}
		return tools.Result{Text: "seen"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	options := agent.Options{Model: marked{newModel(call("look", `{}`), "done"), t}, Tools: registry, Hooks: agent.Hooks{Observe: o.observe}}
	s := agent.NewSession()
	events, _ := collect(t, newAgent(t, options).Run(t.Context(), s, "go"))
	want, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(o.events); err != nil || string(got) != string(want) || len(events) == 0 {
		t.Errorf("observed %s, %v; want %s", got, err, want)
	}
	if len(o.runs) != 1 || o.runs[0].Session != s || o.runs[0].Plan || o.runs[0].Task != "" {
		t.Errorf("observed %+v", o.runs)
	}
	before := len(o.events)
	if done, err := agent.Replay(t.Context(), s.Entries(), options); err != nil || done.Runs != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if len(o.runs) != 1 || len(o.events) != before {
		t.Error("a replay is observed")
	}
}

// Who observes a run sees its end, however the consumer leaves.
func TestObservedToTheEnd(t *testing.T) {
	leave := func(t *testing.T, events iter.Seq2[agent.Event, error], how string) {
		defer func() { recover() }()
		for range events {
			if how == "panics" {
				panic(how)
			}
			break
		}
	}
	for _, how := range []string{"breaks", "panics"} {
		t.Run(how, func(t *testing.T) {
			var o observer
			a := newAgent(t, agent.Options{Model: newModel("done"), Hooks: agent.Hooks{Observe: o.observe}})
			leave(t, a.Run(t.Context(), nil, "go"), how)
			last, ok := o.events[len(o.events)-1].Payload.(agent.FinalResponse)
			if !ok || last.Result.StopReason != agent.StopInterrupted {
				t.Errorf("observed %s, at last %+v", types(o.events), last)
			}
			for i, ev := range o.events {
				if ev.Seq != i+1 {
					t.Errorf("event %d has the number %d", i, ev.Seq)
				}
			}
		})
	}
	t.Run("nothing is observed of the events", func(t *testing.T) {
		a := newAgent(t, agent.Options{Model: newModel("done"), Hooks: agent.Hooks{
			Observe: func(ctx context.Context, _ agent.Observed) (context.Context, func(agent.Event)) { return ctx, nil },
		}})
		if r, err := a.Ask(t.Context(), "go"); err != nil || r.Response != "done" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// cause keeps why the context of its model calls was done when they ended.
type cause struct {
	*model
	seen []error
}

func (m *cause) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		defer func() { m.seen = append(m.seen, context.Cause(ctx)) }()
		m.model.Generate(ctx, r)(yield)
	}
}

// A backend that reports nothing behind a call is left, for a reason that is no failure.
func TestCallCompleteCause(t *testing.T) {
	var b bench
	m := &cause{model: newModel(say{calls: []providers.ServerCall{{Name: "echo", Args: `{"text":"a"}`}}, hang: true}, "done")}
	ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "go")
	if len(m.seen) != 2 || m.seen[0] != agent.ErrCallComplete || m.seen[1] != nil {
		t.Errorf("the calls of the model ended because of %v", m.seen)
	}
}
