package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/providers"
)

// endless is a model that writes until it is stopped, or has written most pieces.
type endless struct {
	piece  func(i int) string
	most   int // pieces; then it ends by itself
	window int
	aside  bool // as thought
	came   *int
}

func (e endless) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for i := 0; e.most == 0 || i < e.most; i++ {
			*e.came = i + 1
			c := providers.Chunk{Text: e.piece(i)}
			if e.aside {
				c = providers.Chunk{Thought: c.Text}
			}
			if !yield(c, nil) {
				return
			}
		}
		yield(providers.Chunk{Stop: providers.StopEnd}, nil)
	}
}

func (e endless) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: e.window}, nil
}

func word(i int) string { return fmt.Sprintf("w%d ", i*7919%100003) }

// A reply that repeats a line, a phrase or a passage is stopped within 2,000 tokens
// of repetition, and what came before is kept. Its replay is the same.
func TestRepeatingReplyIsStopped(t *testing.T) {
	lines := strings.SplitAfter("First look at the file.\nThen change it.\nThen run the test.\nIt fails.\n", "\n")
	var passage []string
	for i := range 500 {
		passage = append(passage, word(i))
	}
	for name, piece := range map[string]func(int) string{
		"letter":  func(int) string { return "a" },
		"phrase":  func(i int) string { return []string{"and ", "so ", "on "}[i%3] },
		"line":    func(int) string { return "I will look at the file.\n" },
		"lines":   func(i int) string { return lines[i%len(lines)] },
		"passage": func(i int) string { return passage[i%len(passage)] },
		"space":   func(int) string { return "\n" },
	} {
		for _, aside := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", aside), func(t *testing.T) {
				const before = 500
				came := 0
				m := endless{aside: aside, came: &came, window: 1 << 20, piece: func(i int) string {
					if i < before {
						return word(i + 1000)
					}
					return piece(i)
				}}
				rec := &recorder{}
				r, err := newAgent(t, agent.Options{Model: m, Recorder: rec}).Ask(t.Context(), "go")
				if err != nil || r.StopReason != agent.StopStuck || came > before+2000+len(passage) {
					t.Errorf("%s after %d pieces, %v", r.StopReason, came, err)
				}
				if !aside && !strings.HasPrefix(r.Response, strings.TrimSpace(word(1000))) {
					t.Errorf("the answer is %.50q", r.Response)
				}
				done, err := agent.Replay(t.Context(), rec.entries, agent.Options{})
				if err != nil || len(done.Differences) > 0 {
					t.Errorf("replay: %+v, %v", done.Differences, err)
				}
			})
		}
	}
}

// Data in the arguments of a call may repeat for longer, and the option moves or
// lifts the limit.
func TestRepetitionThatIsWanted(t *testing.T) {
	begins, line := "I write it.\n<tool_code>\n<name>echo</name>\n<parameters>{\"text\": \"", `0 0 0\n`
	ends := "\"}</parameters>\n</tool_code>"
	zeros := func(lines int) string { return begins + strings.Repeat(line, lines) + ends }
	text := strings.Repeat("0 0 0\n", 2000)
	for name, test := range map[string]struct {
		says  []any
		limit agent.Limit
		stop  agent.StopReason
		want  string // the answer; "": it is not looked at
	}{
		"arguments":                {says: []any{zeros(2000), "Done."}, stop: agent.StopComplete, want: "Done."},
		"arguments without an end": {says: []any{zeros(20_000)}, stop: agent.StopStuck, want: "I write it."},
		"text":                     {says: []any{text}, stop: agent.StopStuck},
		"text, a higher limit":     {says: []any{text}, limit: 12_000, stop: agent.StopComplete, want: strings.TrimSpace(text)},
		"text, no limit":           {says: []any{text}, limit: agent.Off, stop: agent.StopComplete, want: strings.TrimSpace(text)},
		"arguments, any number":    {says: []any{zeros(2000), "Done."}, limit: math.MaxInt / 5, stop: agent.StopComplete, want: "Done."},
		"arguments, a lower limit": {says: []any{zeros(2000)}, limit: 100, stop: agent.StopStuck, want: "I write it."},
	} {
		t.Run(name, func(t *testing.T) {
			var b bench
			r := ask(t, agent.Options{Model: newModel(test.says...), Tools: b.registry(t), MaxRepetition: test.limit, MaxContextTokens: agent.Off}, "go")
			if r.StopReason != test.stop || test.want != "" && r.Response != test.want {
				t.Errorf("%s, %.50q, %v", r.StopReason, r.Response, r.Err)
			}
			var limit *agent.LimitError
			if test.stop == agent.StopStuck && (!errors.As(r.Err, &limit) || limit.Limit != "MaxRepetition" || limit.Value == 0) {
				t.Errorf("the error is %#v", r.Err)
			}
		})
	}
}

