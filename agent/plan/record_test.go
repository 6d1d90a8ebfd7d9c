package plan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/plan"
)

// recorded is a plan in which the model was asked everything.
func recorded(t *testing.T) []agent.Entry {
	t.Helper()
	rec, asked := &memory{}, 0
	m := &model{reply: func(kind, message string) string {
		switch kind {
		case "plan":
			if asked++; asked == 1 {
				return "I would look first."
			}
			return `{"tasks": [{"id": "a", "description": "one"}, {"id": "b", "description": "two"}, {"id": "c", "description": "three"}, {"id": "d", "description": "four"}]}`
		case "reason":
			return `{"thought": "short", "selected_task_id": "c"}`
		}
		return reply(kind, message)
	}}
	if w := carryOut(t, plan.Options{Agent: agent.Options{Model: m, Recorder: rec}}, "g"); !w.state.Success {
		t.Fatalf("%+v", w.state)
	}
	return rec.all()
}

func TestParts(t *testing.T) {
	entries := recorded(t)
	parts, err := plan.Parts(entries)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		got = append(got, p.Task+":"+p.Role)
		if _, err := agent.LoadSession("s", p.Entries); err != nil {
			t.Errorf("%s %s: %v", p.Task, p.Role, err)
		}
	}
	want := []string{":plan", ":reason", "c:", "c:observe", ":reason", "a:", "a:observe", ":reason", "b:", "b:observe", ":reflect", "d:", "d:observe"}
	if !slices.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	if done, err := plan.Replay(t.Context(), entries, agent.Options{}); err != nil || len(done.Differences) > 0 || done.Runs < len(want) {
		t.Errorf("%+v, %v", done, err)
	}
	for i, e := range entries { // by a reader that took something else out of them
		switch p, _ := e.Payload.(agent.CustomEntry); {
		case p.Type != plan.EntryRead:
		case p.Error != "":
			p.Error, p.Args = "", []byte("[]")
			entries[i].Payload = p
		default:
			p.Args = []byte(strings.Replace(string(p.Args), `"`, `"x`, 1))
			entries[i].Payload = p
		}
	}
	done, err := plan.Replay(t.Context(), entries, agent.Options{})
	if err != nil || len(done.Differences) != 10 {
		t.Errorf("%d replies are read in another way, want 10; %v", len(done.Differences), err)
	}
	for _, d := range done.Differences {
		if d.Run == "" || d.Turn != 1 || d.Was == d.Is {
			t.Errorf("%+v", d)
		}
	}
}

// TestAgree: a plan runs as the person approved it, and one that was not
// approved is asked about again.
func TestAgree(t *testing.T) {
	no, broken := errors.New("no"), []plan.Task{task("x", "y"), task("z")}
	tests := []struct {
		name  string
		says  []plan.Task
		err   error
		stop  agent.StopReason
		tasks []string
		why   string
	}{
		{"as it is", nil, nil, agent.StopComplete, []string{"a", "b"}, plan.Made},
		{"changed", broken, nil, agent.StopComplete, []string{"x", "z"}, plan.Given},
		{"no", nil, no, agent.StopDenied, []string{"a", "b"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &memory{}
			m := &model{reply: func(kind, message string) string {
				if kind == "plan" {
					return twoTasks
				}
				return reply(kind, message)
			}}
			o := quiet(m)
			o.Agent.Recorder = rec
			o.Agree = func(_ context.Context, p plan.Planned) ([]plan.Task, error) {
				if p.Goal != "g" || !slices.Equal(ids(p.Tasks), []string{"a", "b"}) {
					t.Errorf("asked about %+v", p)
				}
				return tt.says, tt.err
			}
			w := carryOut(t, o, "g")
			if (w.state.Output == "") != (tt.stop == agent.StopDenied) {
				t.Errorf("output: %q", w.state.Output)
			}
			if w.result.StopReason != tt.stop || !errors.Is(w.result.Err, tt.err) || !slices.Equal(ids(w.state.Tasks), tt.tasks) {
				t.Errorf("%s, %v, %v", w.result.StopReason, w.result.Err, ids(w.state.Tasks))
			}
			why := ""
			for _, ev := range w.events {
				if p, ok := ev.Payload.(plan.Planned); ok {
					why = p.Why
				}
			}
			if why != tt.why {
				t.Errorf("told as %q, want %q", why, tt.why)
			}
			if tt.err == nil {
				return
			}
			session, err := agent.LoadSession("s", rec.all())
			if err != nil {
				t.Fatal(err)
			}
			tt.err = nil
			if w := watch(mustPlan(t, o).Resume(t.Context(), session)); !w.state.Success || len(m.asked("task")) != 2 {
				t.Errorf("%+v", w.state)
			}
		})
	}
}

// TestUnfinished: a question after a plan is resumed first.
func TestUnfinished(t *testing.T) {
	rec := &memory{}
	o := quiet(&model{reply: reply})
	o.Agent.Recorder, o.MaxIterations = rec, 1
	carryOut(t, o, "g", task("a"), task("b"))
	load := func() *agent.Session {
		s, err := agent.LoadSession("s", rec.all())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if !plan.Unfinished(load()) {
		t.Fatal("nothing is left of it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i, want := range []bool{false, true} {
		o.Agent.Model = &model{reply: func(string, string) string {
			if i == 0 {
				cancel()
			}
			return "an answer"
		}}
		a, err := agent.New(o.Agent)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = agent.Collect(a.Run(ctx, load(), "and?"))
		ctx = t.Context()
		if got := plan.Unfinished(load()); got != want {
			t.Errorf("question %d: %v, want %v", i, got, want)
		}
	}
}

// full takes so many entries, and no more.
type full struct{ left int }

func (f *full) Append(context.Context, agent.Entry) error {
	if f.left--; f.left < 0 {
		return errors.New("the disk is full")
	}
	return nil
}

// TestRecordFails: wherever it happens, what cannot be written ends the plan and
// is said once, in plain words.
func TestRecordFails(t *testing.T) {
	for n := range 20 {
		o := plan.Options{NoPlan: true, Agent: agent.Options{Model: &model{reply: reply}, Recorder: &full{n}, Tries: 1}}
		w := carryOut(t, o, "g")
		if w.state.Success {
			return
		}
		if got, want := w.result.Err.Error(), "the session could not be recorded: the disk is full"; got != want || w.state.Error != want || w.result.StopReason != agent.StopInternal {
			t.Errorf("after %d entries: %s, %q", n, w.result.StopReason, got)
		}
	}
	t.Error("no plan is so long")
}
