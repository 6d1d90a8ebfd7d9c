package remember

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"mylm/agent"
	"mylm/memory"
	"mylm/prompts"
	"mylm/tools"
	"mylm/tools/recall"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a store as the runs about one project use it.
type Memory struct {
	// Open returns the store. It is called when something needs it, and may
	// return the same store each time.
	Open func(context.Context) (*memory.Store, error)
	// Search returns the store for a search, which may need an embedder; nil: as
	// Open does.
	Search func(context.Context) (*memory.Store, error)

	Project string // what the runs are about
	NoSave  string // why nothing may be kept, as a sentence for the model; "": it may
}

// New returns the memory of a project in an open store.
func New(store *memory.Store, project string) *Memory {
	return &Memory{Open: func(context.Context) (*memory.Store, error) { return store, nil }, Project: project}
}

// Tools returns those with which the model searches the memory and keeps notes in
// it, for runs in a session.
func (m *Memory) Tools(s *agent.Session) ([]*tools.Tool, error) {
	o := recall.Options{Open: m.Open, Project: m.Project, NoSave: m.NoSave, Session: func() string { return s.ID }}
	searching := o
	if m.Search != nil {
		searching.Open = m.Search
	}
	search, err1 := recall.SearchMemory(searching)
	read, err2 := recall.ReadMemory(o)
	note, err3 := recall.Remember(o)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return []*tools.Tool{search, read, note}, nil
}

// Section returns the part of the system prompt that explains when to use the
// tools of the memory; none if they are not in the registry.
func (m *Memory) Section(set *prompts.Set, registry *tools.Registry) ([]prompts.Section, error) {
	if registry.Lookup(recall.SearchMemoryName) == nil {
		return nil, nil
	}
	text, err := set.Remembering(prompts.MemoryData{Save: m.NoSave == "" && registry.Lookup(recall.RememberName) != nil})
	return []prompts.Section{{Title: "MEMORY", Text: text}}, err
}

// Keep adds what a run leaves to the store, unless nothing may be kept, and
// returns how many documents that are.
func (m *Memory) Keep(ctx context.Context, r Run) (int, error) {
	documents := m.Documents(r)
	if len(documents) == 0 || m.NoSave != "" {
		return 0, nil
	}
	store, err := m.Open(ctx)
	if err != nil {
		return 0, err
	}
	ids, err := store.Add(ctx, documents...)
	return len(ids), err
}

// ownTools are those whose results come from the memory.
var ownTools = []string{recall.SearchMemoryName, recall.ReadMemoryName, recall.RememberName}

func ofMemory(tool string) bool { return slices.Contains(ownTools, tool) }

// Run is a run that is over.
type Run struct {
	Session  *agent.Session
	Result   agent.Result
	Question string // as a person asked it, where the prompt holds more, such as files; "": the prompt
}

// Bounds of what is kept of one run, in bytes: an answer of any length that
// somebody reads, and the head of a tool's output.
const (
	maxText = 64 << 10
	maxHead = 600
	maxArgs = 300
)

// Documents returns what a run leaves: the question, a short document for each
// call, and the answer. A run without an answer leaves nothing, nor does a question
// to which the answer is that nothing is known, or for which only the memory was
// searched, and nothing found: they would be found later instead of what answers it.
// A reply that only repeats a statement is left out.
func (m *Memory) Documents(r Run) (all []memory.Document) {
	add := func(at time.Time, role string, kind memory.Kind, text string, tags ...string) {
		all = append(all, memory.Document{Tags: tags, Session: r.Session.ID, Project: m.Project, Source: "ask", Kind: kind, Role: role, Time: at, Text: text})
	}
	answered, asks, empty, found, searched := false, false, false, false, false
	for _, e := range r.Session.Entries() {
		if e.Run != r.Result.Run {
			continue // of an earlier question
		}
		switch p := e.Payload.(type) {
		case agent.PromptEntry:
			question := cmp.Or(r.Question, p.Text)
			asks = memory.Asks(question)
			add(e.Time, "user", memory.Exchange, head(question, maxText))
		case agent.ResultEntry:
			if p.Denied || p.Skipped || p.DryRun {
				continue
			}
			if ofMemory(p.Name) {
				searched = true
				found = found || p.Success && !recall.Nothing(p.Text)
				continue
			}
			add(e.Time, "tool", memory.Tool, callText(p))
			found = true
		case agent.EndEntry:
			reason := r.Result.StopReason
			if text := strings.TrimSpace(r.Result.Response); text != "" && reason.Answers() && reason.Status() != agent.Failed {
				answered = true
				if unanswered(text) {
					empty = asks || searched
					continue
				}
				if !asks && !searched && !found && len(all) > 0 && echoes(text, all[0].Text) {
					continue
				}
				var tags []string
				if r.Result.Tainted {
					tags = []string{memory.ForeignTag}
				}
				add(e.Time, "assistant", memory.Exchange, head(text, maxText), tags...)
			}
		}
	}
	if !answered || empty || asks && searched && !found {
		return nil
	}
	return all
}

// callText is a call and the head of its output.
func callText(e agent.ResultEntry) string {
	output := e.Outcome().Body()
	if !e.Success {
		output = "Error: " + output
	}
	return e.Name + " " + head(string(e.Args), maxArgs) + "\n" + head(output, maxHead)
}

// head is the beginning of a text, at most n bytes. Secrets are removed before
// it is cut: a part of one would not be recognised.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const margin = 16 << 10 // longer than any key
	text, _ = memory.Redact(text[:min(len(text), n+margin)])
	if len(text) <= n {
		return text + " …"
	}
	return strings.ToValidUTF8(text[:n], "") + " …"
}

// PlanLog is a recorder that also collects what the memory stores of a plan: the
// goal, the results of the tools in its tasks, and its end.
type PlanLog struct {
	agent.Recorder

	mu      sync.Mutex
	entries []agent.Entry
}

// Append implements agent.Recorder.
func (l *PlanLog) Append(ctx context.Context, e agent.Entry) error {
	if err := l.Recorder.Append(ctx, e); err != nil {
		return err
	}
	if within, ok := e.Payload.(agent.CustomEntry); ok {
		var of agent.Entry
		if within.Call == "" || json.Unmarshal(within.Args, &of) != nil || of.Kind() != agent.EntryResult {
			return nil
		}
		e.Time, e.Payload = of.Time, of.Payload
	}
	switch e.Payload.(type) {
	case agent.PromptEntry, agent.ResultEntry, agent.EndEntry:
		l.mu.Lock()
		defer l.mu.Unlock()
		e.Seq = len(l.entries) + 1
		l.entries = append(l.entries, e)
	}
	return nil
}

// Session is what was kept, as the session of a Run.
func (l *PlanLog) Session(id string) (*agent.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return agent.LoadSession(id, l.entries)
}
