package agent_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
)

// counter is a model that reports made-up sizes of its prompts, computed from how
// often it was asked and their real size.
type counter struct {
	name   string
	window int // 0: it does not tell
	told   func(n, total int) int
	says   []say
	n      int
}

func (c *counter) Name() string { return c.name }

func (c *counter) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: c.window}, nil
}

func (c *counter) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		total := 0
		for _, m := range r.Messages {
			total += words(m.Text) + 4
		}
		s := c.says[min(c.n, len(c.says)-1)]
		usage := providers.Usage{Prompt: c.told(c.n, total), Output: 2}
		c.n++
		if s.err != nil {
			yield(providers.Chunk{}, s.err)
			return
		}
		stop := s.stop
		if stop == "" {
			stop = providers.StopEnd
		}
		if yield(providers.Chunk{Text: s.text}, nil) {
			yield(providers.Chunk{Stop: stop, Usage: usage}, nil)
		}
	}
}

// TestCountsThatCannotBe are no reason to throw an answer away.
func TestCountsThatCannotBe(t *testing.T) {
	for _, n := range []int{-5, math.MinInt, 1 << 29, 1 << 62, math.MaxInt} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := &counter{window: 4096, told: func(int, int) int { return n }, says: []say{{text: "part", stop: providers.StopLength}, {text: " and rest"}}}
			r := ask(t, agent.Options{Model: m}, strings.Repeat("a long request ", 800))
			wantEnd(t, r, agent.Success, agent.StopComplete, 2)
			if u := r.Usage; u.Prompt < 0 || u.Output != 4 {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

// TestSilentCutIsNoticed has a backend that reads at most window tokens, in
// conversations that grow beyond it.
func TestSilentCutIsNoticed(t *testing.T) {
	step := func(i int) say {
		return say{text: call("echo", fmt.Sprintf(`{"text":"%d %s"}`, i, strings.Repeat("word upon word ", 40)))}
	}
	big := func(i int) say {
		return say{text: call("echo", fmt.Sprintf(`{"text":"%d %s"}`, i, strings.Repeat("word upon word ", 150)))}
	}
	long := strings.Repeat("one long question ", 350) // 1,050 words
	holds := func(window int) func(n, total int) int {
		return func(_, total int) int { return min(total, window) }
	}
	drops := func(n, total int) int { // whole messages
		if total > 1500 {
			return 1200 + n
		}
		return total
	}
	fresh := func(full func(n int) bool) func(n, total int) int { // counts only what is not in its cache
		before := 0
		return func(n, total int) int {
			was := before
			if before = total; full(n) || total < was {
				return total
			}
			return total - was
		}
	}
	dearer := func(percent, more int) func(n, total int) int { // what it had not read costs more than its words
		told := fresh(func(n int) bool { return n == 0 })
		return func(n, total int) int {
			if new := told(n, total); n > 0 {
				return new*percent/100 + more
			}
			return total
		}
	}
	steps := []say{step(1), step(2), step(3), step(4), step(5), step(6), step(7), {text: "done"}}
	for _, tt := range []struct {
		name   string
		model  *counter
		o      agent.Options
		prompt string
		by     int // the turn in which it is noticed; 0: there is nothing to notice
	}{
		{"calls, an unknown window", &counter{told: holds(1500), says: steps}, agent.Options{}, "go", 5},
		{"calls, whole messages", &counter{told: drops, says: steps}, agent.Options{}, "go", 5},
		{"a small window", &counter{window: 1024, told: holds(1024), says: steps}, agent.Options{}, long, 1},
		{"half of a small window", &counter{window: 1024, told: func(int, int) int { return 515 }, says: steps}, agent.Options{}, long, 1},
		{"nothing is cut", &counter{told: holds(1 << 20), says: steps}, agent.Options{}, "go", 0},
		{"nothing is told", &counter{told: func(int, int) int { return 0 }, says: steps}, agent.Options{}, "go", 0},
		{"a warm cache", &counter{told: fresh(func(n int) bool { return n == 0 }), says: steps}, agent.Options{}, "go", 0},
		{"a warm cache, a template of much", &counter{told: dearer(100, 50), says: []say{{text: call("echo", `{"text":"a"}`)}, {text: "done"}}}, agent.Options{}, long, 0},
		{"a warm cache, words of many tokens", &counter{told: dearer(130, 0), says: []say{big(1), big(2), {text: "done"}}}, agent.Options{}, long, 0},
		{"a cache that was lost", &counter{told: fresh(func(n int) bool { return n%3 == 0 }), says: steps}, agent.Options{}, "go", 0},
		{"the very same prompt in the cache", &counter{told: func(int, int) int { return 1 }, says: steps}, agent.Options{}, "go", 0},
		{"shorter after a compaction", &counter{window: 3200, told: holds(1 << 20), says: steps}, agent.Options{}, "go", 0},
		{"shorter after summaries", &counter{told: holds(1 << 20), says: []say{step(1), step(2), step(3), {text: "Sum."}, step(4), step(5), {text: "Sum."}, step(6), {text: "done"}}},
			agent.Options{SummarizeAfterTurns: 2, KeepRecentTurns: 1}, "go", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			tt.o.Model, tt.o.Tools, tt.o.MaxTurns = tt.model, b.registry(t), 20
			r := ask(t, tt.o, tt.prompt)
			switch {
			case tt.by == 0 && r.StopReason != agent.StopComplete:
				t.Errorf("a false alarm: %s after %d turns, %v", r.StopReason, r.Turns, r.Err)
			case tt.by > 0 && (r.StopReason != agent.StopContextFull || r.Turns > tt.by || !strings.Contains(r.Err.Error(), "silently truncated the conversation")):
				t.Errorf("%s after %d turns, %v; want a cut to be noticed by turn %d", r.StopReason, r.Turns, r.Err, tt.by)
			}
		})
	}
}

// TestCountsAreWaitedFor only when the prompt has grown by much: a reply ends with
// its call, mostly, and its account comes late.
func TestCountsAreWaitedFor(t *testing.T) {
	step := func(i, words int) say {
		return say{text: call("echo", fmt.Sprintf(`{"text":"%d %s"}`, i, strings.Repeat("word ", words)))}
	}
	for name, tt := range map[string]struct {
		words   int // of each step
		partial bool
	}{"it grows a little": {1, true}, "it grows by half": {400, false}} {
		t.Run(name, func(t *testing.T) {
			var b bench
			m := &counter{told: func(_, total int) int { return total }, says: []say{step(1, tt.words), step(2, tt.words), {text: "done"}}}
			r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, strings.Repeat("one long question ", 350))
			if wantEnd(t, r, agent.Success, agent.StopComplete, 3); r.UsagePartial != tt.partial {
				t.Errorf("usage %+v, partial: %v", r.Usage, r.UsagePartial)
			}
		})
	}
}

