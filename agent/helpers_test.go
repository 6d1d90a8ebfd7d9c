package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// say is one reply of a fake model.
type say struct {
	text    string
	thought string
	stop    providers.StopReason   // "" is StopEnd
	err     error                  // yielded after the text, instead of an end
	hang    bool                   // after the text: wait for the context
	whole   bool                   // in one chunk, as a backend that does not stream
	calls   []providers.ServerCall // that the server took out of the text, behind it
	parts   []string               // of the first of these, as it comes
	pause   time.Duration          // before each of these parts
	after   []string               // parts of another call behind them
}

// model replies from a list and keeps what it was asked.
type model struct {
	mu       sync.Mutex
	says     []say
	next     int
	requests []providers.Request
	left     string // what the consumer did not take of the last reply
	sent     func() // called before a reply hangs
}

func newModel(says ...any) *model {
	m := &model{}
	for _, s := range says {
		switch s := s.(type) {
		case string:
			m.says = append(m.says, say{text: s})
		case say:
			m.says = append(m.says, s)
		}
	}
	return m
}

func (m *model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		m.mu.Lock()
		m.requests = append(m.requests, r)
		i := min(m.next, len(m.says)-1)
		m.next++
		s := m.says[i]
		m.mu.Unlock()
		if s.thought != "" && !yield(providers.Chunk{Thought: s.thought}, nil) {
			return
		}
		size := 5
		if s.whole {
			size = len(s.text)
		}
		for rest := s.text; rest != ""; {
			n := min(size, len(rest))
			if !yield(providers.Chunk{Text: rest[:n]}, nil) {
				m.mu.Lock()
				m.left = rest[n:]
				m.mu.Unlock()
				return
			}
			rest = rest[n:]
		}
		for _, part := range s.parts {
			time.Sleep(s.pause)
			if ctx.Err() != nil {
				yield(providers.Chunk{}, ctx.Err())
				return
			}
			if !yield(providers.Chunk{CallPart: part}, nil) {
				return
			}
		}
		for i := range s.calls {
			if !yield(providers.Chunk{Call: &s.calls[i]}, nil) {
				return
			}
		}
		for _, part := range s.after {
			if !yield(providers.Chunk{CallPart: part}, nil) {
				return
			}
		}
		switch {
		case s.hang:
			if m.sent != nil {
				m.sent()
			}
			<-ctx.Done()
			yield(providers.Chunk{}, ctx.Err())
		case s.err != nil:
			yield(providers.Chunk{}, s.err)
		case s.stop == "none": // breaks the contract
		default:
			stop := s.stop
			if stop == "" {
				stop = providers.StopEnd
			}
			yield(providers.Chunk{Stop: stop, Usage: providers.Usage{Prompt: 10, Output: 2}}, nil)
		}
	}
}

func (m *model) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

// last is the last message that the model was sent.
func (m *model) last() string {
	msgs := m.requests[len(m.requests)-1].Messages
	return msgs[len(msgs)-1].Text
}

func call(name, args string) string {
	return fmt.Sprintf("<tool_code>\n<name>%s</name>\n<parameters>%s</parameters>\n</tool_code>", name, args)
}

// bench is a registry of test tools, and a log of what ran.
type bench struct {
	mu  sync.Mutex
	ran []string
}

func (b *bench) log(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran = append(b.ran, s)
}

func (b *bench) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.ran, " ")
}

type echoIn struct {
	Text string `json:"text"`
}

type noneIn struct{}

func (b *bench) registry(t *testing.T) *tools.Registry {
	t.Helper()
	add := func(tool *tools.Tool, err error) *tools.Tool {
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	r, err := tools.NewRegistry(
		add(tools.New("echo", "Say it again.", tools.Reads, func(_ context.Context, in echoIn) (tools.Result, error) {
			b.log("echo:" + in.Text)
			return tools.Result{Text: in.Text, Origin: tools.Workspace}, nil
		})),
		add(tools.New("write", "Write it.", tools.Writes, func(_ context.Context, in echoIn) (tools.Result, error) {
			b.log("write:" + in.Text)
			return tools.Result{Text: "written"}, nil
		})),
		add(tools.New("fail", "Fail.", tools.Reads, func(_ context.Context, in echoIn) (tools.Result, error) {
			b.log("fail")
			return tools.Result{Text: "some output"}, errors.New("it broke: " + in.Text)
		})),
		add(tools.New("crash", "Crash.", tools.Reads, func(context.Context, noneIn) (tools.Result, error) {
			panic("boom")
		})),
		add(tools.New("wait", "Wait for the end.", tools.Reads, func(ctx context.Context, _ noneIn) (tools.Result, error) {
			b.log("wait")
			tools.Progress(ctx, "waiting")
			<-ctx.Done()
			b.log("stopped")
			return tools.Result{}, ctx.Err()
		})),
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newAgent(t *testing.T, o agent.Options) *agent.Agent {
	t.Helper()
	o.RetryWait = time.Microsecond
	o.Patience = cmp.Or(o.Patience, time.Microsecond)
	if o.Approve == nil {
		o.Approve = agent.AllowAll
	}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ask runs one prompt and returns the result; the run must not fail.
func ask(t *testing.T, o agent.Options, prompt string) agent.Result {
	t.Helper()
	r, err := newAgent(t, o).Ask(t.Context(), prompt)
	if err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	return r
}

func wantEnd(t *testing.T, r agent.Result, status agent.Status, stop agent.StopReason, turns int) {
	t.Helper()
	if r.Status != status || r.StopReason != stop || r.Turns != turns {
		t.Errorf("ended %s, %s after %d turns; want %s, %s after %d", r.Status, r.StopReason, r.Turns, status, stop, turns)
	}
}

func names(calls []agent.CallRecord) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Name+string(c.Args))
	}
	return strings.Join(out, " ")
}

// types lists the events of a run.
func types(events []agent.Event) string {
	var out []string
	for _, ev := range events {
		if n := len(out); n > 0 && out[n-1] == ev.Payload.Type() {
			continue // a stream of deltas is one thing
		}
		out = append(out, ev.Payload.Type())
	}
	return strings.Join(out, " ")
}

func collect(t *testing.T, events iter.Seq2[agent.Event, error]) (out []agent.Event, result agent.Result) {
	t.Helper()
	for ev, err := range events {
		if err != nil {
			t.Fatalf("the run failed: %v", err)
		}
		out = append(out, ev)
		if f, ok := ev.Payload.(agent.FinalResponse); ok {
			result = f.Result
		}
	}
	return out, result
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recorder keeps entries as a journal would.
type recorder struct {
	mu      sync.Mutex
	entries []agent.Entry
	fail    agent.EntryKind // an entry of this kind cannot be written
	once    bool            // only the first one cannot
	before  func(agent.Entry)
}

func (r *recorder) Append(ctx context.Context, e agent.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.Kind() == r.fail {
		if r.once {
			r.fail = ""
		}
		return errors.New("no space left on device")
	}
	if r.before != nil {
		r.before(e)
	}
	if _, err := json.Marshal(e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return nil
}

func (r *recorder) kinds() string {
	var out []string
	for _, e := range r.entries {
		out = append(out, string(e.Kind()))
	}
	return strings.Join(out, " ")
}
