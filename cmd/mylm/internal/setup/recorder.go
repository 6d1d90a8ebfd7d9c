package setup

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
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/term"
)

// SessionsKept is how long a session is kept after its last change.
const SessionsKept = 90 * 24 * time.Hour

// sessionsDir is where sessions are kept.
func sessionsDir() (string, error) {
	dir, err := config.DataDir()
	if err != nil {
		return "", fmt.Errorf("no directory for the sessions (set HOME or XDG_DATA_HOME): %w", err)
	}
	return filepath.Join(dir, "sessions"), nil
}

// Sessions is the store of the sessions. Nothing is made yet.
func Sessions() (*journal.Store, error) {
	dir, err := sessionsDir()
	if err != nil {
		return nil, err
	}
	return journal.New(dir), nil
}

// Recorder keeps the session of a run. Where no file can be made for it, the run
// goes on without; once there is one, an entry that cannot be kept ends the
// run. A nil one keeps nothing.
type Recorder struct {
	store  *journal.Store
	notify Notify
	off    atomic.Bool
	broken atomic.Bool // an entry could not be kept
}

// Append implements agent.Recorder.
func (r *Recorder) Append(ctx context.Context, e agent.Entry) error {
	if r.off.Load() {
		return nil
	}
	err := r.store.Append(ctx, e)
	if errors.Is(err, journal.ErrNotBegun) {
		r.giveUp(err)
		return nil
	}
	if err != nil {
		r.broken.Store(true)
	}
	return err
}

// Keeps reports whether the session is kept so far.
func (r *Recorder) Keeps() bool { return r != nil && !r.off.Load() }

// giveUp says, once, that the session is not kept.
func (r *Recorder) giveUp(err error) {
	if r.off.CompareAndSwap(false, true) {
		r.notify.Say("mylm: this session is not kept, and cannot be resumed: " + term.OneLine(err.Error(), 500))
	}
}

// Finish lets the session go, and reports whether it was kept.
func (r *Recorder) Finish() bool {
	if r == nil {
		return false
	}
	if err := r.store.Close(); errors.Is(err, journal.ErrNotBegun) {
		r.giveUp(err)
	}
	return !r.off.Load()
}

// Incomplete reports whether a part of the session could not be kept.
func (r *Recorder) Incomplete() bool { return r != nil && r.broken.Load() }

// Bounds of what the end of a run spends on old sessions.
const (
	pruneAtMost   = 200
	prunePatience = time.Second
	pruneEvery    = 24 * time.Hour
)

// Prune deletes sessions that nobody has touched for long, a few at a time and
// once a day. Nobody waits for it, so that it fails in silence: mylm sessions
// prune says what is wrong.
func (r *Recorder) Prune(ctx context.Context) {
	marker := filepath.Join(r.store.Dir(), "pruned")
	now := time.Now()
	if info, err := os.Stat(marker); err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return
	}
	if os.WriteFile(marker, nil, 0o600) != nil || os.Chtimes(marker, now, now) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, prunePatience)
	defer cancel()
	_, _ = r.store.Prune(ctx, now.Add(-SessionsKept), pruneAtMost)
}

// NewRecorder keeps a session from its first entry on; nil if it cannot.
func NewRecorder(n Notify) *Recorder {
	store, err := Sessions()
	if err != nil {
		n.Say("mylm: this session is not kept, and cannot be resumed: " + term.OneLine(err.Error(), 500))
		return nil
	}
	return Resumed(store, n)
}

// Resumed keeps on keeping a session that a store has opened.
func Resumed(store *journal.Store, n Notify) *Recorder { return &Recorder{store: store, notify: n} }