// TestSilentCutBetweenRuns is noticed in the next run of a session, by what the
// record holds of the last one.
func TestSilentCutBetweenRuns(t *testing.T) {
	whole := func(_, total int) int { return total }
	atMost := func(n int) func(int, int) int { return func(_, total int) int { return min(total, n) } }
	long := strings.Repeat("one long question ", 400) // 1,600 tokens
	first := func() *counter { return &counter{name: "small", told: whole, says: []say{{text: "well"}}} }
	for _, tt := range []struct {
		name   string
		first  *counter
		second *counter
		o      agent.Options // of the second run
		cut    bool
	}{
		{"cut", first(), &counter{name: "small", told: atMost(1024)}, agent.Options{}, true},
		{"read whole", first(), &counter{name: "small", told: whole}, agent.Options{}, false},
		{"a template of less", first(), &counter{name: "small", told: func(_, total int) int { return total * 15 / 16 }}, agent.Options{}, false},
		{"another model", first(), &counter{name: "other", told: func(_, total int) int { return total * 6 / 10 }}, agent.Options{}, false},
		{"other instructions", first(), &counter{name: "small", told: func(_, total int) int { return total * 6 / 10 }}, agent.Options{System: "Be brief."}, false},
		{"no name", &counter{told: whole, says: []say{{text: "well"}}}, &counter{told: atMost(1024)}, agent.Options{}, false},
		{"a smaller window", &counter{name: "small", window: 8192, told: whole, says: []say{{text: "well"}}}, &counter{name: "small", window: 4096, told: whole}, agent.Options{}, false},
	} {
		for _, how := range []string{"session", "record", "crash"} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				var rec recorder
				s := agent.NewSession()
				tt.first.n, tt.second.n, tt.second.says = 0, 0, []say{{text: "well"}}
				if _, err := agent.Collect(newAgent(t, agent.Options{Model: tt.first, Recorder: &rec}).Run(t.Context(), s, long)); err != nil {
					t.Fatal(err)
				}
				if _, err := agent.Collect(newAgent(t, agent.Options{Model: tt.first, Recorder: &rec}).Run(t.Context(), s, "go on")); err != nil {
					t.Fatal(err)
				}
				entries := through(t, rec.entries)
				var err error
				switch how {
				case "crash":
					entries = entries[:len(entries)-1]
					fallthrough
				case "record":
					if s, err = agent.LoadSession(s.ID, entries); err != nil {
						t.Fatal(err)
					}
				}
				tt.o.Model = tt.second
				r, err := agent.Collect(newAgent(t, tt.o).Run(t.Context(), s, "and now?"))
				if err != nil {
					t.Fatal(err)
				}
				if got := r.StopReason == agent.StopContextFull; got != tt.cut {
					t.Errorf("ended %s, %v", r.StopReason, r.Err)
				}
			})
		}
	}
}

