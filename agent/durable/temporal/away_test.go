package temporal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers/scripted"
	"mylm/tools"
)

// A run waits for a database that is away, however often it is asked meanwhile, and whatever
// the run is about to do. Then it goes on as if nothing had been. The SDK's environment has
// ten attempts for an activity that has as many as it needs.
func TestDatabaseAway(t *testing.T) {
	for at, times := range map[string]int{"mylm.model": 15, "mylm.prepare": 15, "mylm.tool": 15, "mylm.info": 15, "mylm.open": 9, "mylm.record": 9, "mylm.ended": 9} {
		m, most := scripted.Say("I look. "+call("read", "a"), call("write", "b"), "It is done."), times
		b := newBench(t, agent.Options{Model: m, MaxContextTokens: 9000})
		ended := 0
		if at != "mylm.record" { // which ends a run of which nothing is to be kept
			b.runs.Ended = func(_ context.Context, s *agent.Session, r agent.Result) error {
				ended += len(s.Entries())
				return nil
			}
		}
		b.begins(func(name string) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			b.store.down = nil
			if name == at && times > 0 {
				times--
				b.store.down = errors.New("the database is away")
			}
		})
		out := b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes, Continue: true})
		b.store.down = nil
		text := b.store.text(t, "s")
		if ended != 0 && ended != out.Entries || out.Unkept != "" || len(b.store.sessions["s"]) != out.Entries {
			t.Errorf("away at %s: ended with %d entries, recorded %d: %+v", at, ended, len(b.store.sessions["s"]), out)
		}
		if times == most || out.StopReason != agent.StopComplete || out.Turns != 3 || len(m.Requests()) != 3 || strings.Join(b.ran, ", ") != "read a, write b" || strings.Contains(text, "unknown=true") {
			t.Errorf("away at %s: %+v; %d requests; ran %v\n%s", at, out, len(m.Requests()), b.ran, text)
		}
	}
}

// A call whose entry alone cannot be recorded is not made, and the model is told so.
func TestNoRecordNoCall(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("write", "x"), "done")})
	b.begins(func(name string) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if b.store.down = nil; name == "mylm.tool" {
			b.store.down = errors.New("the database is down")
		}
	})
	b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
	if text := b.store.text(t, "s"); len(b.ran) > 0 || !strings.Contains(text, "the database is down") || strings.Contains(text, "unknown=true") {
		t.Errorf("ran %v\n%s", b.ran, text)
	}
}

// permanent is an error that stays.
type permanent struct{}

func (permanent) Error() string   { return "the schema is older" }
func (permanent) Permanent() bool { return true }

// An error of the database that stays ends the run at once, which says what to do.
func TestDatabaseRefuses(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("write", "x"), "done")})
	activities := 0
	b.begins(func(name string) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if activities++; name == "mylm.tool" {
			b.store.down = permanent{}
		}
	})
	b.ExecuteWorkflow(temporal.WorkflowName, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes})
	if err := b.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "the schema is older. Trying again does not help") || len(b.ran) > 0 || activities > 5 {
		t.Errorf("%v after %d activities; ran %v", err, activities, b.ran)
	}
}
