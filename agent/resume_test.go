package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// byPlace replies by how many replies the conversation holds already, as a
// model that is asked again after a crash would.
type byPlace struct {
	replies []string
	asked   int
}

func (m *byPlace) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		n := 0
		for _, msg := range r.Messages {
			if msg.Role == providers.Assistant {
				n++
			}
		}
		m.asked++
		text := m.replies[min(n, len(m.replies)-1)]
		if !yield(providers.Chunk{Thought: "hm"}, nil) {
			return
		}
		for _, piece := range strings.SplitAfter(text, "<") {
			if !yield(providers.Chunk{Text: piece}, nil) {
				return
			}
		}
		yield(providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 10, Output: 2}}, nil)
	}
}

// through sends entries the way of a file.
func through(t *testing.T, entries []agent.Entry) []agent.Entry {
	t.Helper()
	b, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	var out []agent.Entry
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// After a process dies at any entry the run is resumed, and nothing is done twice.
func TestResumeAfterEveryEntry(t *testing.T) {
	replies := []string{
		"I look.\n" + call("echo", `{"text":"one"}`),
		call("write", `{"text":"two"}`) + "\n" + call("write", `{"text":"never"}`),
		"<tool_code>\nnot a call",
		call("write", `{"text":"three"}`),
		call("fail", `{"text":"four"}`),
		"All is done.",
	}
	options := func(b *bench, m providers.Model, r agent.Recorder) agent.Options {
		return agent.Options{Model: m, Tools: b.registry(t), Recorder: r}
	}
	var whole recorder
	var b bench
	first := ask(t, options(&b, &byPlace{replies: replies}, &whole), "go")
	wantEnd(t, first, agent.Success, agent.StopComplete, 6)
	entries := through(t, whole.entries)
	effects := func(ran string) int { return strings.Count(ran, "write:") }

	for n := 2; n < len(entries); n++ {
		t.Run(fmt.Sprintf("%d %s", n, entries[n-1].Kind()), func(t *testing.T) {
			kept := entries[:n]
			done, asked, pending := "", 0, false
			for _, e := range kept {
				switch p := e.Payload.(type) {
				case agent.ReplyEntry:
					asked++
				case agent.CallEntry:
					pending = true
					if p.Name == "write" {
						done += "write: " // it may have run
					}
				case agent.ResultEntry:
					pending = false
				}
			}
			s, err := agent.LoadSession("s", kept)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Unfinished() {
				t.Fatal("the session passes for finished")
			}
			var b bench
			var rest recorder
			m := &byPlace{replies: replies}
			_, r := collect(t, newAgent(t, options(&b, m, &rest)).Resume(t.Context(), s))
			if r.Response != first.Response || r.StopReason != agent.StopComplete || r.Turns != first.Turns || r.Run != first.Run {
				t.Errorf("ended with %q, %s, %d turns, run %s", r.Response, r.StopReason, r.Turns, r.Run)
			}
			if m.asked+asked != 6 {
				t.Errorf("asked %d times before and %d times after, of 6 replies", asked, m.asked)
			}
			if got := effects(done + b.String()); got != 2 {
				t.Errorf("%d effects in %q and %q", got, done, b.String())
			}
			if len(r.Calls) != len(first.Calls) || r.Usage != first.Usage {
				t.Errorf("calls %s, usage %+v", names(r.Calls), r.Usage)
			}
			if len(rest.entries)+n != len(entries) || rest.entries[0].Seq != n+1 {
				t.Errorf("recorded %s behind %d entries", rest.kinds(), n)
			}
			last, _ := kept[n-1].Payload.(agent.CallEntry)
			told := strings.Contains(fmt.Sprint(r.Messages), "its outcome is unknown")
			if told != (pending && last.Name == "write") {
				t.Errorf("the model was told that an outcome is unknown: %v", told)
			}
			if pending && last.Name == "echo" && !strings.HasPrefix(b.String(), "echo:one") {
				t.Errorf("what only reads did not run again: %s", b.String())
			}
		})
	}
}

// A run that ended early is followed by another one of its own limits.
func TestResumeAfterAnEnd(t *testing.T) {
	for name, test := range map[string]struct {
		options agent.Options
		replies []any
		stop    agent.StopReason
		last    string // what the model is sent last
	}{
		"max turns":      {agent.Options{MaxTurns: 1}, []any{call("echo", `{"text":"x"}`)}, agent.StopMaxTurns, "[echo] Success"},
		"a fault":        {agent.Options{Tries: 1}, []any{say{err: &providers.Error{Kind: providers.ServerFault, Message: "down"}}}, agent.StopModelError, "go"},
		"malformed":      {agent.Options{MaxMalformed: 1}, []any{"<tool_code>\nno"}, agent.StopMalformed, "Go on with what you were asked"},
		"another finish": {agent.Options{}, []any{say{text: "so", stop: "content_filter"}}, agent.StopFinishOther, "Go on with what you were asked"},
		"the same again": {agent.Options{}, []any{call("echo", `{"text":"x"}`), call("echo", `{"text":"x"}`)}, agent.StopRepeatedCall, "the same call was just made"},
		"denied and over": {agent.Options{Approve: func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{Verdict: agent.Stop}, nil
		}}, []any{call("echo", `{"text":"x"}`)}, agent.StopDenied, "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			s := agent.NewSession()
			test.options.Model, test.options.Tools = newModel(test.replies...), b.registry(t)
			r, _ := agent.Collect(newAgent(t, test.options).Run(t.Context(), s, "go"))
			if r.StopReason != test.stop {
				t.Fatalf("ended %s", r.StopReason)
			}
			long, err := agent.LoadSession(s.ID, s.Entries())
			if err != nil {
				t.Fatal(err)
			}
			w := &window{size: 8192, count: words, reply: reading(20)}
			w.evaluate = func(r providers.Request) {
				if !slices.ContainsFunc(r.Messages, func(m providers.Message) bool { return m.Role == providers.User && m.Text == "go" }) {
					t.Errorf("what was asked is gone from %d messages", len(r.Messages))
				}
			}
			collect(t, newAgent(t, agent.Options{Model: w, Tools: pages(t, 20_000, "prose"), MaxTurns: 30, SummarizeAfterTurns: agent.Off}).Resume(t.Context(), long))
			m := newModel("Now it is done.")
			_, r = collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}).Resume(t.Context(), s))
			if r.Response != "Now it is done." || r.Turns != 1 || !strings.Contains(m.last(), test.last) {
				t.Errorf("%q after %d turns; the model was sent %q", r.Response, r.Turns, m.last())
			}
			if _, err := agent.Collect(newAgent(t, agent.Options{Model: m}).Resume(t.Context(), s)); !errors.Is(err, agent.ErrComplete) {
				t.Errorf("a complete session went on: %v", err)
			}
		})
	}
}

