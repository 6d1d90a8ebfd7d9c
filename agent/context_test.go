package agent_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"mylm/agent"
	"mylm/prompts"
	"mylm/providers"
	"mylm/tools"
)

// words counts tokens as tokenizers made for words do: four letters, three
// digits or eight spaces a token, a space before a word none, every other
// character one.
func words(s string) (n int) {
	run, last := 0, 0
	for _, r := range s {
		class, size := 0, 1
		switch {
		case r < 0x80 && unicode.IsLetter(r):
			class, size = 1, 4
		case unicode.IsDigit(r):
			class, size = 2, 3
		case r == ' ':
			class, size = 3, 8
		}
		if class != last || class == 0 {
			run = 0
		}
		if run%size == 0 && (class != 3 || run > 0) {
			n++
		}
		run, last = run+1, class
	}
	return n
}

func bytesOf(s string) int { return len(s) }

// window is a model with a window, which refuses what does not fit. It replies
// by a function of how often it was asked.
type window struct {
	size     int
	count    func(string) int
	reply    func(n int) say
	silent   bool // cuts the prompt instead of refusing it
	mute     bool // refuses without numbers
	usage    bool // reports its count
	n        int
	refused  int
	largest  int
	evaluate func(providers.Request)
}

func (w *window) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: w.size, Chats: true}, nil
}

func (w *window) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		total := 0
		for _, m := range r.Messages {
			total += w.count(m.Text) + 4
		}
		w.largest = max(w.largest, total)
		if total > w.size && !w.silent {
			w.refused++
			e := &providers.Error{Kind: providers.Overflow, Message: "too long", PromptTokens: total, Window: w.size}
			if w.mute {
				e.PromptTokens, e.Window = 0, 0
			}
			yield(providers.Chunk{}, e)
			return
		}
		if w.evaluate != nil {
			w.evaluate(r)
		}
		s := w.reply(w.n)
		w.n++
		if !yield(providers.Chunk{Text: s.text}, nil) {
			return
		}
		u := providers.Usage{}
		if w.usage {
			u.Prompt = min(total, w.size-64) // what a cutting server keeps
		}
		yield(providers.Chunk{Stop: cmp.Or(s.stop, providers.StopEnd), Usage: u}, nil)
	}
}