// An empty chunk is neither a token of the reply nor a part of a repetition.
func TestEmptyChunksDoNotCount(t *testing.T) {
	came := 0
	ruler := endless{came: &came, most: 40_000, window: 8000, piece: func(i int) string {
		if i%60 == 0 {
			return "-"
		}
		return ""
	}}
	wantEnd(t, ask(t, agent.Options{Model: ruler}, "go"), agent.Success, agent.StopComplete, 1)
}

// Looking for repetition takes time in proportion to the reply, also where most of
// it is one character: a comparison for each period would take hundreds of times as
// long as for text.
func TestRepetitionIsFoundInLinearTime(t *testing.T) {
	var random strings.Builder
	for i := range 300 {
		random.WriteString(word(i))
	}
	text := random.String()[:periodChunk]
	took := func(chunk string) time.Duration {
		least := time.Hour
		for range 5 { // the least of several is the same on a busy machine
			came := 0
			m := endless{came: &came, most: 36, window: 1 << 20, piece: func(i int) string { return []string{"Well.", chunk}[min(i, 1)] }}
			start := time.Now()
			wantEnd(t, ask(t, agent.Options{Model: m, MaxRepetition: 1 << 20}, "go"), agent.Success, agent.StopComplete, 1)
			least = min(least, time.Since(start))
		}
		return least
	}
	if spaces, words := took(strings.Repeat(" ", periodChunk)), took(text); spaces > 30*words {
		t.Errorf("%v for spaces, %v for words", spaces, words)
	}
}

const periodChunk = 256 // bytes: each is looked at

// What repeats for less, or nearly, or has ended by itself, is an answer.
func TestRepetitionInAnAnswer(t *testing.T) {
	for name, m := range map[string]endless{
		"ruler": {most: 800, piece: func(int) string { return "-" }},
		"table": {most: 100, piece: func(int) string { return "| 0 | 0 |\n" }},
		"list":  {most: 5000, piece: func(i int) string { return fmt.Sprintf("%d. the same\n", i) }},
		"whole": {most: 1, piece: func(int) string { return strings.Repeat("ha ", 10_000) }},
	} {
		t.Run(name, func(t *testing.T) {
			came := 0
			m.came, m.window = &came, 1<<20
			wantEnd(t, ask(t, agent.Options{Model: m}, "go"), agent.Success, agent.StopComplete, 1)
		})
	}
}

// A reply may have as many tokens as the window, unless a limit is set.
func TestEndlessReply(t *testing.T) {
	for name, test := range map[string]struct {
		window    int
		maxTokens int
		limit     agent.Limit
		most      int
		says      string
	}{
		"window":         {window: 8000, most: 32770, says: "all that the context window holds"}, // asked for late
		"unknown window": {most: 32770, says: "holds is unknown"},
		"own limit":      {window: 8000, maxTokens: 20_000, most: 20_002, says: "all that it may have"},
		"a low limit":    {window: 8000, maxTokens: 100, most: 102, says: "all that it may have"},
		"no window":      {maxTokens: 100, limit: agent.Off, most: 102, says: "all that it may have"},
	} {
		t.Run(name, func(t *testing.T) {
			came := 0
			r, _ := newAgent(t, agent.Options{Model: endless{came: &came, window: test.window, piece: word}, MaxTokens: test.maxTokens, MaxContextTokens: test.limit}).Ask(t.Context(), "go")
			if r.StopReason != agent.StopContextFull || came > test.most || !strings.Contains(r.Err.Error(), "the reply does not end") || !strings.Contains(r.Err.Error(), test.says) {
				t.Errorf("%s after %d pieces, %v", r.StopReason, came, r.Err)
			}
			if !r.StopReason.Answers() || !strings.HasPrefix(r.Response, strings.TrimSpace(word(0))) {
				t.Errorf("the answer is %.50q", r.Response)
			}
		})
	}
	came := 0
	var many strings.Builder
	for i := range 50_000 {
		many.WriteString(word(i))
	}
	r, _ := newAgent(t, agent.Options{Model: endless{came: &came, piece: func(int) string { return many.String() }}, MaxContextTokens: agent.Off}).Ask(t.Context(), "go")
	if r.StopReason != agent.StopContextFull || !strings.Contains(r.Err.Error(), "32 MiB") {
		t.Errorf("without limits: %s, %v", r.StopReason, r.Err)
	}
}

// Where the reply has filled the window, the reply is what is said to be too long.
func TestReplyFillsTheWindow(t *testing.T) {
	var text strings.Builder
	for i := range 1200 {
		text.WriteString(word(i))
	}
	m := &window{size: 3000, count: words, usage: true, reply: func(int) say { return say{text: text.String(), stop: providers.StopLength} }}
	r, _ := newAgent(t, agent.Options{Model: m}).Ask(t.Context(), "go")
	if r.StopReason != agent.StopContextFull || !strings.Contains(r.Err.Error(), "the reply filled the context window") {
		t.Errorf("%s, %v", r.StopReason, r.Err)
	}
}