// A question after a crash tells the model about the call that was running.
func TestQuestionAfterACrash(t *testing.T) {
	var b bench
	var rec recorder
	ask(t, agent.Options{Model: newModel(call("write", `{"text":"x"}`), "Done."), Tools: b.registry(t), Recorder: &rec}, "go")
	s, err := agent.LoadSession("s", rec.entries[:4])
	if err != nil || rec.entries[3].Kind() != agent.EntryCall {
		t.Fatalf("%v, %s", err, rec.kinds())
	}
	m := newModel("I see.")
	_, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}).Run(t.Context(), s, "and now?"))
	if r.Response != "I see." || b.String() != "write:x" || !strings.Contains(fmt.Sprint(m.requests[0].Messages), "its outcome is unknown") {
		t.Errorf("%q, ran %s, sent %v", r.Response, b.String(), m.requests[0].Messages)
	}

	// The question stays in a long run that follows.
	if s, err = agent.LoadSession("s", rec.entries[:4]); err != nil {
		t.Fatal(err)
	}
	w := &window{size: 8192, count: words, reply: reading(20)}
	w.evaluate = func(r providers.Request) { whole(t, r.Messages, "and now?") }
	if _, err := agent.Collect(newAgent(t, agent.Options{Model: w, Tools: pages(t, 20_000, "prose"), MaxTurns: 30}).Run(t.Context(), s, "and now?")); err != nil {
		t.Error(err)
	}
}

