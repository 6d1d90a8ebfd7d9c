package calling_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

// endless is a model that writes until it is stopped, or half a million pieces.
type endless struct {
	piece  func(i int) string
	window int
	came   *int
	asked  *int // how often it was asked for its window
}

func (e endless) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for i := range 500_000 {
			*e.came = i
			if !yield(providers.Chunk{Text: e.piece(i)}, nil) {
				return
			}
		}
		yield(providers.Chunk{Stop: providers.StopEnd}, nil)
	}
}

func (e endless) Info(context.Context) (providers.Info, error) {
	*e.asked++
	return providers.Info{Window: e.window}, nil
}

// words are never the same.
func words(i int) string {
	return " " + strings.Repeat(string(rune('a'+i%26)), 1+i%7) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26))
}

// A reply that repeats itself is an error, and one that has all the tokens that it may has
// met its limit, whatever the backend does about it.
func TestEndlessReplyIsStopped(t *testing.T) {
	call := func(i int) string {
		if i == 0 {
			return "<tool_code>\n<name>get_weather</name>\n<parameters>{\"city\": \"0"
		}
		return "0, "
	}
	same := func(int) string { return "so on and " }
	offered := calling.Request{Tools: []calling.Tool{weather}}
	for _, tt := range []struct {
		name string
		q    calling.Request
		says func(int) string
		most int // pieces
		want string
	}{
		{"repetition", offered, same, 3000, "after 1 try: it repeats itself"},
		{"repetition without tools", calling.Request{}, same, 30_000, "after 1 try: it repeats itself"},
		{"a call that fills the window", offered, call, 30_000, "length"},
		{"more than its limit", calling.Request{MaxTokens: 100}, words, 300, "length"},
		{"more than its limit, in a call", calling.Request{Tools: []calling.Tool{weather}, MaxTokens: 100}, call, 300, "length"},
	} {
		came, asked := 0, 0
		tt.q.Messages = []calling.Message{user("x")}
		got := generate(t.Context(), &calling.Model{Model: endless{tt.says, 20_000, &came, &asked}}, tt.q)
		var output *calling.OutputError
		text := ""
		if errors.As(got.err, &output) {
			if text = got.err.Error(); output.Usage.Output < 100 {
				t.Errorf("%s: it cost %v", tt.name, output.Usage)
			}
		} else if got.end != nil {
			text = string(got.end.Stop)
		}
		if !strings.Contains(text, tt.want) || came > tt.most || got.calls != "" {
			t.Errorf("%s: %q after %d pieces, %v", tt.name, text, came, got.err)
		}
	}
}

// A backend that sends one character at once is not cut before it has all the tokens
// that it may, which it counts itself.
func TestCharactersAreNoTokens(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("The quick brown fox jumps over a lazy dog, twice in a row, said she. ", 3)) // of some 50 tokens
	for _, offered := range [][]calling.Tool{nil, {weather}} {
		m := &calling.Model{Model: &fake{replies: []string{text}, chunk: 1}}
		got := generate(t.Context(), m, calling.Request{Messages: []calling.Message{user("x")}, Tools: offered, MaxTokens: 50})
		if got.text != text || got.end == nil || got.end.Stop != providers.StopEnd {
			t.Errorf("%v: %d of %d bytes", got, len(got.text), len(text))
		}
	}
}

