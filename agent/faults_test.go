package agent_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// echoModel answers with the last message.
type echoModel struct{}

func (echoModel) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{Text: r.Messages[len(r.Messages)-1].Text, Stop: providers.StopEnd}, nil)
	}
}

func TestModelErrorKeepsWhatWasDone(t *testing.T) {
	var b bench
	broken := &providers.Error{Kind: providers.BadRequest, Message: "no such option"}
	m := newModel(say{text: "I look.\n" + call("echo", `{"text":"x"}`)}, say{text: "Well", err: broken})
	r, err := newAgent(t, agent.Options{Model: m, Tools: b.registry(t)}).Ask(t.Context(), "go")
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	wantEnd(t, r, agent.Failed, agent.StopModelError, 2)
	if len(r.Calls) != 1 || len(r.Messages) != 4 || r.Usage.Output == 0 || r.Response != "Well" {
		t.Errorf("result %+v", r)
	}
}

func TestPassingFaultsAreRetried(t *testing.T) {
	cut := &providers.Error{Kind: providers.Interrupted, Message: "cut"}
	m := newModel(say{text: "Half an ans", err: cut}, say{err: &providers.Error{Kind: providers.RateLimited, RetryAfter: time.Microsecond, Message: "slow down"}}, "Whole.")
	events, r := collect(t, newAgent(t, agent.Options{Model: m}).Run(t.Context(), nil, "go"))
	wantEnd(t, r, agent.Success, agent.StopComplete, 1)
	if r.Response != "Whole." || len(r.Messages) != 2 {
		t.Errorf("response %q, %d messages", r.Response, len(r.Messages))
	}
	if got := types(events); !strings.Contains(got, "text_delta retract retry text_delta turn_end") {
		t.Errorf("events %s", got)
	}

	t.Run("three times", func(t *testing.T) {
		m := newModel(say{err: cut})
		r, err := newAgent(t, agent.Options{Model: m}).Ask(t.Context(), "go")
		wantEnd(t, r, agent.Failed, agent.StopModelError, 1)
		if m.asked() != 3 || !errors.Is(err, cut) {
			t.Errorf("asked %d times, %v", m.asked(), err)
		}
	})
	t.Run("not what stays broken", func(t *testing.T) {
		for _, e := range []*providers.Error{
			{Kind: providers.ModelMissing}, {Kind: providers.Auth}, {Kind: providers.ServerFault, Permanent: true}, {Kind: providers.BadRequest},
			{Kind: providers.RateLimited, RetryAfter: time.Hour},
		} {
			m := newModel(say{err: e}, "never")
			r, err := newAgent(t, agent.Options{Model: m}).Ask(t.Context(), "go")
			if m.asked() != 1 || err == nil || r.StopReason != agent.StopModelError {
				t.Errorf("%s: asked %d times, %s, %v", e.Kind, m.asked(), r.StopReason, err)
			}
		}
	})
	for wait, want := range map[time.Duration]string{
		99999*time.Second + time.Millisecond: "27h46m39s; ", 200 * time.Hour: "8 days; ", 1 << 62: "more than a year; ",
	} {
		t.Run("not after "+want, func(t *testing.T) {
			busy := &providers.Error{Kind: providers.RateLimited, Message: "busy", RetryAfter: wait}
			m := newModel(say{err: busy}, "never")
			_, err := newAgent(t, agent.Options{Model: m}).Ask(t.Context(), "go")
			var e *providers.Error
			if m.asked() != 1 || !errors.As(err, &e) || !errors.Is(err, busy) || e.Kind != providers.RateLimited ||
				!strings.Contains(e.Message, "busy; it asks for a wait of "+want) {
				t.Errorf("asked %d times, %v", m.asked(), err)
			}
		})
	}
	t.Run("a stream without its end", func(t *testing.T) {
		m := newModel(say{text: "Half", stop: "none"}, "Whole.")
		if r := ask(t, agent.Options{Model: m}, "go"); r.Response != "Whole." {
			t.Errorf("response %q", r.Response)
		}
	})
}

