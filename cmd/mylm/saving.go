package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/term"
)

// keptFor is how long a session is kept after its last change.
const keptFor = 90 * 24 * time.Hour

// sessionsDir is where sessions are kept.
func sessionsDir() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", fmt.Errorf("no directory for the sessions (set HOME or XDG_DATA_HOME): %w", err)
	}
	return filepath.Join(dir, "sessions"), nil
}

// openSessions is the store of the sessions. Nothing is made yet.
func openSessions() (*journal.Store, error) {
	dir, err := sessionsDir()
	if err != nil {
		return nil, err
	}
	return journal.New(dir), nil
}

// saving keeps the session of a run. Where no file can be made for it, the run
// goes on without; once there is one, an entry that cannot be kept ends the
// run. A nil one keeps nothing.
type saving struct {
	store  *journal.Store
	screen *term.Screen
	off    atomic.Bool
	broken atomic.Bool // an entry could not be kept
}

// Append implements agent.Recorder.
func (s *saving) Append(ctx context.Context, e agent.Entry) error {
	if s.off.Load() {
		return nil
	}
	err := s.store.Append(ctx, e)
	if errors.Is(err, journal.ErrNotBegun) {
		s.giveUp(err)
		return nil
	}
	if err != nil {
		s.broken.Store(true)
	}
	return err
}

// giveUp says, once, that the session is not kept.
func (s *saving) giveUp(err error) {
	if s.off.CompareAndSwap(false, true) {
		s.screen.Say("mylm: this session is not kept, and cannot be resumed: " + term.OneLine(err.Error(), 500))
	}
}

// finish lets the session go, and reports whether it was kept.
func (s *saving) finish() bool {
	if s == nil {
		return false
	}
	if err := s.store.Close(); errors.Is(err, journal.ErrNotBegun) {
		s.giveUp(err)
	}
	return !s.off.Load()
}

// incomplete reports whether a part of the session could not be kept.
func (s *saving) incomplete() bool { return s != nil && s.broken.Load() }

// Bounds of what the end of a run spends on old sessions.
const (
	pruneAtMost   = 200
	prunePatience = time.Second
	pruneEvery    = 24 * time.Hour
)

// prune deletes sessions that nobody has touched for long, a few at a time and
// once a day. Nobody waits for it, so that it fails in silence: mylm sessions
// prune says what is wrong.
func (s *saving) prune(ctx context.Context) {
	marker := filepath.Join(s.store.Dir(), "pruned")
	now := time.Now()
	if info, err := os.Stat(marker); err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return
	}
	if os.WriteFile(marker, nil, 0o600) != nil || os.Chtimes(marker, now, now) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, prunePatience)
	defer cancel()
	_, _ = s.store.Prune(ctx, now.Add(-keptFor), pruneAtMost)
}

// labels are what is kept with a run for a list, and for whoever goes on with it.
func (a *asking) labels() map[string]string {
	dir, _ := os.Getwd()
	labels := map[string]string{"project": a.memories.project, "dir": dir, "model": a.model.name}
	if p := a.cli.String("profile"); p != "" {
		labels["profile"] = p
	}
	return labels
}

// recorder is where the session goes; nil if it is not kept.
func (a *asking) recorder() agent.Recorder {
	if a.memories.noSave != "" {
		return nil
	}
	if a.saving == nil {
		store, err := openSessions()
		if err != nil {
			a.screen.Say("mylm: this session is not kept, and cannot be resumed: " + term.OneLine(err.Error(), 500))
			return nil
		}
		a.saving = &saving{store: store, screen: a.screen}
	}
	return a.saving
}