// pages is a tool that gives back size bytes of some kind of text.
func pages(t *testing.T, size int, kind string) *tools.Registry {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for b.Len() < size {
		switch kind {
		case "prose":
			fmt.Fprintf(&b, "The %s was found in the garden, behind the old house.\n", []string{"key", "letter", "photograph"}[rng.IntN(3)])
		case "hex":
			fmt.Fprintf(&b, "%016x", rng.Uint64())
		case "chinese":
			b.WriteString("今天天气很好我们去公园散步")
		case "log":
			fmt.Fprintf(&b, "2026-01-02T03:04:%02d.%06dZ [warn] worker-%d: retry #%d (%#x) {\"a\":[1,2]}\n", rng.IntN(60), rng.IntN(1e6), rng.IntN(9), rng.IntN(99), rng.Uint32())
		}
	}
	page := b.String()
	tool, err := tools.New("page", "Show a page.", tools.Reads, func(_ context.Context, in echoIn) (tools.Result, error) {
		return tools.Result{Text: in.Text + "\n" + page}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reading calls page for so many turns, then answers.
func reading(turns int) func(int) say {
	return func(n int) say {
		if n >= turns {
			return say{text: "That is all."}
		}
		return say{text: fmt.Sprintf("Page %d.\n%s", n, call("page", fmt.Sprintf(`{"text":"%d"}`, n)))}
	}
}

// TestLongRunFits runs 200 turns with results of more than 50 KB (57,000 bytes
// fill what Go allocates for them) in a window of 8,192 tokens; of the second to fourth
// kind of text 50, and 200 with MYLM_SLOW.
func TestLongRunFits(t *testing.T) {
	for i, kind := range []string{"prose", "hex", "chinese", "log"} {
		t.Run(kind, func(t *testing.T) {
			turns, request := 200, "Read all pages."
			switch {
			case i == 0 || os.Getenv("MYLM_SLOW") != "":
			case testing.Short():
				t.Skip("the first kind is enough with -short")
			default:
				turns = 50
			}
			var before []providers.Message
			compacted, growth := true, 0
			m := &window{size: 8192, count: words, reply: reading(turns)}
			m.evaluate = func(r providers.Request) {
				whole(t, r.Messages, request)
				if !compacted {
					growth++
					if len(before) > len(r.Messages) || !reflect.DeepEqual(before, r.Messages[:len(before)]) {
						t.Fatalf("turn %d: the prompt changed although nothing was compacted", m.n)
					}
				}
				before, compacted = r.Messages, false
			}
			a := newAgent(t, agent.Options{Model: m, Tools: pages(t, 57_000, kind), MaxTurns: turns + 1})
			s := agent.NewSession()
			var result agent.Result
			heap := map[int]int64{} // signed, since record is an estimate
			for ev, err := range a.Run(t.Context(), s, request) {
				if err != nil {
					t.Fatal(err)
				}
				switch p := ev.Payload.(type) {
				case agent.Compaction:
					compacted = true
					if p.After >= p.Before {
						t.Errorf("a compaction from %d to %d", p.Before, p.After)
					}
				case agent.TurnEnd:
					if ev.Turn == 20 || ev.Turn == turns {
						heap[ev.Turn] = int64(live()) - int64(record(s))
					}
				case agent.FinalResponse:
					result = p.Result
				}
			}
			wantEnd(t, result, agent.Success, agent.StopComplete, turns+1)
			if m.refused > 0 {
				t.Errorf("%d requests did not fit, the largest had %d tokens", m.refused, m.largest)
			}
			if growth < turns/4 {
				t.Errorf("only %d of %d prompts were continuations: no cache could be used", growth, turns)
			}
			if n := len(s.Messages()); n != 2*turns+2 {
				t.Errorf("the session has %d messages, want all %d", n, 2*turns+2)
			}
			if heap[turns] > heap[20]*12/10+512<<10 { // 512 KB is what the runtime scatters by
				t.Errorf("beside the record, %d bytes are live after %d turns, and %d after 20", heap[turns], turns, heap[20])
			}
			t.Logf("largest prompt %d tokens, %d continuations, heap %d and %d KB", m.largest, growth, heap[20]>>10, heap[turns]>>10)
		})
	}
}

// whole checks that a prompt has its system prompt and its request, and no call
// without its observation.
func whole(t *testing.T, messages []providers.Message, request string) {
	t.Helper()
	if messages[0].Role != providers.System || !strings.Contains(messages[0].Text, "# TOOLS") {
		t.Errorf("the system prompt is gone: %q", messages[0])
	}
	if !slices.ContainsFunc(messages, func(m providers.Message) bool { return m.Role == providers.User && m.Text == request }) {
		t.Errorf("the request is gone from %d messages", len(messages))
	}
	for i, m := range messages {
		if !utf8.ValidString(m.Text) {
			t.Errorf("message %d is cut inside a character", i)
		}
		calls := m.Role == providers.Assistant && strings.Contains(m.Text, "<tool_code>")
		observed := i+1 < len(messages) && strings.HasPrefix(messages[i+1].Text, "<observation>")
		if calls && !observed {
			t.Errorf("the call in message %d has no observation", i)
		}
		if strings.HasPrefix(m.Text, "<observation>") && !strings.Contains(messages[i-1].Text, "<tool_code>") {
			t.Errorf("the observation in message %d has no call", i)
		}
	}
}

func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// record is about what a session's entries take by themselves, with the slack
// of a slice that grows.
func record(s *agent.Session) (n uint64) {
	for _, e := range s.Entries() {
		text, _ := json.Marshal(e)
		n += uint64(unsafe.Sizeof(e))*2 + uint64(unsafe.Sizeof(agent.ReplyEntry{})) + uint64(len(text))
	}
	return n
}

// TestOverflowIsLearnedFrom has a backend that takes far more tokens for a text
// than anybody would guess.
func TestOverflowIsLearnedFrom(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model *window
	}{
		{"with numbers", &window{size: 8192, count: bytesOf}},
		{"without numbers", &window{size: 8192, count: bytesOf, mute: true}},
		{"with counts", &window{size: 8192, count: bytesOf, usage: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.model
			m.reply = reading(30)
			m.evaluate = func(r providers.Request) { whole(t, r.Messages, "Read.") }
			r := ask(t, agent.Options{Model: m, Tools: pages(t, 50_000, "prose"), MaxTurns: 40}, "Read.")
			wantEnd(t, r, agent.Success, agent.StopComplete, 31)
			if m.refused > 4 {
				t.Errorf("%d requests were refused: nothing was learned", m.refused)
			}
		})
	}
}

// unknown is a model that does not report its window.
type unknown struct{ w *window }

func (u unknown) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return u.w.Generate(ctx, r)
}

func TestUnknownWindowIsLowered(t *testing.T) {
	for _, mute := range []bool{false, true} {
		m := &window{size: 6000, count: words, reply: reading(30), mute: mute}
		r := ask(t, agent.Options{Model: unknown{m}, Tools: pages(t, 50_000, "prose"), MaxTurns: 40}, "Read.")
		wantEnd(t, r, agent.Success, agent.StopComplete, 31)
		if m.refused == 0 || m.refused > 4 {
			t.Errorf("refused %d times, want at least once and then no more", m.refused)
		}
	}
}

// TestLastWordFits has runs that end at a limit in every state of a window, with
// replies and results that fill it.
func TestLastWordFits(t *testing.T) {
	text, err := prompts.Default().Text(prompts.LastWord)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		window window
		limit  agent.Limit
	}{
		{"a limit", window{size: 1 << 20, usage: true}, 8000},
		{"a limit, and no counts", window{size: 1 << 20}, 8000},
		{"a window", window{size: 8192, usage: true}, 0},
		{"tokens of a byte", window{size: 20_000, count: bytesOf, mute: true}, 0},
		{"a window that cuts", window{size: 8192, usage: true, silent: true}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given := 0
			for turns := 1; turns < 12; turns++ {
				m, last := tt.window, 0
				if m.count == nil {
					m.count = words
				}
				m.reply = func(n int) say {
					if n == turns {
						return say{text: "So far."}
					}
					return say{text: fmt.Sprintf("%s\n%s", strings.Repeat("I think about it at length. ", 40*((n+turns)%5+1)), call("page", fmt.Sprintf(`{"text":"%d"}`, n)))}
				}
				m.evaluate = func(r providers.Request) {
					if r.Messages[len(r.Messages)-1].Text != text {
						return
					}
					for _, message := range r.Messages {
						last += m.count(message.Text) + 4
					}
					if !slices.ContainsFunc(r.Messages, func(m providers.Message) bool { return m.Role == providers.User && m.Text == "Read." }) {
						t.Error("the request is gone")
					}
				}
				r := ask(t, agent.Options{Model: &m, Tools: pages(t, 50_000, "prose"), MaxTurns: turns, MaxContextTokens: tt.limit, SummarizeAfterTurns: agent.Off}, "Read.")
				if r.StopReason != agent.StopMaxTurns {
					t.Fatalf("ended %s, %v", r.StopReason, r.Err)
				}
				if most := min(m.size, cmp.Or(int(tt.limit), m.size)); last > most || m.refused > 4 {
					t.Errorf("%d turns: a last word of %d tokens, of %d; %d were refused", turns, last, most, m.refused)
				}
				if r.Response == "So far." {
					given++
				}
			}
			if given < 11 {
				t.Errorf("only %d of 11 gave it", given)
			}
		})
	}
}