// TestBrokenReplyIsKept as far as it came, when there is no other try.
func TestBrokenReplyIsKept(t *testing.T) {
	look := "I look.\n" + call("echo", `{"text":"a"}`)
	for _, tt := range []struct {
		name   string
		last   string
		kind   providers.Kind // "": the stream ends without its end
		answer string
		kept   int // messages of the run
	}{
		{"cut", "It is a, and that is", providers.Interrupted, "It is a, and that is", 4},
		{"no end", "It is a, and that is", "", "It is a, and that is", 4},
		{"a fault of the server", "It is a, and that is", providers.ServerFault, "It is a, and that is", 4},
		{"before half a call", "It is a.\n<tool_code>\n<name>ec", providers.Interrupted, "It is a.", 4},
		{"half a call", "<tool_code>\n<name>ec", providers.Interrupted, "", 3},
		{"nothing", "", providers.Interrupted, "", 3},
		{"a refused text", "It is a", providers.Filtered, "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			var rec recorder
			last := say{text: tt.last, stop: "none"}
			if tt.kind != "" {
				last.err = &providers.Error{Kind: tt.kind, Message: "broken"}
			}
			o := agent.Options{Model: newModel(look, last), Tools: b.registry(t), Recorder: &rec}
			r, err := newAgent(t, o).Ask(t.Context(), "go")
			if wantEnd(t, r, agent.Failed, agent.StopModelError, 2); err == nil || r.Response != tt.answer || len(r.Messages) != tt.kept {
				t.Errorf("%q and %d messages, %v, %v", r.Response, len(r.Messages), r.Messages, err)
			}
			entries := through(t, rec.entries)
			done, err := agent.Replay(t.Context(), entries, agent.Options{Tools: b.registry(t)})
			if err != nil || len(done.Differences) > 0 {
				t.Errorf("replayed: %+v, %v", done, err)
			}
			for n := len(entries) - 1; n <= len(entries); n++ { // died before its end, and not
				s, err := agent.LoadSession("s", entries[:n])
				if err != nil {
					t.Fatal(err)
				}
				a := newAgent(t, agent.Options{Model: newModel("All of it."), Tools: b.registry(t)})
				again, err := agent.Collect(a.Resume(t.Context(), s))
				if err != nil { // it ended as it had
					if n == len(entries) || again.Response != tt.answer || again.StopReason != agent.StopModelError {
						t.Errorf("from %d: %s %q, %v", n, again.StopReason, again.Response, err)
					}
					_, again = collect(t, a.Resume(t.Context(), s))
				}
				if again.Response != "All of it." {
					t.Errorf("from %d: %s %q", n, again.StopReason, again.Response)
				}
			}
		})
	}
}

func TestOverflow(t *testing.T) {
	m := newModel(say{err: &providers.Error{Kind: providers.Overflow, Message: "too long", PromptTokens: 9000, Window: 8192}})
	r := ask(t, agent.Options{Model: m}, "go")
	wantEnd(t, r, agent.Partial, agent.StopContextFull, 1)
	if r.Err == nil {
		t.Error("no error in the result")
	}
}

