package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
)

// TestCompact sums a conversation up between two questions.
func TestCompact(t *testing.T) {
	var b bench
	long := strings.Repeat("Many words about the first thing. ", 50)
	m := newModel(long, long, call("echo", `{"text":"x"}`), "third", say{text: "They spoke of things."}, "fourth")
	rec := &recorder{}
	o := agent.Options{Model: m, Tools: b.registry(t), Recorder: rec}
	a, s := newAgent(t, o), agent.NewSession()
	for _, question := range []string{"one", "two", "three"} {
		collect(t, a.Run(t.Context(), s, question))
	}
	var events []agent.Payload
	for ev, err := range a.Compact(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev.Payload)
	}
	if c, ok := events[0].(agent.Compaction); len(events) != 1 || !ok || !c.Summarized || c.Dropped != 6 || c.After >= c.Before/2 {
		t.Errorf("events %+v", events)
	}
	if s.Resumable() != agent.ErrComplete {
		t.Errorf("the session is %v", s.Resumable())
	}
	loaded, err := agent.LoadSession(s.ID, rec.entries)
	if err != nil {
		t.Fatal(err)
	}
	collect(t, a.Run(t.Context(), loaded, "four"))
	asked := m.requests[5].Messages
	var said []string
	for _, message := range asked[1:] {
		said = append(said, message.Text)
	}
	if got := strings.Join(said, "|"); len(asked) != 5 || said[0] != "three" || !strings.Contains(said[1], "They spoke of things.") || said[2] != "third" || said[3] != "four" {
		t.Errorf("the model is sent %d messages: %s", len(asked), got)
	}
	done, err := agent.Replay(t.Context(), loaded.Entries(), o)
	if err != nil || done.Runs != 4 || len(done.Differences) > 0 {
		t.Errorf("replayed: %+v, %v", done, err)
	}
}

// What cannot be compacted is unchanged, and so is how the session stands.
func TestCompactFails(t *testing.T) {
	var b bench
	fault := &providers.Error{Kind: providers.BadRequest, Message: "no"}
	m := newModel("first", "second", say{err: fault}, say{err: fault}, "again")
	a, s := newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}), agent.NewSession()
	compact := func(ctx context.Context) (err error) {
		for _, e := range a.Compact(ctx, s) {
			err = e
		}
		return err
	}
	if err := compact(t.Context()); err != agent.ErrTooShort {
		t.Errorf("an empty session: %v", err)
	}
	collect(t, a.Run(t.Context(), s, "one"))
	if err := compact(t.Context()); err != agent.ErrTooShort || len(s.Entries()) != 4 {
		t.Errorf("one exchange: %v", err)
	}
	collect(t, a.Run(t.Context(), s, "two"))
	for range a.Run(t.Context(), s, "three") {
	}
	if err := compact(t.Context()); !errors.Is(err, fault) {
		t.Errorf("a model that fails: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := compact(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := s.Resumable(); err != nil {
		t.Errorf("the run that failed before cannot be resumed: %v", err)
	}
	_, r := collect(t, a.Resume(t.Context(), s))
	if r.Response != "again" || len(m.requests[len(m.requests)-1].Messages) < 6 {
		t.Errorf("%+v, asked with %q", r, m.requests[len(m.requests)-1].Messages)
	}
}
