package calling_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/providers"
	"mylm/providers/calling"
)

// echo is a model that answers with the prompt that it is shown.
type echo struct{}

func (echo) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		var all strings.Builder
		for _, m := range r.Messages {
			fmt.Fprintf(&all, "%s: %s\n", m.Role, m.Text)
		}
		yield(providers.Chunk{Thought: all.String()}, nil)
		yield(providers.Chunk{Text: `{"age":7}`, Stop: providers.StopEnd}, nil)
	}
}

// A model that remembers what it showed of earlier requests shows the same as one that
// remembers nothing, whatever differs between them.
func TestRememberedTools(t *testing.T) {
	base := calling.Request{Tools: []calling.Tool{weather, clock}, Messages: []calling.Message{{Role: providers.System, Text: "Be brief."}, user("x")}}
	variants := []func(*calling.Request){
		func(*calling.Request) {},
		func(q *calling.Request) { q.Tools = q.Tools[:1] },
		func(q *calling.Request) { q.Tools = []calling.Tool{clock, weather} },
		func(q *calling.Request) {
			q.Tools = []calling.Tool{{Name: "get_weather", Schema: weather.Schema}, clock}
		},
		func(q *calling.Request) {
			q.Tools = []calling.Tool{{Name: "get_weather", Description: weather.Description}, clock}
		},
		func(q *calling.Request) {
			q.Tools = []calling.Tool{{Name: "weather", Description: weather.Description, Schema: weather.Schema}, clock}
		},
		func(q *calling.Request) { q.Choice.Mode = calling.None },
		func(q *calling.Request) { q.Choice.Only = []string{"get_time"} },
		func(q *calling.Request) { q.Choice.Only = []string{"get_weather"} },
		func(q *calling.Request) { q.Format, _ = calling.NewFormat([]byte(`{"type":"object"}`)) },
		func(q *calling.Request) {
			q.Messages = []calling.Message{{Role: providers.System, Text: "Be long."}, user("x")}
		},
		func(q *calling.Request) { q.Messages = []calling.Message{user("x")} },
		func(q *calling.Request) { q.Tools = nil },
	}
	one := &calling.Model{Model: echo{}}
	var all sync.WaitGroup
	for i := range 4 * len(variants) {
		all.Go(func() {
			q := base
			variants[(i*5+i/len(variants))%len(variants)](&q)
			want, got := generate(t.Context(), &calling.Model{Model: echo{}}, q), generate(t.Context(), one, q)
			if got.thought != want.thought || got.err != nil {
				t.Errorf("variant %d: %v, it is shown\n%s\nand not\n%s", i, got.err, got.thought, want.thought)
			}
		})
	}
	all.Wait()
	for range 2 { // what is refused stays refused
		bad := base
		bad.Choice.Only = []string{"nope"}
		if got := generate(t.Context(), one, bad); got.err == nil {
			t.Error("a tool that does not exist is accepted")
		}
	}
}

// A caller may change its tools and its choice in place between requests: what is shown is
// always what they are now.
func TestChangedInPlace(t *testing.T) {
	for name, change := range map[string]func(*calling.Request){
		"a description": func(q *calling.Request) { q.Tools[0].Description = "Something else." },
		"a name":        func(q *calling.Request) { q.Tools[0].Name = "get_storms" },
		"a schema": func(q *calling.Request) {
			copy(q.Tools[0].Schema[bytes.Index(q.Tools[0].Schema, []byte("city")):], "town")
		},
		"a choice": func(q *calling.Request) { q.Choice.Only[0] = clock.Name },
	} {
		first := weather
		first.Schema = slices.Clone(weather.Schema)
		q := calling.Request{Tools: []calling.Tool{first, clock}, Messages: []calling.Message{user("x")}}
		if name == "a choice" {
			q.Choice.Only = []string{weather.Name}
		}
		one := &calling.Model{Model: echo{}}
		before := generate(t.Context(), one, q)
		change(&q)
		got, want := generate(t.Context(), one, q), generate(t.Context(), &calling.Model{Model: echo{}}, q)
		if got.err != nil || want.thought == before.thought || got.thought != want.thought {
			t.Errorf("%s: %v, it is shown\n%s\nand not\n%s", name, got.err, got.thought, want.thought)
		}
	}
}