func TestStall(t *testing.T) {
	for limit, o := range map[string]agent.Options{
		"FirstTokenTimeout": {Model: newModel(say{hang: true}), FirstTokenTimeout: time.Millisecond},
		"TokenTimeout":      {Model: newModel(say{text: "Well", hang: true}), TokenTimeout: time.Millisecond},
	} {
		t.Run(limit, func(t *testing.T) {
			r := ask(t, o, "go")
			wantEnd(t, r, agent.Partial, agent.StopTimeout, 1)
			var e *agent.LimitError
			if !errors.As(r.Err, &e) || e.Limit != limit || e.Value != time.Millisecond {
				t.Errorf("error %v", r.Err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, says := range map[string][]any{
		"while the model is silent": {say{hang: true}},
		"in the middle of a reply":  {say{text: "Well, well", hang: true}},
		"while a tool runs":         {call("wait", `{}`), "never"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m := newModel(says...)
			var r agent.Result
			var failed error
			rec := &recorder{}
			for ev, err := range newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Recorder: rec}).Run(ctx, nil, "go") {
				failed = err
				switch p := ev.Payload.(type) {
				case agent.TurnStart:
					if name == "while the model is silent" {
						time.AfterFunc(time.Millisecond, cancel)
					}
				case agent.TextDelta, agent.ToolProgress:
					cancel()
				case agent.FinalResponse:
					r = p.Result
				}
			}
			wantEnd(t, r, agent.Partial, agent.StopInterrupted, 1)
			if !errors.Is(failed, context.Canceled) {
				t.Errorf("error %v", failed)
			}
			if strings.Contains(name, "middle") && (r.Response != "Well, well" || r.Messages[len(r.Messages)-1].Text != "Well, well" || !r.UsagePartial) {
				t.Errorf("what there is of the reply is lost: %+v", r)
			}
			if kinds := rec.kinds(); strings.Contains(name, "middle") && kinds != "run prompt reply end" {
				t.Errorf("recorded %s", kinds)
			}
			if strings.Contains(name, "tool") && (b.String() != "wait stopped" || len(r.Calls) != 1) {
				t.Errorf("tool: %q, calls %+v", b.String(), r.Calls)
			}
			noGoroutineLeft(t, before)
		})
	}
}

// TestCancelGivesOutWhatIsHeld holds that text that may still become a call is shown,
// recorded and the response where the run is cancelled.
func TestCancelGivesOutWhatIsHeld(t *testing.T) {
	for _, text := range []string{`{"answer": 42`, "I look.\nActi", "Well, well <b"} {
		ctx, cancel := context.WithCancel(t.Context())
		s, shown, r := agent.NewSession(), "", agent.Result{}
		m := newModel(say{thought: "hm", text: text, whole: true, hang: true})
		m.sent = cancel
		for ev := range newAgent(t, agent.Options{Model: m}).Run(ctx, s, "go") {
			switch p := ev.Payload.(type) {
			case agent.TextDelta:
				shown += p.Text
			case agent.FinalResponse:
				r = p.Result
			}
		}
		if messages := s.Messages(); shown != text || r.Response != text || messages[len(messages)-1].Text != text {
			t.Errorf("%q: shown %q, response %q, recorded %+v", text, shown, r.Response, messages)
		}
	}
}

// noGoroutineLeft waits until there are no more goroutines than before.
func noGoroutineLeft(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestConsumerLeaves(t *testing.T) {
	for _, at := range []string{"turn_start", "text_delta", "tool_call", "tool_progress", "tool_output", "turn_end"} {
		t.Run(at, func(t *testing.T) {
			var b bench
			before := runtime.NumGoroutine()
			s := agent.NewSession()
			a := newAgent(t, agent.Options{Model: newModel("I wait.\n"+call("wait", `{}`), "done"), Tools: b.registry(t), ToolTimeout: 20 * time.Millisecond})
			for ev, err := range a.Run(t.Context(), s, "go") {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Payload.Type() == at {
					break
				}
			}
			entries := s.Entries()
			last := entries[len(entries)-1]
			if end, ok := last.Payload.(agent.EndEntry); !ok || end.StopReason != agent.StopInterrupted {
				t.Errorf("the session ends with %+v", last)
			}
			noGoroutineLeft(t, before)
		})
	}
}

func TestChannel(t *testing.T) {
	var b bench
	a := newAgent(t, agent.Options{Model: newModel(call("echo", `{"text":"x"}`), "done"), Tools: b.registry(t)})
	events, wait := agent.Channel(t.Context(), a.Run(t.Context(), nil, "go"))
	var got []agent.Event
	for ev := range events {
		got = append(got, ev)
	}
	if r, err := wait(); err != nil || r.Response != "done" || !strings.HasPrefix(types(got), "turn_start tool_call") || !strings.HasSuffix(types(got), "agent_end") {
		t.Errorf("%s, %v", types(got), err)
	}

	t.Run("given up", func(t *testing.T) {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		a := newAgent(t, agent.Options{Model: newModel(say{text: "Well, well", hang: true})})
		events, wait := agent.Channel(ctx, a.Run(ctx, nil, "go"))
		<-events
		cancel()
		if r, err := wait(); !errors.Is(err, context.Canceled) || r.StopReason != agent.StopInterrupted {
			t.Errorf("%s, %v", r.StopReason, err)
		}
		noGoroutineLeft(t, before)
	})
}

func TestRecorder(t *testing.T) {
	var b bench
	rec := &recorder{}
	rec.before = func(e agent.Entry) {
		if e.Kind() == agent.EntryCall && b.String() != "" {
			t.Error("the call is recorded after it ran")
		}
	}
	s := agent.NewSession()
	a := newAgent(t, agent.Options{Model: newModel(call("echo", `{"text":"x"}`), "done"), Tools: b.registry(t), Recorder: rec})
	if _, err := agent.Collect(a.Run(t.Context(), s, "go")); err != nil {
		t.Fatal(err)
	}
	if got, want := rec.kinds(), "run prompt reply call result reply end"; got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
	for i, e := range s.Entries() {
		if e.Seq != i+1 || rec.entries[i].Seq != e.Seq || !reflect.DeepEqual(rec.entries[i].Payload, e.Payload) {
			t.Errorf("entry %d: session %+v, record %+v", i, e, rec.entries[i])
		}
	}
}

func TestRecordThatCannotBeWritten(t *testing.T) {
	for _, kind := range []agent.EntryKind{agent.EntryRun, agent.EntryPrompt, agent.EntryReply, agent.EntryCall, agent.EntryResult, agent.EntryEnd} {
		t.Run(string(kind), func(t *testing.T) {
			var b bench
			a := newAgent(t, agent.Options{Model: newModel(call("echo", `{"text":"x"}`), "done"), Tools: b.registry(t), Recorder: &recorder{fail: kind}})
			r, err := a.Ask(t.Context(), "go")
			if err == nil || !strings.Contains(err.Error(), "no space left") || r.StopReason != agent.StopInternal || r.Status != agent.Failed {
				t.Errorf("%s %s, %v", r.Status, r.StopReason, err)
			}
			if kind == agent.EntryCall && b.String() != "" {
				t.Error("a call ran that could not be recorded")
			}
		})
	}
}

func TestInvalidOptions(t *testing.T) {
	var b bench
	for _, o := range []agent.Options{
		{}, {Model: echoModel{}, MaxTurns: -1}, {Model: echoModel{}, Tries: -1}, {Model: echoModel{}, TokenTimeout: -1}, {Model: echoModel{}, MaxRepeatedCalls: 1},
	} {
		if _, err := agent.New(o); err == nil {
			t.Errorf("accepted %+v", o)
		}
	}
	set, err := prompts.Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r := ask(t, agent.Options{Model: echoModel{}, Prompts: set, Tools: b.registry(t)}, "hi"); r.Response != "hi" {
		t.Errorf("response %q", r.Response)
	}
}

// An error of the engine is not reported to the model: it surfaces.
func TestEnginePanicsSurface(t *testing.T) {
	m := newModel(call("echo", `{"text":"x"}`), "never")
	var b bench
	a := newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Approve: func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
		panic("a bug")
	}})
	defer func() {
		if p := recover(); p != "a bug" || m.asked() != 1 {
			t.Errorf("recovered %v, the model was asked %d times", p, m.asked())
		}
	}()
	_, _ = a.Ask(t.Context(), "go")
	t.Error("the panic was swallowed")
}

