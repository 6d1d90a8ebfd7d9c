package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// does is a tool whose results are a function of its argument and of how often
// it was called.
func does(t *testing.T, name string, e tools.Effect, f func(text string, n int) (string, error)) *tools.Tool {
	t.Helper()
	n := 0
	tool, err := tools.New(name, "Do it.", e, func(_ context.Context, in echoIn) (tools.Result, error) {
		n++
		text, err := f(in.Text, n)
		return tools.Result{Text: text}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestCirclesAreLeft(t *testing.T) {
	same := func(text string, _ int) (string, error) { return "this is " + text, nil }
	fails := func(text string, n int) (string, error) {
		if text == "good" {
			return fmt.Sprint("good ", n), nil
		}
		return "", errors.New("permission denied")
	}
	for _, tt := range []struct {
		name  string
		says  string // look:x and change:x calls, in a loop
		tool  func(string, int) (string, error)
		turns int // 0: it is no circle
	}{
		{"A-B-A-B", "look:a look:b", same, 5},
		{"A-B-C-A-B-C", "look:a look:b look:c", same, 6},
		{"A-B-A-B that writes", "change:a change:b", same, 5},
		{"one call among others", "look:a look:1 look:a look:2 look:a look:3 look:a look:4", same, 7},
		{"the same error by other commands", "look:a look:good look:b look:good look:c look:good", fails, 5},
		{"results that differ", "look:a look:b", func(_ string, n int) (string, error) { return fmt.Sprint(n), nil }, 0},
		{"change and try", "change:1 look:a change:2 look:a change:3 look:a change:4 look:a change:5 look:a", same, 0},
		{"long ago is no circle", "look:a look:b look:c look:1 look:2 look:3 look:4 look:5 look:6 look:7 look:8 look:9 look:d look:e look:f look:g look:a look:b look:c", same, 0},
		{"twice is no circle", "look:a look:b look:a look:c look:b look:d look:e look:f", same, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps := strings.Fields(tt.says)
			var says []any
			for i := range max(10, len(steps)) {
				name, text, _ := strings.Cut(steps[i%len(steps)], ":")
				if tt.turns == 0 && i == len(steps) && len(steps) > 2 {
					break
				}
				says = append(says, call(name, fmt.Sprintf(`{"text":%q}`, text)))
			}
			says = append(says, "done")
			registry, err := tools.NewRegistry(does(t, "look", tools.Reads, tt.tool), does(t, "change", tools.Writes, tt.tool))
			if err != nil {
				t.Fatal(err)
			}
			r := ask(t, agent.Options{Model: newModel(says...), Tools: registry, MaxTurns: 20}, "go")
			if tt.turns == 0 {
				wantEnd(t, r, agent.Success, agent.StopComplete, len(says))
				return
			}
			wantEnd(t, r, agent.Partial, agent.StopStuck, tt.turns)
			var e *agent.LimitError
			if !errors.As(r.Err, &e) || e.Reason != agent.StopStuck || !strings.Contains(e.Message, "look") && !strings.Contains(e.Message, "change") {
				t.Errorf("err = %v", r.Err)
			}
		})
	}
}

func TestNoLastWord(t *testing.T) {
	var b bench
	m := newModel("One.\n"+call("echo", `{"text":"1"}`), "Two.\n"+call("echo", `{"text":"2"}`), "So far 1 and 2.")
	a := newAgent(t, agent.Options{Model: m, Tools: b.registry(t), MaxTurns: 2, NoLastWord: true})
	r, err := agent.Collect(a.Run(t.Context(), nil, "count"))
	if err != nil {
		t.Fatal(err)
	}
	wantEnd(t, r, agent.Partial, agent.StopMaxTurns, 2)
	if r.Response != "Two." || m.asked() != 2 {
		t.Errorf("response %q after %d requests", r.Response, m.asked())
	}
}

// TestLastWord gives the model one reply without tools when a limit ends the
// run.
func TestLastWord(t *testing.T) {
	step := func(i int) string {
		return fmt.Sprintf("Step %d.\n%s", i, call("echo", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	for _, tt := range []struct {
		name   string
		says   []any
		stop   agent.StopReason
		turns  int
		answer string
	}{
		{"turns", []any{step(1), step(2), "So far I have <b>1</b> and 2."}, agent.StopMaxTurns, 2, "So far I have <b>1</b> and 2."},
		{"a wrapped answer", []any{step(1), step(2), "Well.\n<final_answer>1 and 2</final_answer>"}, agent.StopMaxTurns, 2, "1 and 2"},
		{"repeated", []any{step(1), step(1), "Only 1."}, agent.StopRepeatedCall, 2, "Only 1."},
		{"errors", []any{call("fail", `{"text":"1"}`), call("fail", `{"text":"2"}`), "It fails."}, agent.StopConsecutiveErrors, 2, "It fails."},
		{"a call instead", []any{step(1), step(2), step(3)}, agent.StopMaxTurns, 2, "Step 2."},
		{"nothing", []any{step(1), step(2), ""}, agent.StopMaxTurns, 2, "Step 2."},
		{"a fault", []any{step(1), step(2), say{text: "half", err: &providers.Error{Kind: providers.BadRequest, Message: "no"}}}, agent.StopMaxTurns, 2, "Step 2."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			m := newModel(tt.says...)
			s := agent.NewSession()
			a := newAgent(t, agent.Options{Model: m, Tools: b.registry(t), MaxTurns: 2, MaxConsecutiveErrors: 2})
			r, err := agent.Collect(a.Run(t.Context(), s, "count"))
			if err != nil {
				t.Fatal(err)
			}
			wantEnd(t, r, agent.Partial, tt.stop, tt.turns)
			if r.Response != tt.answer || m.asked() != 3 {
				t.Errorf("response %q after %d requests, want %q", r.Response, m.asked(), tt.answer)
			}
			if strings.Contains(b.String(), "3") {
				t.Errorf("a call of the last reply ran: %s", b.String())
			}
			asked := m.requests[2].Messages
			if strings.Contains(asked[0].Text, "<tool_definitions>") {
				t.Error("the model is offered tools")
			}
			if want, _ := prompts.Default().Text(prompts.LastWord); asked[len(asked)-1].Text != want || asked[1].Text != "count" {
				t.Errorf("the model is asked %q", asked[len(asked)-1].Text)
			}
			var e *agent.LimitError
			if !errors.As(r.Err, &e) || e.Reason != tt.stop || e.Limit == "" || e.Value == nil {
				t.Errorf("err = %v", r.Err)
			}
			next, err := a.Request(s, "and?")
			if err != nil {
				t.Fatal(err)
			}
			knows := strings.Contains(next.Messages[len(next.Messages)-2].Text, tt.answer)
			if fellBack := strings.HasPrefix(tt.answer, "Step"); knows == fellBack {
				t.Errorf("the next run begins with %q", next.Messages)
			}
		})
	}
}

// TestLastWordIsNoCut: without the tools its prompt is shorter than the one before
// it, which a backend that cuts would have done.
func TestLastWordIsNoCut(t *testing.T) {
	tool, err := tools.New("look", strings.Repeat("Look at it. ", 400), tools.Reads, func(context.Context, noneIn) (tools.Result, error) {
		return tools.Result{Text: "seen"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	m := &counter{told: func(_, total int) int { return total }, says: []say{{text: "I look.\n" + call("look", `{}`)}, {text: "So far."}}}
	r := ask(t, agent.Options{Model: m, Tools: registry, MaxTurns: 1}, strings.Repeat("one long question ", 350))
	if wantEnd(t, r, agent.Partial, agent.StopMaxTurns, 1); r.Response != "So far." {
		t.Errorf("response %q", r.Response)
	}
}

// TestThoughtBesideIsRecorded with every reply of the model, whatever it was
// asked for: a repeat is made of the record alone.
func TestThoughtBesideIsRecorded(t *testing.T) {
	thinks := func(text string) say { return say{text: text, thought: "hm: " + text} }
	for name, tt := range map[string]struct {
		says []any
		o    agent.Options
	}{
		"turns and a last word": {[]any{thinks(call("echo", `{"text":"1"}`)), thinks("Only 1.")}, agent.Options{MaxTurns: 1}},
		"a check":               {[]any{thinks("Well."), thinks(passes)}, agent.Options{SelfEval: agent.EvalBasic}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			s := agent.NewSession()
			tt.o.Model, tt.o.Tools = newModel(tt.says...), b.registry(t)
			if _, err := agent.Collect(newAgent(t, tt.o).Run(t.Context(), s, "go")); err != nil {
				t.Fatal(err)
			}
			replies := 0
			for _, e := range s.Entries() {
				p, ok := e.Payload.(agent.ReplyEntry)
				if aside, beside := e.Payload.(agent.AuxiliaryEntry); beside {
					p, ok = agent.ReplyEntry(aside), true
				}
				if !ok {
					continue
				}
				if replies++; p.SeparateThought != "hm: "+p.Raw || p.Thought != p.SeparateThought {
					t.Errorf("%s %s: beside %q stands %q", e.Kind(), p.Purpose, p.Raw, p.SeparateThought)
				}
			}
			if replies != len(tt.says) {
				t.Errorf("%d replies are recorded", replies)
			}
		})
	}
}

func TestInterruptBeatsTheLastWord(t *testing.T) {
	var b bench
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := newModel(call("echo", `{"text":"1"}`), say{text: "So", hang: true})
	var result agent.Result
	for ev := range newAgent(t, agent.Options{Model: m, Tools: b.registry(t), MaxTurns: 1}).Run(ctx, nil, "go") {
		switch p := ev.Payload.(type) {
		case agent.TextDelta:
			cancel()
		case agent.FinalResponse:
			result = p.Result
		}
	}
	wantEnd(t, result, agent.Partial, agent.StopInterrupted, 1)
}

func TestTimes(t *testing.T) {
	hang := func(text string) *scripted.Model {
		return scripted.New(scripted.Reply{Text: call("echo", `{"text":"a"}`)}, scripted.Reply{Text: text, Hang: true})
	}
	for _, tt := range []struct {
		name    string
		options agent.Options
		model   *scripted.Model
		after   time.Duration
		want    string
	}{
		{"no first token", agent.Options{}, hang(""), 10 * time.Minute, "the model sent nothing for 10m0s"},
		{"no next token", agent.Options{}, hang("so"), time.Minute, "the model fell silent for 1m0s"},
		{"step", agent.Options{StepTimeout: 5 * time.Second}, hang("so"), 5 * time.Second, "the reply took longer than 5s"},
		{"run", agent.Options{MaxTime: 7 * time.Second}, hang("so"), 7 * time.Second, "the run took longer than 7s"},
		{"run, in a tool", agent.Options{MaxTime: 9 * time.Second}, scripted.Say("I wait.\n" + call("wait", `{}`)), 9 * time.Second, "the run took longer than 9s"},
		{"run, between tries", agent.Options{MaxTime: 20 * time.Second}, scripted.New(scripted.Reply{
			Err: &providers.Error{Kind: providers.RateLimited, Message: "busy", RetryAfter: time.Minute},
		}), 20 * time.Second, "the run took longer than 20s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bench
				o := tt.options
				o.Model, o.Tools = tt.model, b.registry(t)
				start := time.Now()
				r, err := newAgent(t, o).Ask(t.Context(), "go")
				if err != nil {
					t.Fatal(err)
				}
				if r.StopReason != agent.StopTimeout || r.Status != agent.Partial || r.Err == nil || !strings.Contains(r.Err.Error(), tt.want) {
					t.Errorf("ended %s, %v", r.StopReason, r.Err)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("after %v, want %v", took, tt.after)
				}
				if strings.Contains(tt.name, "tool") && r.Response != "I wait." {
					t.Errorf("response %q", r.Response)
				}
			})
		})
	}
}

// TestTimeIsOverInAnAnswer keeps what had come of it, and nothing else.
func TestTimeIsOverInAnAnswer(t *testing.T) {
	look := "I look.\n" + call("echo", `{"text":"a"}`)
	for _, tt := range []struct {
		name   string
		says   []any // the last one hangs
		answer string
		kept   int // messages of the last run
	}{
		{"a sentence", []any{look, "It is a, and that is"}, "It is a, and that is", 4},
		{"at once", []any{"It is"}, "It is", 2},
		{"before half a call", []any{look, "It is a.\n<tool_code>\n<name>ec"}, "It is a.", 4},
		{"half a call", []any{look, "<tool_code>\n<name>ec"}, "I look.", 3},
		{"a thought", []any{look, "<think>It may be a"}, "I look.", 3},
		{"nothing", []any{look, ""}, "I look.", 3},
		{"on and on", []any{say{text: strings.Repeat("and so on ", 5000), whole: true}}, strings.TrimSpace(strings.Repeat("and so on ", 5000)), 2},
		{"behind a length limit", []any{say{text: "One, two", stop: providers.StopLength}, ", three, fo"}, "One, two, three, fo", 4},
	} {
		for name, o := range map[string]agent.Options{
			"silence": {}, "a reply": {StepTimeout: 5 * time.Second}, "a run": {MaxTime: 5 * time.Second},
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var b bench
					var rec recorder
					m := newModel(tt.says...)
					m.says[len(m.says)-1].hang = true
					o.Model, o.Tools, o.Recorder = m, b.registry(t), &rec
					r := ask(t, o, "go")
					if r.StopReason != agent.StopTimeout || r.Response != tt.answer || len(r.Messages) != tt.kept {
						t.Errorf("ended %s with %q and %d messages, %v", r.StopReason, r.Response, len(r.Messages), r.Messages)
					}
					if text := fmt.Sprint(r.Messages[1:]); len(text) > 10_000 || strings.Contains(text, "<name>ec\n") || strings.Contains(text, "may be") {
						t.Errorf("the session holds %s", text)
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
						next := o
						next.Model, next.Recorder = newModel("All of it."), nil
						a := newAgent(t, next)
						_, again := collect(t, a.Resume(t.Context(), s))
						if again.StopReason == agent.StopTimeout { // it ended as it had
							if n == len(entries) || again.Response != tt.answer || again.Run != r.Run {
								t.Errorf("from %d: %s %q", n, again.StopReason, again.Response)
							}
							_, again = collect(t, a.Resume(t.Context(), s))
						}
						if again.Response != "All of it." {
							t.Errorf("from %d: %s %q", n, again.StopReason, again.Response)
						}
					}
				})
			})
		}
	}
}

