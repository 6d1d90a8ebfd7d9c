package undo

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// Defaults of Options.
const (
	DefaultMaxBytes = 64 << 20            // more text than any model writes over in one run
	DefaultMaxRuns  = 20                  // of one workspace
	DefaultMaxTotal = 1 << 30             // of all runs
	DefaultMaxAge   = 90 * 24 * time.Hour // as long as sessions are kept
)

// Options set where earlier versions are stored, and how many.
type Options struct {
	Dir      string        // made at the first change; "" makes every change fail
	MaxBytes int64         // earlier versions that one run keeps; 0: DefaultMaxBytes
	MaxRuns  int           // runs kept of one workspace, the latest; 0: DefaultMaxRuns
	MaxTotal int64         // bytes kept of all runs, the latest; 0: DefaultMaxTotal
	MaxAge   time.Duration // after which a run is forgotten; 0: DefaultMaxAge
}

// Store is the directory of all runs. Several processes and goroutines may use
// it at once.
type Store struct{ o Options }

// NewStore makes a Store. It touches nothing.
func NewStore(o Options) *Store {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxRuns = cmp.Or(o.MaxRuns, DefaultMaxRuns)
	o.MaxTotal = cmp.Or(o.MaxTotal, DefaultMaxTotal)
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	return &Store{o}
}

// Names within a run's directory.
const (
	journalName = "journal.jsonl"
	blobsName   = "blobs"
	lockName    = "lock"
)

// version is of the journal's format. A reader refuses a higher one.
const version = 1

// Run is one run, as recorded in its journal.
type Run struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Workspace string    `json:"workspace"`         // an absolute path without symbolic links
	Session   string    `json:"session,omitempty"` // of the conversation
	Started   time.Time `json:"started"`
	Undoes    string    `json:"undoes,omitempty"` // the run that this one undid

	Ended  bool      `json:"-"` // false while it goes on, and if it was killed
	Undone time.Time `json:"-"` // zero if it was not
	Active bool      `json:"-"` // a process is at it
	Broken error     `json:"-"` // why it cannot be undone: its journal cannot be read

	changes []change
	dir     string
}

// Files lists the files that the run changed, each once, in the order of their
// first change, as paths relative to the workspace.
func (r Run) Files() []string {
	var names []string
	for _, c := range r.changes {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// state is what is at a path.
type state struct {
	Exists bool        `json:"exists"`
	Sum    string      `json:"sum,omitempty"` // SHA-256
	Size   int64       `json:"size,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
}

// same reports whether both hold the same bytes, or both nothing.
func (s state) same(t state) bool { return s.Exists == t.Exists && s.Sum == t.Sum }

// line is a line of a journal below the first: a change, or that something
// happened to the run.
type line struct {
	Change *change    `json:"change,omitempty"`
	Ended  *time.Time `json:"ended,omitempty"`
	Undone *time.Time `json:"undone,omitempty"` // zero: no longer
	Failed bool       `json:"failed,omitempty"` // the change before it was not made
}

// change is one file that was written or removed, or was about to be.
type change struct {
	Name   string    `json:"name"`
	Time   time.Time `json:"time"`
	Temp   string    `json:"temp,omitempty"` // is left behind if the process was killed
	Before state     `json:"before"`
	After  state     `json:"after"`
	Made   []string  `json:"made,omitempty"` // directories that were made for it, the outer ones first
}

// Runs lists the runs of a workspace that changed something, the latest first; of all
// workspaces if it is "". A run whose journal cannot be read is among them as Broken, unless not
// even its workspace is known: it must not hide the others, nor pass for one that
// never was.
func (s *Store) Runs(workspace string) ([]Run, error) {
	if s.o.Dir == "" {
		return nil, errNoDir
	}
	entries, err := os.ReadDir(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the runs that can be undone cannot be listed: %w", err)
	}
	var runs []Run
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		r, err := load(filepath.Join(s.o.Dir, e.Name()))
		if nothing := len(r.changes) == 0 && !r.Active && r.Broken == nil; err == nil && !nothing && (workspace == "" || r.Workspace == workspace) {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return b.Started.Compare(a.Started) })
	return runs, nil
}

// load reads the journal in dir. A last line that is torn was never acted on.
func load(dir string) (Run, error) {
	r := Run{dir: dir}
	f, err := os.Open(filepath.Join(dir, journalName))
	if err != nil {
		return r, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return r, err
		}
		if err := r.read(n, text); err != nil {
			r.Broken = fmt.Errorf("%s, line %d: %w", f.Name(), n, err)
			break
		}
	}
	if r.ID == "" || r.Workspace == "" {
		return r, fmt.Errorf("%s does not name a run", f.Name())
	}
	r.Active = locked(dir)
	return r, nil
}

func (r *Run) read(n int, text []byte) error {
	if n == 1 {
		if err := json.Unmarshal(text, r); err != nil {
			return err
		}
		if r.Version != version {
			return fmt.Errorf("the format is version %d, and this program reads version %d", r.Version, version)
		}
		return nil
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Ended != nil:
		r.Ended = true
	case l.Undone != nil:
		r.Undone = *l.Undone
	case l.Change != nil:
		r.changes = append(r.changes, *l.Change)
	case l.Failed && len(r.changes) > 0:
		r.changes = r.changes[:len(r.changes)-1]
	}
	return nil
}

// locked reports whether a process is at the run in dir.
func locked(dir string) bool {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetFlag(os.O_RDWR))
	got, err := lock.TryLock()
	if got {
		lock.Unlock()
	}
	return err == nil && !got
}

// size is how many bytes the run in dir takes.
func size(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// prune forgets the runs beyond the bounds, and clears up after those that were
// killed in the workspace of root. Only one process does so at a time.
func (s *Store) prune(root *os.Root, workspace string) error {
	lock := flock.New(filepath.Join(s.o.Dir, lockName), flock.SetPermissions(0o600))
	if got, err := lock.TryLock(); err != nil || !got {
		return err
	}
	defer lock.Close()
	runs, err := s.Runs("")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	count, total := map[string]int{}, int64(0)
	for _, r := range runs {
		known[filepath.Base(r.dir)] = true
		count[r.Workspace]++
		total += size(r.dir)
		switch {
		case r.Active:
		case count[r.Workspace] > s.o.MaxRuns, total > s.o.MaxTotal, time.Since(r.Started) > s.o.MaxAge:
			err = errors.Join(err, os.RemoveAll(r.dir))
		case !r.Ended && r.Broken == nil && r.Workspace == workspace:
			err = errors.Join(err, r.sweep(root))
		}
	}
	entries, _ := os.ReadDir(s.o.Dir) // it was read a moment ago
	for _, e := range entries {
		info, infoErr := e.Info()
		if e.IsDir() && !known[e.Name()] && infoErr == nil && time.Since(info.ModTime()) > s.o.MaxAge {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.o.Dir, e.Name())))
		}
	}
	return err
}