// An engine that reads a reply in another way does nothing again.
func TestResumeDiverged(t *testing.T) {
	for name, raw := range map[string]string{"an answer": "Just text.", "another tool": call("echo", `{"text":"x"}`), "no call": "<tool_code>\nno"} {
		t.Run(name, func(t *testing.T) {
			var b bench
			var rec recorder
			ask(t, agent.Options{Model: newModel(call("write", `{"text":"x"}`), "Done."), Tools: b.registry(t), Recorder: &rec}, "go")
			entries := rec.entries[:5]
			reply := entries[2].Payload.(agent.ReplyEntry)
			reply.Raw = raw
			entries[2].Payload = reply
			s, err := agent.LoadSession("s", entries)
			if err != nil {
				t.Fatal(err)
			}
			r, err := agent.Collect(newAgent(t, agent.Options{Model: newModel("no"), Tools: b.registry(t)}).Resume(t.Context(), s))
			if !errors.Is(err, agent.ErrDiverged) || r.StopReason != agent.StopInternal || b.String() != "write:x" {
				t.Errorf("%v, %s, ran %s", err, r.StopReason, b.String())
			}
			if got := s.Entries(); len(got) != 6 || got[4].Kind() != agent.EntryResult || got[5].Kind() != agent.EntryEnd {
				t.Errorf("the record lost something: %d entries", len(got))
			}
		})
	}
}

