package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/agent/remember"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"
	"mylm/providers/demo"
	"mylm/tools"
	"mylm/tools/recall"
)

// Memory is the memory as one run of the command uses it. It is opened when
// something needs it, and once. It may be used by several goroutines at once.
type Memory struct {
	NoSave string // why nothing is kept; "" if it is

	config *config.Config
	notify Notify
	read   bool // the model may search it

	mu        sync.Mutex
	store     *memory.Store
	embedding bool            // the store has its embedder
	warned    map[string]bool // each warning is reported once
}

// NewMemory is the memory that the settings allow. It has to be closed.
func NewMemory(c *config.Config, n Notify) *Memory {
	m := &Memory{config: c, notify: n, read: config.Memory.Or(c.Settings, true)}
	if !config.Save.Or(c.Settings, true) {
		m.NoSave = "Nothing can be remembered: saving is turned off, by --no-save or save = false in the configuration. Say so to the user."
		if config.Save.From(c.Settings).Kind == config.Project {
			m.NoSave = "Nothing can be remembered: save = false is set in " + config.ProjectFile + " of this project. Tell the user."
		}
	}
	return m
}

// MemoryPath is the file of the memory.
func MemoryPath() (string, error) {
	dir, err := config.DataDir()
	if err != nil {
		return "", fmt.Errorf("no directory for the memory (set HOME or XDG_DATA_HOME): %w", err)
	}
	return filepath.Join(dir, "memory.db"), nil
}

// Open opens the memory, or returns it where it is open.
func (m *Memory) Open(ctx context.Context) (*memory.Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened(ctx)
}

// opened is Open for callers that hold the lock.
func (m *Memory) opened(ctx context.Context) (*memory.Store, error) {
	if m.store != nil {
		return m.store, nil
	}
	path, err := MemoryPath()
	if err != nil {
		return nil, err
	}
	store, err := memory.Open(ctx, path, memory.Options{Wait: recordPatience, ToolsWhole: SessionsKept})
	if err != nil {
		return nil, err
	}
	if saved := store.Salvaged(); saved != nil {
		m.notify.Say("mylm: " + saved.String())
	}
	m.store = store
	return store, nil
}

// Searched opens the memory for searching it, which is when vectors count.
// Without an embedder the search uses words only.
func (m *Memory) Searched(ctx context.Context) (*memory.Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	store, err := m.opened(ctx)
	if err != nil || m.embedding {
		return store, err
	}
	e, fallback, err := Embedder(ctx, m.config, store)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m.embedding = true // also after an error: a server that does not answer is waited for once
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

// warn reports, once, what is wrong with a search that continues.
func (m *Memory) warn(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(err, memory.ErrDimension) {
		err = fmt.Errorf("%w; mylm memory reindex makes all vectors again", err)
	}
	m.tell(err)
}

func (m *Memory) tell(err error) {
	text := "mylm: memory: " + term.OneLine(err.Error(), 500)
	if m.warned[text] {
		return
	}
	if m.warned == nil {
		m.warned = map[string]bool{}
	}
	m.warned[text] = true
	m.notify.Say(text)
}

// Close closes the memory if it was opened.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.store != nil {
		_ = m.store.Close() // what was recorded is on the disk
		m.store = nil
	}
}

// remembering is the memory for runs of the agent.
func (m *Memory) remembering() *remember.Memory {
	return &remember.Memory{Open: m.Open, Search: m.Searched, Project: m.config.Project, NoSave: m.NoSave}
}

// tools are those of the memory, none if the model may not search it.
func (m *Memory) tools(session *agent.Session) ([]*tools.Tool, error) {
	if !m.read {
		return nil, nil
	}
	return m.remembering().Tools(session)
}

// Offered are the tools of the memory for another program, about a project.
func (m *Memory) Offered(project, client string) (*tools.Registry, error) {
	o := recall.Options{Open: m.Searched, Project: project, NoSave: m.NoSave, Source: client, Foreign: true}
	var all []*tools.Tool
	for _, make := range []func(recall.Options) (*tools.Tool, error){recall.SearchMemory, recall.ReadMemory, recall.Remember} {
		t, err := make(o)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return tools.NewRegistry(all...)
}

// recordPatience is how long the end of a run may wait for other processes that
// write to the memory: hundreds that end at once on a busy machine need a minute.
const recordPatience = 2 * time.Minute

// Record stores the question, the results and the answer. An error does not fail
// the run; it is reported, unless the session could not be kept either.
func (m *Memory) Record(ctx context.Context, run remember.Run, report bool) {
	if m.NoSave != "" || ctx.Err() != nil || demo.IsHelp(run.Result.Response) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	defer m.notify.Busy("remembering")()
	if _, err := m.remembering().Keep(limited, run); err != nil && report && ctx.Err() == nil {
		m.notify.Say("mylm: this conversation was not remembered: " + unkept(err))
	}
}

// unkept is why something cannot be kept, and what to do about it.
func unkept(err error) string {
	text := term.OneLine(strings.TrimPrefix(err.Error(), journal.ErrNotBegun.Error()+": "), 500)
	if way := DataHint(err); way != "" {
		text += "\n  " + way + " --no-save keeps nothing and does not try."
	}
	return text
}

// DataHint is what to do about an error of the data directory, "" if that is not known.
func DataHint(err error) string {
	dir, failed := config.DataDir()
	if failed != nil || !writeFault(err) {
		return ""
	}
	var at *fs.PathError
	if errors.As(err, &at) && !strings.HasPrefix(dir, at.Path) && !strings.HasPrefix(at.Path, dir) { // it is about another file
		return ""
	}
	return "Make " + dir + " a directory that you can write to, or have XDG_DATA_HOME name another one."
}

// writeFault reports whether a person can make a directory such that err does not come again.
func writeFault(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOTDIR, syscall.EROFS, syscall.EISDIR}, func(e error) bool { return errors.Is(err, e) })
}

