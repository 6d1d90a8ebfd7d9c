package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// model answers by a function of the request: what is asked for, and the last
// message. "hang" waits for the end of the context; "fail" and "overflow" are
// faults.
type model struct {
	reply func(kind, message string) string

	mu       sync.Mutex
	messages []string // kind and message
	hanging  chan struct{}
}

func (m *model) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		kind, message := kindOf(r), r.Messages[len(r.Messages)-1].Text
		m.mu.Lock()
		m.messages = append(m.messages, kind+"\n"+message)
		m.mu.Unlock()
		stop := providers.StopEnd
		text, cut := strings.CutSuffix(m.reply(kind, message), "[cut]")
		if cut {
			stop = providers.StopLength
		}
		if text == "hang" {
			m.hanging <- struct{}{}
			<-ctx.Done()
			yield(providers.Chunk{}, ctx.Err())
			return
		}
		if text == "fail" {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.ModelMissing, Message: "there is no such model", Permanent: true})
			return
		}
		if text == "overflow" {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.Overflow, Message: "too long", Permanent: true})
			return
		}
		if !yield(providers.Chunk{Text: text}, nil) {
			return
		}
		yield(providers.Chunk{Stop: stop, Usage: providers.Usage{Prompt: 10, Output: 2}}, nil)
	}
}

// faulty is a model whose first replies fail in a way that may pass.
type faulty struct {
	*model
	faults int
}

func (f *faulty) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	if f.faults--; f.faults >= 0 {
		return func(yield func(providers.Chunk, error) bool) {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.Unreachable, Message: "not now"})
		}
	}
	return f.model.Generate(ctx, r)
}

// kindOf is what a request is for.
func kindOf(r providers.Request) string {
	system := r.Messages[0].Text
	for kind, mark := range map[string]string{"plan": `{"tasks"`, "reason": `"selected_task_id"`, "observe": `{"success"`, "reflect": `{"progress"`} {
		if strings.Contains(system, mark) {
			return kind
		}
	}
	return "task"
}

func (m *model) asked(kind string) (messages []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.messages {
		if rest, ok := strings.CutPrefix(s, kind+"\n"); ok {
			messages = append(messages, rest)
		}
	}
	return messages
}

// fine is the observer that is content with everything.
const fine = `{"success": true, "learned": [], "progress": "on"}`

func reply(kind, message string) string {
	switch kind {
	case "observe":
		return fine
	case "reflect":
		return `{"progress": "on"}`
	}
	first, _, _ := strings.Cut(message, "\n")
	return "did: " + first
}

// quiet are options of a plan without consultations.
func quiet(m providers.Model) plan.Options {
	return plan.Options{Agent: agent.Options{Model: m, Tries: 1}, NoReason: true, NoObserve: true, NoReflect: true, NoRecover: true}
}

// watched is a plan as it was watched.
type watched struct {
	events []agent.Event
	state  plan.State
	result agent.Result
	err    error
}

func (w *watched) types(task string) (all []string) {
	for _, ev := range w.events {
		if ev.Task == task {
			all = append(all, ev.Payload.Type())
		}
	}
	return all
}

func (w *watched) notices() (all []string) {
	for _, ev := range w.events {
		if n, ok := ev.Payload.(agent.Notice); ok {
			all = append(all, n.Code)
		}
	}
	return all
}

func (w *watched) steps() (all []plan.Step) {
	for _, ev := range w.events {
		if r, ok := ev.Payload.(plan.Recovery); ok {
			all = append(all, r.Step)
		}
	}
	return all
}

func (w *watched) statuses() map[string]plan.Status {
	all := map[string]plan.Status{}
	for _, t := range w.state.Tasks {
		all[t.ID] = t.Status
	}
	return all
}

func watch(events iter.Seq2[agent.Event, error]) *watched {
	w := &watched{}
	for ev, err := range events {
		if err != nil {
			w.err = err
			continue
		}
		w.events = append(w.events, ev)
		switch p := ev.Payload.(type) {
		case plan.End:
			w.state = p.State
		case agent.FinalResponse:
			if ev.Task == "" {
				w.result = p.Result
			}
		}
	}
	return w
}

func carryOut(t *testing.T, o plan.Options, goal string, tasks ...plan.Task) *watched {
	t.Helper()
	p, err := plan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return watch(p.Run(t.Context(), nil, goal, tasks))
}

// say is a plan whose model says texts in order.
func say(texts ...string) plan.Options {
	return plan.Options{Agent: agent.Options{Model: scripted.Say(texts...), Tries: 1}}
}

// tool is a tool that answers with a function.
func tool(t *testing.T, name string, effect tools.Effect, f func(context.Context) (tools.Result, error)) *tools.Tool {
	t.Helper()
	made, err := tools.New(name, "Does "+name+".", effect, func(ctx context.Context, _ struct{}) (tools.Result, error) { return f(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func registry(t *testing.T, all ...*tools.Tool) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(name string) string {
	return fmt.Sprintf("<tool_code>\n<name>%s</name>\n<parameters>{}</parameters>\n</tool_code>", name)
}

// memory is a recorder that keeps entries, as JSON does.
type memory struct {
	mu      sync.Mutex
	entries []agent.Entry
	full    int // entries after which nothing can be kept; 0: never
}

func (m *memory) Append(_ context.Context, e agent.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full > 0 && len(m.entries) >= m.full {
		return errors.New("the disk is full")
	}
	b, err := e.MarshalJSON() // as a journal does
	if err != nil {
		return err
	}
	var back agent.Entry
	if err := json.Unmarshal(b, &back); err != nil {
		return err
	}
	m.entries = append(m.entries, back)
	return nil
}

func (m *memory) all() []agent.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.entries)
}

// own is an entry of the plan of a kind, empty for any other.
func own(e agent.Entry, kind agent.EntryKind) agent.CustomEntry {
	if p, ok := e.Payload.(agent.CustomEntry); ok && p.Type == kind {
		return p
	}
	return agent.CustomEntry{}
}
