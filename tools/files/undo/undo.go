package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"mylm/tools/files/internal/open"
)

// Action is what undoing does to a file.
type Action string

// The actions.
const (
	Restore Action = "restore" // the earlier version is written
	Remove  Action = "remove"  // there was none: the file goes
	Nothing Action = "nothing" // the file is as it was before the run
)

// Step is what undoing a run does to one file.
type Step struct {
	Name     string `json:"name"` // relative to the workspace
	Action   Action `json:"action"`
	Size     int64  `json:"size"`               // of the earlier version
	Conflict string `json:"conflict,omitempty"` // why it must be forced: what else has changed the file
	Blocked  bool   `json:"blocked,omitempty"`  // the conflict cannot be forced: something other than a file is there, and has to be moved away

	to state
}

// Plan is what Undo would do, file by file, in the order of their first change. It changes nothing.
func (s *Store) Plan(ctx context.Context, r Run) ([]Step, error) {
	if r.Broken != nil {
		return nil, r.Broken
	}
	real, err := filepath.EvalSymlinks(r.Workspace)
	if err == nil && real != r.Workspace {
		return nil, fmt.Errorf("the workspace of the run, %s, is a link now", r.Workspace)
	}
	root, err := os.OpenRoot(r.Workspace)
	if err != nil {
		return nil, fmt.Errorf("the workspace of the run is gone: %w", err)
	}
	defer root.Close()
	var steps []Step
	for _, name := range r.Files() {
		step, err := s.step(ctx, root, r, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func (s *Store) step(ctx context.Context, root *os.Root, r Run, name string) (Step, error) {
	step := Step{Name: name}
	var written []state
	for _, c := range r.changes {
		if c.Name != name {
			continue
		}
		if len(written) == 0 {
			step.to = c.Before
		}
		written = append(written, c.After)
	}
	step.Size = step.to.Size
	now, err := stateOf(ctx, root, filepath.FromSlash(name))
	if ctx.Err() != nil {
		return step, ctx.Err()
	}
	switch {
	case step.to.Exists:
		step.Action = Restore
	default:
		step.Action = Remove
	}
	switch {
	case err != nil:
		step.Conflict, step.Blocked = err.Error()+"; move it away first", true
	case now.same(step.to) && (now.Mode == step.to.Mode || !now.Exists):
		step.Action = Nothing
	case now.same(step.to) || slices.ContainsFunc(written, now.same):
	case !now.Exists:
		step.Conflict = "it was deleted since"
	default:
		step.Conflict = "it was changed since" + s.changedBy(r, name, now)
	}
	return step, nil
}

// changedBy names the later run that left the file as it is, if one did.
func (s *Store) changedBy(r Run, name string, now state) string {
	runs, err := s.Runs(r.Workspace)
	if err != nil {
		return ""
	}
	for _, later := range runs {
		if later.ID == r.ID || later.Started.Before(r.Started) {
			continue
		}
		for _, c := range later.changes {
			if c.Name == name && c.After.same(now) {
				return ", by run " + later.ID
			}
		}
	}
	return ""
}

// ErrActive is returned for a run that is still going on.
var ErrActive = errors.New("the run is still going on; wait for its end, or stop it")

// ConflictError lists what must be forced, or, if it is Blocked, moved away.
// Nothing was changed.
type ConflictError struct{ Steps []Step }

// Error names the first of the files.
func (e *ConflictError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Steps[0].Name, e.Steps[0].Conflict)
	if n := len(e.Steps) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Report is what Undo has done.
type Report struct {
	Steps []Step `json:"steps"`
	By    string `json:"by,omitempty"` // the run that undoing was, which can be undone; "" if there was nothing to do
}

// Undo brings back what the files of a run were before it. If one was changed
// since by somebody else it changes nothing and returns a *ConflictError,
// unless force is set; a directory or a link in a file's place, or on the way to
// it, cannot be forced. When it
// is interrupted, calling it again does the rest.
func (s *Store) Undo(ctx context.Context, r Run, force bool) (Report, error) {
	lock := flock.New(filepath.Join(r.dir, lockName), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return Report{}, fmt.Errorf("the run cannot be undone: %w", err)
	}
	if !got {
		return Report{}, ErrActive
	}
	defer lock.Close()
	steps, err := s.Plan(ctx, r)
	if err != nil {
		return Report{}, err
	}
	in := conflicts(steps)
	if len(in) > 0 && !force || slices.ContainsFunc(in, func(s Step) bool { return s.Blocked }) {
		return Report{Steps: steps}, &ConflictError{in}
	}
	root, err := os.OpenRoot(r.Workspace)
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	if !r.Ended {
		if err := r.sweep(root); err != nil {
			return Report{}, err
		}
	}
	j := s.Begin(r.Workspace, r.Session)
	j.run.Undoes, j.bound = r.ID, 0
	report := Report{Steps: steps}
	for _, step := range steps {
		if err = s.apply(ctx, root, j, r, step); err != nil {
			err = fmt.Errorf("%s: %w", step.Name, err)
			break
		}
	}
	if err == nil {
		for _, c := range slices.Backward(r.changes) { // a directory may have been made for the first of several files
			removeEmpty(root, c.Made)
		}
	}
	report.By = j.ID()
	err = errors.Join(err, j.End())
	if err == nil {
		err = s.markUndone(r)
	}
	return report, err
}

// markUndone writes down that r is undone. Where r undid a run, that one counts again.
func (s *Store) markUndone(r Run) error {
	now := time.Now()
	if err := r.append(line{Undone: &now}); err != nil || r.Undoes == "" {
		return err
	}
	first, err := load(filepath.Join(s.o.Dir, r.Undoes))
	if err != nil {
		return nil // it was pruned meanwhile
	}
	return first.append(line{Undone: &time.Time{}})
}

func conflicts(steps []Step) []Step {
	var in []Step
	for _, step := range steps {
		if step.Conflict != "" {
			in = append(in, step)
		}
	}
	return in
}

// apply makes one step.
func (s *Store) apply(ctx context.Context, root *os.Root, j *Journal, r Run, step Step) error {
	name := filepath.FromSlash(step.Name)
	switch step.Action {
	case Remove:
		return j.Remove(ctx, root, name)
	case Restore:
		content, err := r.blob(step.to)
		if err != nil {
			return err
		}
		mode := step.to.Mode
		return j.Write(ctx, root, Change{Name: name, Content: content, Parents: true, Mode: &mode})
	}
	return nil
}

// blob returns an earlier version, if it is whole.
func (r *Run) blob(s state) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(r.dir, blobsName, s.Sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("its earlier version is gone from %s", r.dir)
	}
	if err != nil {
		return nil, err
	}
	if sumOf(b) != s.Sum {
		return nil, fmt.Errorf("its earlier version in %s is damaged", r.dir)
	}
	return b, nil
}

// Changed is what became of a file since before a run.
type Changed struct {
	Name          string // relative to the workspace
	Before, After []byte // nil: there is no file
}

// Changes lists the files that are not as they were before a run, in the order of
// their first change. It changes nothing.
func (s *Store) Changes(ctx context.Context, r Run) ([]Changed, error) {
	steps, err := s.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []Changed
	for _, step := range steps {
		c := Changed{Name: step.Name}
		if step.to.Exists {
			if c.Before, err = r.blob(step.to); err != nil {
				return nil, fmt.Errorf("%s: %w", step.Name, err)
			}
		}
		if c.After, err = contentOf(root, filepath.FromSlash(step.Name)); err != nil {
			return nil, fmt.Errorf("%s: %w", step.Name, err)
		}
		if (c.Before == nil) != (c.After == nil) || !bytes.Equal(c.Before, c.After) {
			all = append(all, c)
		}
	}
	return all, nil
}

// contentOf is what a file holds, nil if there is none.
func contentOf(root *os.Root, name string) ([]byte, error) {
	f, _, err := open.Regular(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}
