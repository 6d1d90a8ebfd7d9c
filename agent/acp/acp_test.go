package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/acp"
)

// host is a Host whose conversations do what a test says.
type host struct {
	prompt func(ctx context.Context, p acp.Prompt, t *acp.Turn) (agent.StopReason, error)
	opened int

	setModel func() error // nil: any model will do
	model    atomic.Value // the model that answers; nil: n
	closed   atomic.Bool
}

func (h *host) Open(_ context.Context, o acp.Opening) (acp.Conversation, error) {
	h.opened++
	return &conversation{host: h, id: fmt.Sprint("s", h.opened)}, nil
}
func (*host) List(context.Context, acp.Page) ([]acp.Info, error) { return nil, errors.New("no list") }
func (*host) Sees(context.Context) bool                          { return false }
func (*host) Delete(context.Context, string) error               { return nil }

type conversation struct {
	*host
	id string
}

func (c *conversation) ID() string                          { return c.id }
func (*conversation) Entries() []agent.Entry                { return nil }
func (*conversation) Modes() ([]acp.Mode, string)           { return []acp.Mode{{ID: "m", Name: "M"}}, "m" }
func (*conversation) SetMode(context.Context, string) error { return nil }
func (*conversation) Models(context.Context) []string       { return nil }
func (*conversation) Commands() []acp.Command               { return nil }
func (c *conversation) Close()                              { c.closed.Store(true) }
func (c *conversation) Model() string {
	if m, ok := c.model.Load().(string); ok {
		return m
	}
	return "n"
}
func (c *conversation) SetModel(context.Context, string) error {
	if c.host.setModel == nil {
		return nil
	}
	return c.host.setModel()
}
func (*conversation) Describe(name string, _ json.RawMessage, _ bool) acp.View {
	return acp.View{Title: name, Kind: acp.KindOther}
}
func (c *conversation) Prompt(ctx context.Context, p acp.Prompt, t *acp.Turn) (agent.StopReason, error) {
	return c.prompt(ctx, p, t)
}

// peer is the editor's side of a connection.
type peer struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
}

func serve(t *testing.T, h *host) *peer {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	p := &peer{t: t, in: inWrite, lines: make(chan string, 1000), ended: make(chan error, 1)}
	go func() {
		p.ended <- acp.Serve(context.Background(), inRead, outWrite, acp.Options{Name: "test", Host: h})
		outWrite.Close()
	}()
	go func() {
		defer close(p.lines)
		lines := bufio.NewReader(outRead)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	}()
	t.Cleanup(func() {
		inWrite.Close()
		for range p.lines {
		}
	})
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	p.expect(`"id":0`)
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// expect waits for a line with a text, and returns what came before it, and it.
func (p *peer) expect(text string) (before []string) {
	p.t.Helper()
	for deadline := time.After(time.Minute); ; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the end came before %q, after %s", text, before)
			}
			before = append(before, line)
			if strings.Contains(line, text) {
				return before
			}
		case <-deadline:
			p.t.Fatalf("%q did not come, but %s", text, before)
		}
	}
}

func (p *peer) open() {
	p.send(`{"jsonrpc":"2.0","id":"open","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	p.expect(`"id":"open"`)
}

func prompt(id, session, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, id, session, text)
}

// The example of what an id can be is the specification of JSON-RPC.
func TestIDs(t *testing.T) {
	t.Parallel()
	p := serve(t, &host{})
	for _, id := range []string{`"text"`, `-7`, `1.5`, `9007199254740993`, `null`, `""`} {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/nothing"}`)
		p.expect(`"id":` + id + `,`)
	}
}