func TestSilentCutIsContextFull(t *testing.T) {
	t.Run("the count falls", func(t *testing.T) {
		m := newModel(call("echo", `{"text":"a"}`), "x", "y", "z")
		counts := []int{0, 900, 700}
		var b bench
		i := -1
		counting := wrapModel{m, func(c providers.Chunk) providers.Chunk {
			if c.Stop != "" {
				c.Usage.Prompt = counts[min(i, 2)]
			}
			return c
		}, func() { i++ }}
		m.says = []say{{text: call("echo", `{"text":"a"}`)}, {text: "part", stop: providers.StopLength}, {text: "rest"}}
		r := ask(t, agent.Options{Model: counting, Tools: b.registry(t)}, "go")
		wantEnd(t, r, agent.Partial, agent.StopContextFull, 3)
		if r.Err == nil || !strings.Contains(r.Err.Error(), "700 tokens of a prompt of which it had read 900") {
			t.Errorf("err = %v", r.Err)
		}
	})
	t.Run("the window is full", func(t *testing.T) {
		m := &window{size: 4096, count: words, silent: true, usage: true, reply: func(int) say { return say{text: "well"} }}
		full := wrapModel{m, func(c providers.Chunk) providers.Chunk {
			if c.Stop != "" {
				c.Usage.Prompt = 4096
			}
			return c
		}, func() {}}
		r := ask(t, agent.Options{Model: struct {
			providers.Model
			providers.Informer
		}{full, m}}, strings.Repeat("word ", 12000))
		wantEnd(t, r, agent.Partial, agent.StopContextFull, 1)
	})
}

