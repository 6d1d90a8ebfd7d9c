package temporal_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/remember"
	"mylm/memory"
	"mylm/providers/scripted"
	"mylm/tools"
)

// A run leaves in the memory what it would in a process, and the next finds it, each under
// the session that it has.
func TestMemory(t *testing.T) {
	kept, err := memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	m := remember.New(kept, "/src/shop")
	all, err := m.Tools(agent.NewSession())
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, agent.Options{Model: scripted.Say("x")})
	registry, err := tools.NewRegistry(append(all, b.registry(t).Tools()...)...)
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.Say(
		call("read", "a"), call("remember", "The host of staging is heron."), "It is noted.",
		strings.ReplaceAll(call("search_memory", "host of staging"), "text", "query"), "It is heron.",
	)
	if b.runs, err = temporal.New(agent.Options{Model: model, Tools: registry}, b.store); err != nil {
		t.Fatal(err)
	}
	b.runs.Tools = m.Tools
	lost := errors.New("the worker is lost")
	b.runs.Ended = func(ctx context.Context, s *agent.Session, r agent.Result) error {
		_, err := m.Keep(ctx, remember.Run{Session: s, Result: r})
		failed := lost
		lost = nil
		return errors.Join(err, failed)
	}
	if out := b.next().run(t, temporal.Input{Session: "first", Prompt: "Note the host."}); out.StopReason != agent.StopComplete || out.Unkept != "" {
		t.Errorf("%+v\n%s", out, b.store.text(t, "first"))
	}
	if out := b.next().run(t, temporal.Input{Session: "second", Prompt: "Which host?"}); out.StopReason != agent.StopComplete {
		t.Errorf("%+v\n%s", out, b.store.text(t, "second"))
	}
	if text := b.store.text(t, "second"); !strings.Contains(text, "heron. unknown=false") && !strings.Contains(text, "The host of staging is heron.") {
		t.Errorf("the second run finds nothing:\n%s", text)
	}
	documents, err := kept.List(t.Context(), memory.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, d := range documents {
		texts = append(texts, d.Session+" "+d.Role+" "+strings.SplitN(d.Text, "\n", 2)[0])
	}
	slices.Sort(texts)
	want := []string{"first assistant It is noted.", "first assistant The host of staging is heron.", "first tool read {\"text\":\"a\"}", "first user Note the host.",
		"second assistant It is heron.", "second user Which host?"}
	if !slices.Equal(texts, want) {
		t.Errorf("the memory holds %q", texts)
	}

	b.runs.Ended = func(context.Context, *agent.Session, agent.Result) error { return errors.New("the memory is full") }
	failing := b.next()
	if out := failing.run(t, temporal.Input{Session: "third", Prompt: "go"}); !strings.Contains(out.Unkept, "the memory is full") || out.Run == "" {
		t.Errorf("%+v", out)
	}
}