// firstTime reports whether something happens for the first time, and notes it in
// a file of the data directory. noted is false if it cannot be noted.
func firstTime(name, note string) (first, noted bool) {
	dir, err := config.DataDir()
	if err != nil {
		return false, false
	}
	marker := filepath.Join(dir, name)
	if _, err := os.Lstat(marker); err == nil {
		return false, true
	}
	err = config.CreateFile(marker, note)
	return !errors.Is(err, os.ErrExist), err == nil // another process may have made it just now
}

// ExplainOnce reports that conversations are stored, before the first one is. Where that
// cannot be noted, nothing can be stored either, which is reported then.
func ExplainOnce(n Notify) {
	dir, err := config.DataDir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	if first, noted := firstTime("memory_told", "The user was told that conversations are remembered.\n"); !first || !noted {
		return
	}
	n.Say("mylm: from now on, questions, results and answers are saved on this machine only: " + dir + "\n" +
		"  mylm memory and mylm sessions show and delete them, mylm agent forget deletes plans; to turn this off, use --no-save or set save = false in the configuration.")
}

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

// Recorder records the session of a run. If no file can be created for it, the
// run continues without one; once there is one, an entry that cannot be written
// ends the run. A nil Recorder records nothing.
type Recorder struct {
	store  *journal.Store
	notify Notify
	off    atomic.Bool
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
	return err
}

// Keeps reports whether the session has been recorded so far.
func (r *Recorder) Keeps() bool { return r != nil && !r.off.Load() }

// giveUp reports, once, that the session is not recorded.
func (r *Recorder) giveUp(err error) {
	if r.off.CompareAndSwap(false, true) {
		r.notify.Say("mylm: this session is not kept, and cannot be resumed: " + unkept(err))
	}
}

// Failed reports whether nothing of the session could be recorded, which giveUp has reported.
func (r *Recorder) Failed() bool { return r != nil && r.off.Load() }

// Finish closes the session, and reports whether it was recorded.
func (r *Recorder) Finish() bool {
	if r == nil {
		return false
	}
	if err := r.store.Close(); errors.Is(err, journal.ErrNotBegun) {
		r.giveUp(err)
	}
	return !r.off.Load()
}

// Bounds of the time that the end of a run spends on old sessions.
const (
	pruneAtMost   = 200
	prunePatience = time.Second
	pruneEvery    = 24 * time.Hour
)

// Prune deletes sessions that were not used for long, a few at a time and once
// a day, and returns how many. Their age is measured by a clock of its own,
// which advances by two days at most from one time to the next: a clock that
// jumped deletes nothing. It fails silently: mylm sessions prune reports what
// is wrong.
func (r *Recorder) Prune(ctx context.Context) int {
	marker, now := filepath.Join(r.store.Dir(), "pruned"), time.Now()
	trusted := now
	info, err := os.Stat(marker)
	if err == nil {
		if passed := now.Sub(info.ModTime()); 0 <= passed && passed < pruneEvery {
			return 0
		}
		text, _ := os.ReadFile(marker)
		if trusted.UnmarshalText(text) != nil { // written before there was a clock in it
			trusted = info.ModTime()
		}
		if trusted = trusted.Add(2 * pruneEvery); trusted.After(now) {
			trusted = now
		}
	}
	text, _ := trusted.MarshalText()
	if os.WriteFile(marker, text, 0o600) != nil || os.Chtimes(marker, now, now) != nil || err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, prunePatience)
	defer cancel()
	n, _ := r.store.Prune(ctx, trusted.Add(-SessionsKept), pruneAtMost)
	return n
}

// NewRecorder records a new session; nil if it cannot.
func NewRecorder(n Notify) *Recorder {
	store, err := Sessions()
	if err != nil {
		n.Say("mylm: this session is not kept, and cannot be resumed: " + term.OneLine(err.Error(), 500))
		return nil
	}
	return Resumed(store, n)
}

// Resumed keeps recording a session that a store has opened.
func Resumed(store *journal.Store, n Notify) *Recorder { return &Recorder{store: store, notify: n} }
