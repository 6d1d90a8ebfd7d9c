package remember

import (
	"context"
	"errors"
	"slices"

	"mylm/agent"
	"mylm/memory"
	"mylm/prompts"
	"mylm/tools"
	"mylm/tools/recall"
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

// Section returns the part of the system prompt that says when to use the tools
// of the memory; none if they are not in the registry.
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