// wrapModel changes a model's replies.
type wrapModel struct {
	providers.Model
	change func(providers.Chunk) providers.Chunk
	asked  func()
}

func (w wrapModel) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		w.asked()
		for c, err := range w.Model.Generate(ctx, r) {
			if !yield(w.change(c), err) {
				return
			}
		}
	}
}

func TestPromptThatNeverFits(t *testing.T) {
	m := &window{size: 2048, count: words, reply: reading(3)}
	r := ask(t, agent.Options{Model: m}, strings.Repeat("one long question ", 2000))
	wantEnd(t, r, agent.Partial, agent.StopContextFull, 1)
	if providers.KindOf(r.Err) != providers.Overflow {
		t.Errorf("err = %v", r.Err)
	}
}

// TestLongRequestStays has a request that takes much of the window, and is not
// to be counted on when room is made.
func TestLongRequestStays(t *testing.T) {
	request := strings.Repeat("Read every page with care. ", 200)
	m := &window{size: 8192, count: words, reply: reading(40)}
	m.evaluate = func(r providers.Request) { whole(t, r.Messages, request) }
	events, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: pages(t, 1_500, "prose"), MaxTurns: 50, SummarizeAfterTurns: agent.Off}).Run(t.Context(), nil, request))
	wantEnd(t, r, agent.Success, agent.StopComplete, 41)
	for _, ev := range events {
		// the request, a quarter of what a reply of 2,048 tokens leaves, and a marker
		if c, ok := ev.Payload.(agent.Compaction); ok && c.After > words(request)+6144/4+600 {
			t.Errorf("turn %d: %d tokens are left of %d", ev.Turn, c.After, c.Before)
		}
	}
	if m.refused > 0 {
		t.Errorf("%d refusals", m.refused)
	}
}

func TestMaxContextTokens(t *testing.T) {
	for _, tt := range []struct {
		limit           agent.Limit
		atMost, atLeast int
	}{
		{4000, 4000, 500},
		{agent.Off, 1 << 30, 30_000},
	} {
		m := &window{size: 1 << 20, count: words, reply: reading(20)}
		r := ask(t, agent.Options{Model: m, Tools: pages(t, 50_000, "prose"), MaxTurns: 30, MaxContextTokens: tt.limit, SummarizeAfterTurns: agent.Off}, "Read.")
		wantEnd(t, r, agent.Success, agent.StopComplete, 21)
		if m.largest > tt.atMost || m.largest < tt.atLeast {
			t.Errorf("limit %d: the largest prompt has %d tokens", tt.limit, m.largest)
		}
	}
}