func TestLoadSessionMissesNothing(t *testing.T) {
	if _, err := agent.LoadSession("s", []agent.Entry{{Seq: 1}, {Seq: 3}}); err == nil || !strings.Contains(err.Error(), "entry 2") {
		t.Errorf("error %v", err)
	}
	begun := agent.Entry{Seq: 1, Payload: agent.RunEntry{System: "You help."}}
	for name, p := range map[string]agent.EntryPayload{
		"hidden to the end":   agent.CompactionEntry{Through: 9, Request: 9},
		"hidden before":       agent.CompactionEntry{Through: -1},
		"a request of no one": agent.CompactionEntry{Through: 1, Request: -3},
		"no first entry":      agent.ReplyEntry{State: &agent.State{}},
		"a first one behind":  agent.ReplyEntry{State: &agent.State{First: 7}},
		"a part behind":       agent.ReplyEntry{State: &agent.State{First: 1, Continued: []int{99}}},
		"a part before":       agent.ReplyEntry{State: &agent.State{First: 1, Continued: []int{0}}},
		"a count of nothing":  agent.EndEntry{State: &agent.State{First: 1, Counted: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			e := agent.Entry{Seq: 2, Payload: p}
			s, err := agent.LoadSession("s", []agent.Entry{begun, e})
			if err == nil {
				agent.Collect(newAgent(t, agent.Options{Model: newModel("well")}).Run(t.Context(), s, "go"))
			}
			if err == nil || !strings.Contains(err.Error(), "entry 2 of the session s is damaged") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A consumer that stops early, panics or ends its goroutine loses nothing of
// what was done: the record is closed, the result is with the session, and the
// session can be resumed.
func TestConsumerFails(t *testing.T) {
	leave := map[string]func(events iter.Seq2[agent.Event, error], at string){
		"stops": func(events iter.Seq2[agent.Event, error], at string) {
			for ev := range events {
				if ev.Payload.Type() == at {
					break
				}
			}
		},
		"panics": func(events iter.Seq2[agent.Event, error], at string) {
			defer func() { _ = recover() }()
			for ev := range events {
				if ev.Payload.Type() == at {
					panic("the screen broke")
				}
			}
		},
		"exits": func(events iter.Seq2[agent.Event, error], at string) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ev := range events {
					if ev.Payload.Type() == at {
						runtime.Goexit()
					}
				}
			}()
			<-done
		},
	}
	for name, f := range leave {
		for _, at := range []string{"turn_start", "text_delta", "tool_call", "tool_progress", "tool_output", "turn_end", "agent_end"} {
			t.Run(name+" at "+at, func(t *testing.T) {
				var b bench
				var rec recorder
				s := agent.NewSession()
				model := newModel("I write.\n"+call("write", `{"text":"x"}`), call("tick", `{}`), "Done.")
				tick, err := tools.New("tick", "Tick.", tools.Reads, func(ctx context.Context, _ noneIn) (tools.Result, error) {
					tools.Progress(ctx, "tick")
					return tools.Result{Text: "ticked"}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				registry, err := tools.NewRegistry(append(b.registry(t).Tools(), tick)...)
				if err != nil {
					t.Fatal(err)
				}
				a := newAgent(t, agent.Options{Model: model, Tools: registry, Recorder: &rec})
				f(a.Run(t.Context(), s, "go"), at)
				r, ok := s.Result()
				if !ok || r.Session != s.ID || len(r.Messages) == 0 {
					t.Fatalf("the result is lost: %+v", r)
				}
				if kinds := rec.kinds(); !strings.HasSuffix(kinds, "end") || len(rec.entries) != len(s.Entries()) {
					t.Errorf("recorded %s", kinds)
				}
				if at == "agent_end" {
					if r.Response != "Done." || r.StopReason != agent.StopComplete {
						t.Errorf("result %+v", r)
					}
					return
				}
				if r.StopReason != agent.StopInterrupted {
					t.Errorf("ended %s", r.StopReason)
				}
				loaded, err := agent.LoadSession(s.ID, through(t, rec.entries))
				if err != nil {
					t.Fatal(err)
				}
				_, r = collect(t, newAgent(t, agent.Options{Model: newModel("Done."), Tools: registry, Recorder: &rec}).Resume(t.Context(), loaded))
				if r.Response != "Done." || strings.Count(b.String(), "write:x") > 1 {
					t.Errorf("%q, ran %s", r.Response, b.String())
				}
			})
		}
	}
}

// TestCutQuestions has a session end after every entry of two questions: what was
// lost is not taken for answered, and what was answered is not asked again.
func TestCutQuestions(t *testing.T) {
	var rec recorder
	s := agent.NewSession()
	a := newAgent(t, agent.Options{Model: newModel("One.", "Two."), Recorder: &rec})
	for _, q := range []string{"first", "second"} {
		if _, err := agent.Collect(a.Run(t.Context(), s, q)); err != nil {
			t.Fatal(err)
		}
	}
	want := []error{agent.ErrNoQuestion, agent.ErrNoQuestion, nil, nil, agent.ErrComplete, agent.ErrNoQuestion, nil, nil, agent.ErrComplete}
	for n, want := range want {
		s, err := agent.LoadSession("s", rec.entries[:n])
		if err != nil {
			t.Fatal(err)
		}
		resumable, unfinished, m := s.Resumable(), s.Unfinished(), newModel("Again.")
		r, err := agent.Collect(newAgent(t, agent.Options{Model: m}).Resume(t.Context(), s))
		if !errors.Is(err, want) || resumable != want || (want == nil) != unfinished {
			t.Errorf("after %d entries: %v, %v, want %v", n, err, resumable, want)
		}
		if want != nil && m.asked() > 0 || want == nil && r.StopReason != agent.StopComplete {
			t.Errorf("after %d entries: asked %d times, %s", n, m.asked(), r.StopReason)
		}
	}
}

// TestRepeatAfterACrash: a model that makes a call of unknown outcome again does
// not go in circles.
func TestRepeatAfterACrash(t *testing.T) {
	var b bench
	var rec recorder
	write := call("write", `{"text":"x"}`)
	ask(t, agent.Options{Model: newModel(write, "Done."), Tools: b.registry(t), Recorder: &rec}, "go")
	s, err := agent.LoadSession("s", rec.entries[:4]) // the call is recorded, its result is not
	if err != nil {
		t.Fatal(err)
	}
	b = bench{}
	_, r := collect(t, newAgent(t, agent.Options{Model: newModel(write, "Done."), Tools: b.registry(t)}).Resume(t.Context(), s))
	if r.StopReason != agent.StopComplete || b.String() != "write:x" {
		t.Errorf("%s, %v, ran %q", r.StopReason, r.Err, b.String())
	}
}