func TestApprovalErrorEndsTheRun(t *testing.T) {
	var b bench
	a := newAgent(t, agent.Options{Model: newModel(call("echo", `{"text":"x"}`), "never"), Tools: b.registry(t),
		Approve: func(context.Context, agent.ApprovalRequest) (agent.Decision, error) {
			return agent.Decision{}, errors.New("the policy file is broken")
		}})
	r, err := a.Ask(t.Context(), "go")
	if err == nil || r.StopReason != agent.StopInternal || b.String() != "" {
		t.Errorf("%s, ran %q, %v", r.StopReason, b.String(), err)
	}
}

// TestToolThatIgnoresItsContext is abandoned some time after the run was
// cancelled, whatever its timeout.
func TestToolThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		deaf := newTool(t, tools.Reads, func(context.Context, noneIn) (tools.Result, error) {
			<-release
			return tools.Result{}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		var result agent.Result
		for ev := range newAgent(t, agent.Options{Model: newModel(call("tool", `{}`), "never"), Tools: deaf}).Run(ctx, nil, "go") {
			switch p := ev.Payload.(type) {
			case agent.ToolCall:
				cancel()
			case agent.FinalResponse:
				result = p.Result
			}
		}
		wantEnd(t, result, agent.Partial, agent.StopInterrupted, 1)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("let go after %v", took)
		}
	})
}

// ends replies at once.
type ends struct{}

func (ends) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		_ = yield(providers.Chunk{Text: "Well."}, nil) && yield(providers.Chunk{Stop: providers.StopEnd}, nil)
	}
}

// A run that is over leaves no alarm behind, which would tick every second until its
// time is over, in a goroutine each time.
func TestAlarmsAreStopped(t *testing.T) {
	created := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	synctest.Test(t, func(t *testing.T) {
		r := ask(t, agent.Options{Model: ends{}, FirstTokenTimeout: time.Hour, TokenTimeout: time.Hour}, "go")
		wantEnd(t, r, agent.Success, agent.StopComplete, 1)
		metrics.Read(created)
		before := created[0].Value.Uint64()
		time.Sleep(time.Hour)
		metrics.Read(created)
		if n := created[0].Value.Uint64() - before; n > 60 {
			t.Errorf("%d goroutines within an hour after the run", n)
		}
	})
}
