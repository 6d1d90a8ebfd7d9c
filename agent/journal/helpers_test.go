package journal_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/tools"
)

// byPlace replies by how many replies the conversation holds, as a model that
// is asked again would.
type byPlace []string

func (m byPlace) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		n := 0
		for _, msg := range r.Messages {
			if msg.Role == providers.Assistant {
				n++
			}
		}
		text := m[min(n, len(m)-1)]
		if text == "down" {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.ServerFault, Permanent: true, Message: "down"})
			return
		}
		if thought, rest, ok := strings.Cut(text, "|"); ok {
			text = rest
			if !yield(providers.Chunk{Thought: thought}, nil) {
				return
			}
		}
		for _, piece := range strings.SplitAfter(text, " ") {
			if piece != "" && !yield(providers.Chunk{Text: piece}, nil) {
				return
			}
		}
		yield(providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 5, Output: 3}}, nil)
	}
}

func call(name, args string) string {
	return "<tool_code>\n<name>" + name + "</name>\n<parameters>" + args + "</parameters>\n</tool_code>"
}

// conversation holds a thought, calls that read, write and fail, a reply that
// cannot be read, and an answer.
var conversation = byPlace{
	"I wonder.|I look. " + call("look", `{"text":"a"}`) + call("write", `{"text":"never"}`),
	call("write", `{"text":"one"}`),
	"<think>hm</think><tool_code>\nno call",
	call("nothing", `{}`),
	call("fail", `{"text":"b"}`),
	call("write", `{"text":"two"}`),
	"<final_answer>All done.</final_answer>",
}

// hands are tools, and a log of what they did.
type hands struct {
	mu     sync.Mutex
	writes []string
}

type in struct {
	Text string `json:"text"`
}

func (h *hands) registry(t testing.TB) *tools.Registry {
	t.Helper()
	add := func(tool *tools.Tool, err error) *tools.Tool {
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	r, err := tools.NewRegistry(
		add(tools.New("look", "Look.", tools.Reads, func(_ context.Context, i in) (tools.Result, error) {
			return tools.Result{Text: "seen " + i.Text, Origin: tools.Workspace}, nil
		})),
		add(tools.New("write", "Write.", tools.Writes, func(_ context.Context, i in) (tools.Result, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.writes = append(h.writes, i.Text)
			code := 0
			return tools.Result{Text: "written", ExitCode: &code}, nil
		})),
		add(tools.New("wait", "Wait.", tools.Reads, func(ctx context.Context, _ in) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		})),
		add(tools.New("confined", "Write in a sandbox.", tools.Runs, func(ctx context.Context, _ in) (tools.Result, error) {
			if granted, _ := tools.Granted(ctx); granted.OnlyReads() {
				return tools.Result{Text: "tried", Refused: []tools.Refusal{{Effect: tools.Writes, Kind: "write", What: "x"}}}, nil
			}
			return tools.Result{Text: "written"}, nil
		})),
		add(tools.New("fail", "Fail.", tools.Reads, func(context.Context, in) (tools.Result, error) {
			return tools.Result{Text: "some"}, errors.New("it broke")
		})),
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newAgent(t testing.TB, h *hands, m providers.Model, rec agent.Recorder, change func(*agent.Options)) *agent.Agent {
	t.Helper()
	o := agent.Options{Model: m, Tools: h.registry(t), Recorder: rec, Approve: agent.AllowAll, Labels: map[string]string{"project": "/src"}}
	if change != nil {
		change(&o)
	}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// talk has a whole conversation in a new session, and returns its id.
func talk(t testing.TB, store *journal.Store, question string) string {
	t.Helper()
	var h hands
	r, err := newAgent(t, &h, conversation, store, nil).Ask(t.Context(), question)
	if err != nil || r.Response != "All done." {
		t.Fatalf("%v, %q", err, r.Response)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return r.Session
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newStore(t testing.TB) *journal.Store {
	return journal.New(filepath.Join(t.TempDir(), "data", "sessions"))
}
