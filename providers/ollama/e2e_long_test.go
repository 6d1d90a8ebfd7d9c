//go:build linux

package ollama_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"mylm/agent"
	"mylm/providers"
	"mylm/providers/internal/ollamatest"
	"mylm/providers/internal/scriptmodel"
	"mylm/providers/ollama"
	"mylm/tools"
)

const (
	longTurns   = 200
	longWindow  = 8192
	longRequest = "Read all the pages."
	sumUp       = "You sum up the beginning" // so the model is asked for a summary
)

// reader is a model that reads one page after the other. Its prompts cost about
// as many tokens as those of a real model.
func reader(native bool) *scriptmodel.Model {
	call := func(n int) string {
		return fmt.Sprintf("<tool_code><name>page</name><parameters>{\"number\": %d}</parameters></tool_code>", n)
	}
	m := &scriptmodel.Model{
		Jinja: native, Corpus: pageOf(1)[:400] + "You are an assistant that can use tools.\n" + call(7), Default: call(1),
		Scripts: []scriptmodel.Script{
			{When: []scriptmodel.Cond{scriptmodel.AnyContains(sumUp)}, Say: "Some pages were read. They hold nothing of note."},
			{When: []scriptmodel.Cond{scriptmodel.LastContains(title(longTurns))}, Say: "That was the last page."},
		},
	}
	for n := 1; n < longTurns; n++ {
		m.Scripts = append(m.Scripts, scriptmodel.Script{When: []scriptmodel.Cond{scriptmodel.LastContains(title(n))}, Say: call(n + 1)})
	}
	return m
}

// title is found in no other page.
func title(n int) string { return fmt.Sprintf("Page %03d.", n) }

// pageOf is a page of more than 50 KB: it fills what Go allocates for it, so that
// the record has the size that it seems to have.
func pageOf(n int) string {
	const line = "The quick brown fox jumps over the lazy dog, and line %d of page %d ends here.\n"
	var b strings.Builder
	b.Grow(7 * 8192)
	b.WriteString(title(n) + "\n")
	for i := 0; b.Len() < 7*8192-100; i++ {
		fmt.Fprintf(&b, line, i, n)
	}
	return b.String()
}

// counted is a request, and how many tokens it had by the server's count.
type counted struct {
	prompt, output int
	grown          bool // it begins with the request before it
}

// counting is a model whose replies are taken to their end, so that the server
// reports its counts even if a call ends the reply for the engine.
type counting struct {
	*ollama.Model
	t      *testing.T
	before []providers.Message
	all    []counted
}