// TestMaxContextTokensHoldsAtOnce has a limit before any backend has counted.
func TestMaxContextTokensHoldsAtOnce(t *testing.T) {
	earlier := func(n, size int) *agent.Session {
		var history []providers.Message
		for range n {
			history = append(history, providers.Message{Role: providers.User, Text: strings.Repeat("a question ", size)},
				providers.Message{Role: providers.Assistant, Text: strings.Repeat("an answer ", size)})
		}
		return agent.NewSession(history...)
	}
	file := strings.Repeat("a line of a file\n", 12_000) // 200 KB
	for _, tt := range []struct {
		name    string
		window  int
		limit   agent.Limit
		session *agent.Session
		prompt  string
		stop    agent.StopReason
		limited string // the option in the error; "-": the window
	}{
		{"a piped file", 1 << 20, 8000, nil, file, agent.StopContextFull, "MaxContextTokens"},
		{"a piped file, an unknown window", 0, 8000, nil, file, agent.StopContextFull, "MaxContextTokens"},
		{"earlier turns", 1 << 20, 4000, earlier(100, 100), "and now?", agent.StopComplete, ""},
		{"a smaller window", 2048, 8000, nil, file, agent.StopContextFull, "-"},
		{"a window without a limit", 2048, 0, nil, file, agent.StopContextFull, "-"},
		{"within the limit", 1 << 20, 8000, nil, "go", agent.StopComplete, ""},
		{"off", 1 << 20, agent.Off, nil, file, agent.StopComplete, ""},
		{"unknown window", 0, 0, nil, file, agent.StopComplete, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			largest := 0
			m := &counter{window: tt.window, says: []say{{text: "well"}}, told: func(_, total int) int {
				largest = max(largest, total)
				return 0
			}}
			r, err := agent.Collect(newAgent(t, agent.Options{Model: m, MaxContextTokens: tt.limit}).Run(t.Context(), tt.session, tt.prompt))
			if err != nil {
				t.Fatal(err)
			}
			wantEnd(t, r, tt.stop.Status(), tt.stop, 1)
			if tt.limit > 0 && largest > int(tt.limit) || tt.stop == agent.StopContextFull && largest > 0 {
				t.Errorf("a prompt of %d tokens was sent", largest)
			}
			var e *providers.Error
			option, limit := "-", (*agent.LimitError)(nil)
			if errors.As(r.Err, &limit) {
				option = limit.Limit
			}
			if tt.limited != "" && (!errors.As(r.Err, &e) || option != tt.limited || e.Window == 0) {
				t.Errorf("err = %v, %+v", r.Err, e)
			}
		})
	}
}

// TestCompactionThatGainsNothing is not done.
func TestCompactionThatGainsNothing(t *testing.T) {
	tiny := func(i int) say { return say{text: call("echo", fmt.Sprintf(`{"text":"%d"}`, i))} }
	long := say{text: strings.Repeat("All of this was done, and said at length. ", 40)}
	var b bench
	m := newModel(tiny(1), tiny(2), long, tiny(3), tiny(4), tiny(5), tiny(6), "done")
	events, r := collect(t, newAgent(t, agent.Options{Model: m, Tools: b.registry(t), SummarizeAfterTurns: 1, KeepRecentTurns: 1, MaxTurns: 12}).Run(t.Context(), nil, "go"))
	wantEnd(t, r, agent.Success, agent.StopComplete, 7)
	for _, ev := range events {
		if c, ok := ev.Payload.(agent.Compaction); ok {
			t.Errorf("a compaction from %d to %d", c.Before, c.After)
		}
	}
	if !strings.Contains(types(events), "notice") || m.asked() != 8 {
		t.Errorf("asked %d times, events %s", m.asked(), types(events))
	}

	// Short questions take less than the words that would stand for them.
	s := agent.NewSession(providers.Message{Role: providers.User, Text: "a"}, providers.Message{Role: providers.Assistant, Text: "b"})
	events, r = collect(t, newAgent(t, agent.Options{Model: newModel("well"), MaxContextTokens: 3000}).Run(t.Context(), s, strings.Repeat("word ", 8000)))
	if wantEnd(t, r, agent.Partial, agent.StopContextFull, 1); strings.Contains(types(events), "compaction") {
		t.Errorf("events %s", types(events))
	}
}

