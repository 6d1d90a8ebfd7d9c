package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

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
	}{
		"window":         {window: 8000, most: 8001},
		"unknown window": {most: 32769},
		"own limit":      {window: 8000, maxTokens: 20_000, most: 20_001},
	} {
		t.Run(name, func(t *testing.T) {
			came := 0
			r, _ := newAgent(t, agent.Options{Model: endless{came: &came, window: test.window, piece: word}, MaxTokens: test.maxTokens}).Ask(t.Context(), "go")
			if r.StopReason != agent.StopContextFull || came > max(test.most, 32769)+1 || !strings.Contains(r.Err.Error(), "the reply does not end") {
				t.Errorf("%s after %d pieces, %v", r.StopReason, came, r.Err)
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