// A prompt that surely does not fit is refused before the model is asked; the backend is
// not asked for its window each time.
func TestTooSmallWindow(t *testing.T) {
	came, asked := -1, 0
	m := &calling.Model{Model: endless{func(int) string { return "Yes." }, 2000, &came, &asked}}
	q := calling.Request{Messages: []calling.Message{{Role: providers.System, Text: strings.Repeat("Use the tools well. ", 1000)}, user("hello")}}
	for range 3 {
		got := generate(t.Context(), m, q)
		var e *providers.Error
		if !errors.As(got.err, &e) || e.Kind != providers.Overflow || e.Window != 2000 || e.PromptTokens <= 2000 || came >= 0 {
			t.Fatalf("%v after %d pieces", got.err, came)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// A form is used for the tools, the calls of the history and the corrections.
func TestForm(t *testing.T) {
	f := &fake{replies: []string{"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": so}}\n</tool_call>", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call>"}}
	m := &calling.Model{Model: f, Form: calling.ToolCall}
	got := generate(t.Context(), m, calling.Request{Tools: []calling.Tool{weather}, Messages: []calling.Message{
		user("hello"), {Role: providers.Assistant, Calls: []calling.Call{{ID: "1", Name: "get_weather", Args: []byte(`{"city":"Basel"}`)}}}, {Role: calling.Result, CallID: "1", Text: "12"},
	}})
	if got.calls != `get_weather{"city":"Bern"}` {
		t.Fatal(got, got.err)
	}
	var all strings.Builder
	for _, r := range f.requests {
		for _, m := range r.Messages {
			all.WriteString(m.Text + "\n")
		}
	}
	if text := all.String(); strings.Contains(text, "tool_code") || strings.Count(text, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Basel\"}}") != 2 {
		t.Errorf("%s", text)
	}
}

// longHistory has n calls in one message, their results in reverse, and many messages.
func longHistory(n int) calling.Request {
	q := calling.Request{Tools: []calling.Tool{weather}, Messages: []calling.Message{{Role: providers.Assistant}}}
	for i := range n {
		q.Messages[0].Calls = append(q.Messages[0].Calls, calling.Call{ID: fmt.Sprint(i), Name: "get_weather", Args: []byte("{}")})
	}
	for i := range n {
		q.Messages = append(q.Messages, calling.Message{Role: calling.Result, CallID: fmt.Sprint(n - 1 - i), Text: "x"})
	}
	for range 10 * n {
		q.Messages = append(q.Messages, user("and more"))
	}
	return q
}

// A history of many messages, and of many calls in one, takes memory in proportion to it.
func TestLongHistoryIsLinear(t *testing.T) {
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		q := longHistory(n)
		runtime.ReadMemStats(&before)
		if _, err := (&calling.Model{}).Tokens(q); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(300), allocated(4800); many > 32*few {
		t.Errorf("%d bytes, and %d for 16 times as many", few, many)
	}
}

// BenchmarkText shows that the time that a text takes does not grow with the length of its
// lines, nor with how many lines it has that might belong to a call: these took over a hundred
// times as long as words.
func BenchmarkText(b *testing.B) {
	took := func(tokens int, piece func(i int) string) time.Duration {
		var came, asked int
		q := calling.Request{Tools: []calling.Tool{weather}, Messages: []calling.Message{user("hello")}, MaxTokens: tokens}
		m := &calling.Model{Model: endless{piece, 0, &came, &asked}}
		start := time.Now()
		for _, err := range m.Generate(b.Context(), q) {
			if err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	for b.Loop() {
		random := rand.New(rand.NewPCG(1, 1))
		lines := took(30_000, func(i int) string { return fmt.Sprint("word", i, "\n") })
		if one := took(30_000, func(i int) string { return fmt.Sprint("word", i, " ") }); one > 20*lines {
			b.Errorf("many lines take %v, and as much text in one %v", lines, one)
		}
		for _, marks := range [][]string{{"**\n##\n--\n", "##\n**\n--\n"}, {"([[(([", "[([(([("}} {
			if took := took(6000, func(int) string { return marks[random.IntN(2)] }); took > 20*lines {
				b.Errorf("%q takes %v, and five times as many words %v", marks, took, lines)
			}
		}
	}
}

// BenchmarkLongHistory shows that the time is in proportion, too: 16 times as many take
// some 16 times as long.
func BenchmarkLongHistory(b *testing.B) {
	for _, n := range []int{300, 4800} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := longHistory(n)
			for b.Loop() {
				if _, err := (&calling.Model{}).Tokens(q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