func TestLongResultsKeepHeadAndTail(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "this is line number %d of them\n", i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, text string
		limit      agent.Limit
		marker     string
	}{
		{"lines", lines(3000), 300, "lines, "},
		{"one line", strings.Repeat("abcdefg hij ", 8000), 300, " bytes ...]"},
		{"no space", hex.EncodeToString([]byte(strings.Repeat("xyz", 9000))), 300, " bytes ...]"},
		{"characters", strings.Repeat("日本語テキスト", 3000), 300, " bytes ...]"},
		{"emoji", strings.Repeat("🙂", 5000), 100, " bytes ...]"},
		{"broken", strings.Repeat("\xff\xfe", 9000), 100, " bytes ...]"},
		{"short", "short", 300, ""},
		{"no longer than its marker", strings.Repeat("a b c d ", 4), 7, ""},
		{"off", lines(3000), agent.Off, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			m := newModel(call("show", `{}`), "done")
			tool, err := tools.New("show", "Show.", tools.Reads, func(context.Context, noneIn) (tools.Result, error) {
				return tools.Result{Text: tt.text}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			registry, err := tools.NewRegistry(append(b.registry(t).Tools(), tool)...)
			if err != nil {
				t.Fatal(err)
			}
			ask(t, agent.Options{Model: m, Tools: registry, MaxToolResultTokens: tt.limit}, "go")
			got := m.last()
			if tt.marker == "" {
				if !strings.Contains(got, strings.TrimRight(tt.text, "\n")) {
					t.Errorf("it is cut: %q", got)
				}
				return
			}
			head, tail, ok := strings.Cut(got, "[... left out: ")
			if !ok || !strings.Contains(tail, tt.marker) {
				t.Fatalf("no marker with %q in %.300q", tt.marker, got)
			}
			if n := words(got); n > int(tt.limit)*3/2 {
				t.Errorf("%d tokens are left of %d", n, tt.limit)
			}
			_, tail, _ = strings.Cut(tail, " ...]")
			h, l := len(head)-len("<observation>\n[show] Success:\n"), len(tail)-len("\n</observation>")
			if h < l*3/2 || h > l*5/2 {
				t.Errorf("the head has %d bytes, the tail %d; want two to one", h, l)
			}
			if utf8.ValidString(tt.text) && !utf8.ValidString(got) {
				t.Error("it is cut inside a character")
			}
		})
	}
}

