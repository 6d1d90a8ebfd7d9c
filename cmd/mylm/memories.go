package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mylm/agent"
	"mylm/agent/remember"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
	"mylm/tools"
)

// memories is the memory as one run of the command uses it. It is opened when
// something needs it, and once. It may be used by several goroutines at once.
type memories struct {
	off     restrictions // what the project's file turns off, or asks for
	screen  *term.Screen
	project string
	read    bool   // the model may search it
	noSave  string // why nothing is kept; "" if it is
	vectors vectors

	mu        sync.Mutex
	store     *memory.Store
	embedding bool            // the store has its embedder
	warned    map[string]bool // each is said once
}

func newMemories(s *term.Screen) *memories { return &memories{screen: s, read: true} }

// memoryPath is the file of the memory.
func memoryPath() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", fmt.Errorf("no directory for the memory (set HOME or XDG_DATA_HOME): %w", err)
	}
	return filepath.Join(dir, "memory.db"), nil
}

// permit finds the project, and what the settings and the project allow.
func (m *memories) permit(ctx context.Context, s settings, entries map[string]entry) (err error) {
	m.vectors = vectors{s, entries}
	if m.project, err = currentProject(); err != nil {
		return err
	}
	off, err := term.Wait(ctx, func() (restrictions, error) { return loadRestrictions(m.project) })
	if err != nil {
		return err
	}
	m.off = off
	m.read = (s.Memory == nil || *s.Memory) && off.Memory == nil
	const tell = " Say so to the user."
	switch {
	case off.Save != nil:
		m.noSave = "Nothing can be remembered: save = false stands in " + projectFile + " of this project." + tell
	case s.Save != nil && !*s.Save:
		m.noSave = "Nothing can be remembered: saving is turned off, by --no-save or save = false in the configuration." + tell
	}
	return nil
}

// open opens the memory, or returns it where it is open.
func (m *memories) open(ctx context.Context) (*memory.Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened(ctx)
}

// opened is open for those who hold the lock.
func (m *memories) opened(ctx context.Context) (*memory.Store, error) {
	if m.store != nil {
		return m.store, nil
	}
	path, err := memoryPath()
	if err != nil {
		return nil, err
	}
	store, err := memory.Open(ctx, path, memory.Options{})
	if err != nil {
		return nil, err
	}
	if saved := store.Salvaged(); saved != nil {
		m.screen.Say("mylm: " + saved.String())
	}
	m.store = store
	return store, nil
}

// searched opens the memory for searching it, which is when vectors count.
// Words are searched where there is no embedder.
func (m *memories) searched(ctx context.Context) (*memory.Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	store, err := m.opened(ctx)
	if err != nil || m.embedding {
		return store, err
	}
	e, fallback, err := m.vectors.open(ctx, store)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m.embedding = true // or each search would wait for the same that does not answer
	if err != nil {
		m.tell(fmt.Errorf("searched by words alone: %w", err))
		return store, nil
	}
	if fallback != nil {
		m.tell(fallback)
	}
	store.Use(e, m.warn)
	return store, nil
}

// warn says what is wrong with a search that goes on, once.
func (m *memories) warn(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell(err)
}

func (m *memories) tell(err error) {
	text := "mylm: memory: " + term.OneLine(err.Error(), 500)
	if m.warned[text] {
		return
	}
	if m.warned == nil {
		m.warned = map[string]bool{}
	}
	m.warned[text] = true
	m.screen.Say(text)
}

// close lets the memory go. A nil or unopened one has nothing to close.
func (m *memories) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.store != nil {
		_ = m.store.Close() // what was recorded is on the disk
		m.store = nil
	}
}

// remembering is the memory for runs of the agent.
func (m *memories) remembering() *remember.Memory {
	return &remember.Memory{Open: m.open, Search: m.searched, Project: m.project, NoSave: m.noSave}
}

// tools are those of the memory, none if the model may not search it.
func (m *memories) tools(session *agent.Session) ([]*tools.Tool, error) {
	if !m.read {
		return nil, nil
	}
	return m.remembering().Tools(session)
}

// recordPatience is how long the end of a run may wait for another process that
// writes to the memory.
const recordPatience = 5 * time.Second

// record keeps what was asked, found out and answered. That it fails does not
// make the run fail.
func (a *asking) record(ctx context.Context) {
	if a.result == nil || a.memories.noSave != "" || ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	run := remember.Run{Session: a.session, Result: *a.result, Question: a.question}
	n, err := a.memories.remembering().Keep(limited, run)
	a.kept = err == nil && (a.kept || n > 0)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.unkept = true
		a.screen.Say("mylm: this conversation was not remembered: " + term.OneLine(err.Error(), 500))
	}
}

// tellOnce says that conversations are kept, the first time one is. Without a
// place to write that down it would be said each time, which is no harm.
func (a *asking) tellOnce() {
	dir, err := dataDir()
	if err != nil {
		return
	}
	marker := filepath.Join(dir, "memory_told")
	if _, err := os.Lstat(marker); err == nil {
		return
	}
	if errors.Is(createFile(marker, "The user was told that conversations are remembered.\n"), os.ErrExist) {
		return // by another process, just now
	}
	a.screen.Say("mylm: what is asked, found out and answered is remembered from now on, on this machine only: " + dir + "\n" +
		"  mylm memory and mylm sessions show and delete it, mylm agent forget deletes its plans; --no-save, or save = false in the configuration, turns it off.")
}