// TestOverflowSpoilsNoSession has a backend that refuses what is asked in one
// run, whatever the reason: later runs are sent as they would be without it.
func TestOverflowSpoilsNoSession(t *testing.T) {
	for _, window := range []int{8192, 0} {
		for _, told := range []providers.Error{{}, {Window: 8192}, {PromptTokens: 1 << 30}, {PromptTokens: 1 << 30, Window: 8192}} {
			for _, before := range []int{0, 2} { // answers that the session has
				t.Run(fmt.Sprintf("window %d, told %d of %d, after %d", window, told.PromptTokens, told.Window, before), func(t *testing.T) {
					told.Kind, told.Message = providers.Overflow, "too long"
					s := agent.NewSession()
					m := &counter{name: "m", window: window, told: func(_, total int) int { return total }}
					a := newAgent(t, agent.Options{Model: m, System: strings.Repeat("You help with this and that. ", 250)})
					ask := func(q string, answer say) ([]agent.Event, agent.Result) {
						m.says, m.n = []say{answer}, 0
						return collect(t, a.Run(t.Context(), s, q))
					}
					for range before {
						ask(strings.Repeat("an earlier question ", 100), say{text: "An answer."})
					}
					if _, r := ask("hello", say{err: &told}); r.StopReason != agent.StopContextFull {
						t.Fatalf("ended %s", r.StopReason)
					}
					events, r := ask("and now?", say{text: "well"})
					if r.Response != "well" || m.n != 1 || before == 0 && strings.Contains(types(events), "compaction") {
						t.Errorf("%s %q after %d requests, %v; %s", r.StopReason, r.Response, m.n, r.Err, types(events))
					}
				})
			}
		}
	}
}

// TestResumeWithAnotherModel continues a run that died with a model that counts
// less.
func TestResumeWithAnotherModel(t *testing.T) {
	var b bench
	var rec recorder
	step := func(i int) say { return say{text: call("echo", fmt.Sprintf(`{"text":"%d"}`, i))} }
	m := &counter{name: "one", told: func(_, total int) int { return 2 * total }, says: []say{step(1), step(2), step(3), {text: "done"}}}
	ask(t, agent.Options{Model: m, Tools: b.registry(t), Recorder: &rec}, "go")
	for n := 3; n < len(rec.entries); n++ {
		s, err := agent.LoadSession("s", through(t, rec.entries)[:n])
		if err != nil {
			t.Fatal(err)
		}
		other := &counter{name: "other", told: func(_, total int) int { return total }, says: []say{step(7), step(8), {text: "done"}}}
		_, r := collect(t, newAgent(t, agent.Options{Model: other, Tools: b.registry(t)}).Resume(t.Context(), s))
		if r.StopReason != agent.StopComplete {
			t.Errorf("behind entry %d: %s, %v", n, r.StopReason, r.Err)
		}
	}
}

// TestInterruptedQuestion: who is interrupted while a person is asked about a call
// learns that the call was not run, and the person is asked again.
func TestInterruptedQuestion(t *testing.T) {
	var b bench
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	approve := func(ctx context.Context, _ agent.ApprovalRequest) (agent.Decision, error) {
		if asked++; asked == 1 {
			cancel()
			return agent.Decision{}, ctx.Err()
		}
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	write := call("write", `{"text":"x"}`)
	m := newModel(write, write, "Done.")
	a := newAgent(t, agent.Options{Model: m, Tools: b.registry(t), Approve: approve})
	s := agent.NewSession()
	if r, err := agent.Collect(a.Run(ctx, s, "go")); r.StopReason != agent.StopInterrupted {
		t.Fatalf("ended %s, %v", r.StopReason, err)
	}
	_, r := collect(t, a.Resume(t.Context(), s))
	told := m.requests[1].Messages
	if last := told[len(told)-1].Text; !strings.Contains(last, "was not run") {
		t.Errorf("the model was told %q", last)
	}
	if r.StopReason != agent.StopComplete || asked != 2 || b.String() != "write:x" {
		t.Errorf("%s, %v, asked %d times, ran %q", r.StopReason, r.Err, asked, b.String())
	}
}