// A prompt that crashes is an error, and the connection goes on.
func TestCrash(t *testing.T) {
	t.Parallel()
	h := &host{}
	h.prompt = func(_ context.Context, m acp.Prompt, turn *acp.Turn) (agent.StopReason, error) {
		if m.Text == "crash" {
			turn.Event(agent.Event{Payload: agent.ToolCall{ID: "c", Name: "tool", Args: json.RawMessage(`{}`)}})
			panic("out of order")
		}
		return agent.StopComplete, nil
	}
	p := serve(t, h)
	p.open()
	p.send(prompt("1", "s1", "crash"))
	all := strings.Join(p.expect(`"id":1`), "")
	if !strings.Contains(all, `"status":"failed"`) || !strings.Contains(all, "-32603") || !strings.Contains(all, "out of order") {
		t.Errorf("a crash: %s", all)
	}
	p.send(prompt("2", "s1", "go on"))
	p.expect(`"stopReason":"end_turn"`)
}

// A turn that does not stop is answered all the same; nothing of it comes later, and
// the next one waits for it.
func TestDeafTurn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := &host{}
	h.prompt = func(ctx context.Context, m acp.Prompt, turn *acp.Turn) (agent.StopReason, error) {
		if m.Text != "deaf" {
			turn.Message("The next one.")
			return agent.StopComplete, nil
		}
		turn.Event(agent.Event{Payload: agent.ToolCall{ID: "c", Name: "tool", Args: json.RawMessage(`{}`)}})
		turn.Message("It begins.")
		<-release
		turn.Message("Too late.")
		return agent.StopComplete, nil
	}
	p := serve(t, h)
	p.open()
	p.send(prompt("1", "s1", "deaf"))
	p.expect("It begins.")
	p.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	if all := strings.Join(p.expect(`"id":1`), ""); !strings.Contains(all, "cancelled") || !strings.Contains(all, `"status":"failed"`) {
		t.Errorf("a cancel: %s", all)
	}
	p.send(prompt("2", "s1", "next"))
	p.send(`{"jsonrpc":"2.0","id":3,"method":"session/nothing"}`)
	p.expect(`"id":3`)
	close(release)
	if all := strings.Join(p.expect(`"id":2`), ""); !strings.Contains(all, "The next one.") || strings.Contains(all, "Too late.") {
		t.Errorf("the next turn: %s", all)
	}
}

// What was said and is taken back is marked, and the answer is sent once.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	h := &host{}
	h.prompt = func(_ context.Context, m acp.Prompt, turn *acp.Turn) (agent.StopReason, error) {
		for _, p := range []agent.Payload{
			agent.TurnStart{}, agent.TextDelta{Text: "\n Wrong"}, agent.TextDelta{Text: ".\n"}, agent.Retract{}, agent.TextDelta{Text: "Right"}, agent.TextDelta{Text: " \n"},
			agent.Notice{Code: agent.NoticeContinued}, agent.TurnEnd{}, agent.TurnStart{}, agent.TextDelta{Text: "and on."},
			agent.FinalResponse{Result: agent.Result{Response: "Right \nand on. And more.", StopReason: agent.StopComplete}},
		} {
			turn.Event(agent.Event{Payload: p})
		}
		return agent.StopComplete, nil
	}
	p := serve(t, h)
	p.open()
	p.send(prompt("1", "s1", "q"))
	var said strings.Builder
	for _, line := range p.expect(`"id":1`) {
		var m struct {
			Params struct {
				Update struct {
					SessionUpdate string
					Content       struct{ Text string }
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Params.Update.SessionUpdate == "agent_message_chunk" {
			said.WriteString(m.Params.Update.Content.Text)
		}
	}
	if want := "Wrong.\n\n(the text above is withdrawn)\n\nRight \nand on. And more."; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}

// The end of the stream cancels what runs, and Serve returns after it.
func TestEnd(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	h := &host{}
	h.prompt = func(ctx context.Context, _ acp.Prompt, turn *acp.Turn) (agent.StopReason, error) {
		turn.Message("It begins.")
		<-ctx.Done()
		close(done)
		return agent.StopInterrupted, nil
	}
	p := serve(t, h)
	p.open()
	p.send(prompt("1", "s1", "q"))
	p.expect("It begins.")
	p.in.Close()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	select {
	case <-done:
	default:
		t.Error("Serve returns before the prompt has ended")
	}
}