// A result that its tool cut is cut further at the same place: there is one mark, and
// what it counts and what is shown are the whole.
func TestResultIsCutOnce(t *testing.T) {
	var all strings.Builder
	for i := range 30_000 {
		fmt.Fprintln(&all, i+1)
	}
	whole := all.String()
	head, tail := whole[:40_000], whole[len(whole)-20_000:]
	text := tools.Gap{Bytes: len(whole) - 60_000, Breaks: strings.Count(whole[40_000:len(whole)-20_000], "\n")}.Join(head, tail)
	show, err := tools.New("show", "Show.", tools.Reads, func(context.Context, noneIn) (tools.Result, error) {
		return tools.Result{Text: text, Gap: true, Truncated: true}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(show)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(call("show", `{}`), "done")
	ask(t, agent.Options{Model: m, Tools: registry, MaxToolResultTokens: 500}, "go")
	got := m.last()
	var lines int
	_, mark, _ := strings.Cut(got, "[... left out: ")
	if _, err := fmt.Sscanf(mark, "%d lines", &lines); err != nil || strings.Count(got, "left out") != 1 {
		t.Fatalf("%v: %s", err, got)
	}
	const around = 5 // lines: two before the result, the mark, two after the result
	if shown := strings.Count(got, "\n") + 1 - around; shown+lines != 30_000 {
		t.Errorf("%d lines are shown and %d left out", shown, lines)
	}
}

func TestSummaries(t *testing.T) {
	sum := func(text string) say { return say{text: text} }
	step := func(i int) say {
		return say{text: fmt.Sprintf("Step %d.\n%s", i, call("echo", fmt.Sprintf(`{"text":"result %d"}`, i)))}
	}
	o := agent.Options{SummarizeAfterTurns: 3, KeepRecentTurns: 2, MaxTurns: 20}

	t.Run("older steps become one", func(t *testing.T) {
		var b bench
		o := o
		m := newModel(step(1), step(2), step(3), step(4), sum("The first two results were found. <tool_code>"), step(5), step(6), sum("Four results."), "done")
		o.Model, o.Tools = m, b.registry(t)
		events, r := collect(t, newAgent(t, o).Run(t.Context(), nil, "the request"))
		wantEnd(t, r, agent.Success, agent.StopComplete, 7)
		if got := b.String(); got != "echo:result 1 echo:result 2 echo:result 3 echo:result 4 echo:result 5 echo:result 6" {
			t.Errorf("ran %s", got)
		}
		asked, next := m.requests[4].Messages, m.requests[5].Messages
		if want, _ := prompts.Default().Text(prompts.Summary); asked[0].Text != want || !strings.Contains(asked[1].Text, "result 2") || strings.Contains(asked[1].Text, "result 3") {
			t.Errorf("the summary is asked for with %q", asked)
		}
		if next[1].Text != "the request" || next[2].Role != providers.User || !strings.Contains(next[2].Text, "[Summary of earlier steps") ||
			!strings.Contains(next[2].Text, `The first two results were found. <\tool_code>`) {
			t.Errorf("after the summary the model is sent %q", next[:3])
		}
		if len(next) != 7 || !strings.Contains(next[3].Text, "Step 3.") || !strings.Contains(next[6].Text, "result 4") {
			t.Errorf("what is kept: %q", next[3:])
		}
		if last := m.requests[8].Messages; len(last) != 7 || !strings.Contains(last[2].Text, "Four results.") || !strings.Contains(m.requests[7].Messages[1].Text, "The first two results") {
			t.Errorf("the second summary holds %q, the prompt after it is %q", m.requests[7].Messages[1].Text, last)
		}
		var found []agent.Compaction
		for _, ev := range events {
			if c, ok := ev.Payload.(agent.Compaction); ok {
				found = append(found, c)
			}
		}
		if len(found) != 2 || found[0].Dropped != 4 || !found[0].Summarized {
			t.Errorf("events %+v", found)
		}
		if len(r.Messages) != 1+2*6+1 {
			t.Errorf("the result has %d messages, want all", len(r.Messages))
		}
		if r.Usage.Prompt != 10*9 { // the model ends at its calls, and reports what they cost
			t.Errorf("usage %+v", r.Usage)
		}
	})
	t.Run("one that fails changes nothing", func(t *testing.T) {
		for name, bad := range map[string]say{
			"error": {err: &providers.Error{Kind: providers.BadRequest, Message: "no"}},
			"call":  {text: call("echo", `{"text":"x"}`)},
			"empty": {text: " "},
		} {
			t.Run(name, func(t *testing.T) {
				var b bench
				o := o
				m := newModel(step(1), step(2), step(3), step(4), bad, "done")
				o.Model, o.Tools = m, b.registry(t)
				events, r := collect(t, newAgent(t, o).Run(t.Context(), nil, "the request"))
				wantEnd(t, r, agent.Success, agent.StopComplete, 5)
				if last := m.requests[5].Messages; len(last) != 2+2*4 || strings.Contains(types(events), "compaction") {
					t.Errorf("%d messages after %s", len(last), types(events))
				}
			})
		}
	})
	t.Run("off, and not needed", func(t *testing.T) {
		for _, after := range []agent.Limit{agent.Off, 0} {
			var b bench
			o := o
			m := newModel(step(1), step(2), step(3), step(4), step(5), step(6), step(7), step(8), step(9), step(10), step(11), "done")
			o.Model, o.Tools, o.SummarizeAfterTurns = m, b.registry(t), after
			wantEnd(t, ask(t, o, "go"), agent.Success, agent.StopComplete, 12)
		}
	})
}

// TestSummaryIsOfABoundedText has more to sum up than fits: the last of it counts.
func TestSummaryIsOfABoundedText(t *testing.T) {
	var asked string
	m := &window{size: 1 << 20, count: words, reply: reading(12)}
	m.evaluate = func(r providers.Request) {
		if asked == "" && strings.HasPrefix(r.Messages[0].Text, "You sum up") {
			asked = r.Messages[1].Text
		}
	}
	ask(t, agent.Options{Model: m, Tools: pages(t, 5_000, "prose"), MaxTurns: 20, MaxToolResultTokens: 300, SummarizeAfterTurns: 8, KeepRecentTurns: 1}, "Read.")
	if n := words(asked); n < 300 || n > 2*300+50 { // two results' worth
		t.Errorf("%d tokens are to be summed up", n)
	}
	if !strings.HasPrefix(asked, "[...]\n\n") || !strings.Contains(asked, "Page 7.") || strings.Contains(asked, "Page 2.") {
		t.Errorf("to be summed up is %.300q", asked)
	}
}

// TestSummaryWhenFull is the default: when the window is full.
func TestSummaryWhenFull(t *testing.T) {
	asked := 0
	m := &window{size: 16384, count: words}
	next := reading(34)
	steps := 0
	m.evaluate = func(r providers.Request) {
		summary := strings.HasPrefix(r.Messages[0].Text, "You sum up")
		m.reply = func(int) say {
			if summary {
				asked++
				return say{text: "A summary."}
			}
			steps++
			return next(steps - 1)
		}
	}
	r := ask(t, agent.Options{Model: m, Tools: pages(t, 2_500, "prose"), MaxTurns: 40}, "Read.")
	wantEnd(t, r, agent.Success, agent.StopComplete, 35)
	if asked == 0 || m.refused > 0 {
		t.Errorf("%d summaries, %d refusals", asked, m.refused)
	}
}

// TestCompactionHoldsInTheNextRun continues a session that was compacted.
func TestCompactionHoldsInTheNextRun(t *testing.T) {
	m := &window{size: 8192, count: words, reply: reading(20)}
	a := newAgent(t, agent.Options{Model: m, Tools: pages(t, 20_000, "prose"), MaxTurns: 30})
	s := agent.NewSession()
	for range 2 {
		m.n = 0
		if _, err := agent.Collect(a.Run(t.Context(), s, "Read on.")); err != nil {
			t.Fatal(err)
		}
	}
	if m.refused > 0 {
		t.Errorf("%d requests did not fit", m.refused)
	}
	r, err := a.Request(s, "And now?")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, msg := range r.Messages {
		total += words(msg.Text)
	}
	if total > 8192 || !strings.Contains(r.Messages[2].Text, "no longer shown") {
		t.Errorf("the next prompt has %d tokens: %.200q", total, r.Messages[1:3])
	}
}

// Compactions are few: of 100 turns in a window of 16k at most ten, and not many
// more without summaries.
func TestCompactionsAreFew(t *testing.T) {
	t.Run("summaries", func(t *testing.T) { testCompactionsAreFew(t, 0, 10) })
	t.Run("no summaries", func(t *testing.T) { testCompactionsAreFew(t, agent.Off, 12) })
}

func testCompactionsAreFew(t *testing.T, after agent.Limit, most int) {
	var last []providers.Message
	breaks, evaluated, sent, summary := 0, 0, 0, false
	m := &window{size: 16384, count: words, usage: true}
	m.evaluate = func(r providers.Request) {
		if summary = r.Messages[0].Text == summaryPrompt(t); summary {
			evaluated += words(r.Messages[1].Text)
			return
		}
		same := 0
		for same < min(len(last), len(r.Messages)) && reflect.DeepEqual(last[same], r.Messages[same]) {
			same++
		}
		if same < len(last) {
			breaks++
		}
		for i, msg := range r.Messages {
			n := words(msg.Text)
			if sent += n; i >= same {
				evaluated += n
			}
		}
		last = slices.Clone(r.Messages)
	}
	m.reply = func(n int) say {
		if summary {
			return say{text: "The pages so far were read. " + strings.Repeat("One of them says this. ", 40)}
		}
		return say{text: fmt.Sprintf("Page %d comes next.\n%s", n, call("page", fmt.Sprintf(`{"text":"%d"}`, n)))}
	}
	ask(t, agent.Options{Model: m, Tools: pages(t, 2200, "log"), MaxTurns: 100, NoLastWord: true, SummarizeAfterTurns: after}, "Read all the pages.")
	t.Logf("%d breaks; %d of %d tokens evaluated", breaks, evaluated, sent)
	if breaks > most {
		t.Errorf("%d prompts of 100 do not go on from the one before", breaks)
	}
}

func summaryPrompt(t *testing.T) string {
	t.Helper()
	text, err := prompts.Default().Text(prompts.Summary)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