func (c *counting) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if !strings.HasPrefix(r.Messages[0].Text, sumUp) {
			complete(c.t, r.Messages)
		}
		var chunks []providers.Chunk
		for chunk, err := range c.Model.Generate(ctx, r) {
			if err != nil {
				yield(chunk, err)
				return
			}
			chunks = append(chunks, chunk)
		}
		used := chunks[len(chunks)-1].Usage
		grown := len(c.before) > 0 && len(c.before) <= len(r.Messages) && reflect.DeepEqual(c.before, r.Messages[:len(c.before)])
		c.all = append(c.all, counted{used.Prompt, used.Output, grown})
		c.before = slices.Clone(r.Messages)
		for _, chunk := range chunks {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// promptEnd is how many tokens a template puts behind the conversation, so that
// they change although it only grows.
const promptEnd = 16

// read matches how many tokens of a prompt the server evaluated.
var read = regexp.MustCompile(`prompt eval time = .* / +(\d+) tokens`)

// TestLongRun reads 200 pages of 50 KB in a window of 8,192 tokens: the server
// never counts more, reads what it has read before once, and nothing that the
// model needs is lost. The chat template is the model's own, as with most
// published ones.
func TestLongRun(t *testing.T) {
	s := ollamatest.Start(t, "OLLAMA_NUM_PARALLEL=1", "OLLAMA_DEBUG=1")
	s.Create(t, "reader", reader(true))
	m := &counting{Model: client(t, s.URL).Model("reader", ollama.ModelOptions{NumCtx: longWindow}), t: t}
	session := agent.NewSession()
	heap := map[int]uint64{}
	result := readPages(t, m, session, func(turn int) {
		if turn == 20 || turn == longTurns {
			heap[turn] = live() - recorded(session)
		}
	})
	if result.StopReason != agent.StopComplete || result.Response != "That was the last page." || result.Turns != longTurns+1 {
		t.Fatalf("stopped as %s after %d turns: %q, %v", result.StopReason, result.Turns, result.Response, result.Err)
	}
	var evaluated [][]string
	for deadline := time.After(patience); len(evaluated) < len(m.all); evaluated = read.FindAllStringSubmatch(s.Log(), -1) {
		select {
		case <-deadline:
			t.Fatalf("the server's log tells of %d prompts, want %d", len(evaluated), len(m.all))
		case <-time.After(10 * time.Millisecond):
		}
	}
	largest, grown, all, anew := 0, 0, 0, 0
	for i, c := range m.all {
		n, err := strconv.Atoi(evaluated[i][1])
		if err != nil {
			t.Fatal(err)
		}
		all, anew, largest = all+c.prompt, anew+n, max(largest, c.prompt+c.output)
		if !c.grown {
			continue
		}
		grown++
		if more := c.prompt - m.all[i-1].prompt; n > more+promptEnd {
			t.Errorf("request %d grew by %d tokens, and the server evaluated %d of %d", i, more, n, c.prompt)
		}
	}
	if largest > longWindow || largest < longWindow/2 {
		t.Errorf("the largest prompt and reply had %d tokens in a window of %d", largest, longWindow)
	}
	if grown < longTurns/4 {
		t.Errorf("only %d of %d prompts were continuations", grown, len(m.all))
	}
	if heap[longTurns] > heap[20]*12/10+256<<10 { // 256 KB is what the runtime scatters by
		t.Errorf("beside the record, %d bytes are live after %d turns, and %d after 20", heap[longTurns], longTurns, heap[20])
	}
	t.Logf("%d requests, the largest of %d tokens, %d continuations; %d of %d tokens were evaluated; heap %d and %d KB",
		len(m.all), largest, grown, anew, all, heap[20]>>10, heap[longTurns]>>10)
}

func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// recorded is about what a session's entries take by themselves, with the slack
// of a slice that grows.
func recorded(s *agent.Session) (n uint64) {
	for _, e := range s.Entries() {
		text, _ := json.Marshal(e)
		n += uint64(unsafe.Sizeof(e))*2 + uint64(unsafe.Sizeof(agent.ReplyEntry{})) + uint64(len(text))
	}
	return n
}

// complete checks that a prompt has its system prompt and its request, and no
// call without its observation.
func complete(t *testing.T, messages []providers.Message) {
	t.Helper()
	if messages[0].Role != providers.System || !strings.Contains(messages[0].Text, "# TOOLS") {
		t.Errorf("the system prompt is gone: %q", messages[0])
	}
	if !slices.ContainsFunc(messages, func(m providers.Message) bool { return m.Role == providers.User && m.Text == longRequest }) {
		t.Errorf("the request is gone from %d messages", len(messages))
	}
	for i, m := range messages {
		call := m.Role == providers.Assistant && strings.Contains(m.Text, "<tool_code>")
		if call != (i+1 < len(messages) && strings.HasPrefix(messages[i+1].Text, "<observation>")) {
			t.Errorf("message %d and the next are no call with its observation: %q", i, m)
		}
	}
}

// readPages runs the engine, and calls after behind each turn.
func readPages(t *testing.T, m providers.Model, session *agent.Session, after func(turn int)) (result agent.Result) {
	t.Helper()
	type in struct {
		Number int `json:"number"`
	}
	page, err := tools.New("page", "Show a page.", tools.Reads, func(_ context.Context, i in) (tools.Result, error) {
		return tools.Result{Text: pageOf(i.Number)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(page)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Model: m, Tools: registry, MaxTurns: longTurns + 1})
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range a.Run(t.Context(), session, longRequest) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := ev.Payload.(type) {
		case agent.TurnEnd:
			after(ev.Turn)
		case agent.FinalResponse:
			result = p.Result
		}
	}
	return result
}