// deadlines is a model that notes whether its context has a deadline.
type deadlines struct{ found bool }

func (d *deadlines) Generate(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	_, d.found = ctx.Deadline()
	return ends{}.Generate(ctx, providers.Request{})
}

// The bounds of a run and of a reply are no deadlines: a deadline passes while the
// process is stopped.
func TestBoundsAreNoDeadlines(t *testing.T) {
	for name, o := range map[string]agent.Options{"run": {MaxTime: time.Hour}, "reply": {StepTimeout: time.Hour}} {
		m := &deadlines{}
		o.Model = m
		if ask(t, o, "go"); m.found {
			t.Errorf("%s: the model's context has a deadline", name)
		}
	}
}

// TestWaitingIsNoProgress lets a backend report what it does for ever: the bound
// of the first token counts all the same.
func TestWaitingIsNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, err := newAgent(t, agent.Options{Model: loading{}, FirstTokenTimeout: 10 * time.Second}).Ask(t.Context(), "go")
		if err != nil || r.StopReason != agent.StopTimeout || time.Since(start) != 10*time.Second {
			t.Errorf("ended %s after %v, %v", r.StopReason, time.Since(start), err)
		}
	})
}

// TestManyRunsAtOnce leaves no goroutine behind.
func TestManyRunsAtOnce(t *testing.T) {
	before := runtime.NumGoroutine()
	var b bench
	m := scripted.New(scripted.Reply{Text: "I look.\n" + call("echo", `{"text":"x"}`), Chunk: 7}, scripted.Reply{Text: "Seen."})
	m.Loop, m.Discard = true, true
	a := newAgent(t, agent.Options{Model: m, Tools: b.registry(t), MaxTurns: 6})
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			// The script is shared, so that a run may be told either reply.
			if r, err := a.Ask(t.Context(), "look"); err != nil || r.StopReason != agent.StopComplete && r.StopReason != agent.StopRepeatedCall {
				t.Errorf("%s, %v", r.StopReason, err)
			}
		})
	}
	wg.Wait()
	noGoroutineLeft(t, before)
}

// loading is a backend that says every second that it is loading, and never
// replies.
type loading struct{}

func (loading) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.Status("loading")
			case <-ctx.Done():
				yield(providers.Chunk{}, ctx.Err())
				return
			}
		}
	}
}
