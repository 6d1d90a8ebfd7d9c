package copies

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Store is a directory with copies of a workspace. It is safe for concurrent use.
type Store struct {
	dir, source string
	most        int64
	id          string
	lock        *flock.Flock
}

// Errors of Open and Make.
var (
	ErrInUse   = errors.New("another process keeps copies there")
	ErrInside  = errors.New("it must be outside the workspace")
	ErrForeign = errors.New("it has other files where copies would be")
	ErrTooLong = errors.New("the workspace is larger than a copy may be")
	ErrMissing = errors.New("the workspace is not there")
)

// Owner is the run that a copy is for, as Temporal knows it.
type Owner struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// Open prepares a directory for copies of source, each of which has so many bytes at most.
func Open(dir, source string, most int64) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, most: most}
	if s.source, err = filepath.EvalSymlinks(source); err != nil {
		return nil, err
	}
	if source, err = filepath.Abs(source); err != nil {
		return nil, err
	}
	if within(s.source, dir) || within(source, dir) {
		return nil, ErrInside
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if s.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if within(s.source, s.dir) {
		return nil, ErrInside
	}
	s.lock = flock.New(filepath.Join(s.dir, "lock"), flock.SetPermissions(0o600))
	switch held, err := s.lock.TryLock(); {
	case err != nil:
		return nil, err
	case !held:
		return nil, ErrInUse
	}
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepare makes what is missing in the directory, and removes what a kill has left.
func (s *Store) prepare() error {
	if err := s.name(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "copies"), 0o700); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(s.dir, "new"))
}

// within reports whether a path is a directory or in it.
func within(dir, path string) bool {
	at, err := filepath.Rel(dir, path)
	return err == nil && at != ".." && !strings.HasPrefix(at, ".."+string(filepath.Separator))
}

// ownID is what name calls directories.
var ownID = regexp.MustCompile(`^[a-z2-7]{13}$`)

// name reads the name of the directory, or gives it one if there is nothing in it that would
// be taken for copies.
func (s *Store) name() error {
	path := filepath.Join(s.dir, "id")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.id = strings.TrimSpace(string(text))
	switch {
	case ownID.MatchString(s.id):
		return nil
	case s.id != "":
		return ErrForeign
	}
	for _, name := range []string{"copies", "new"} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(err, ErrForeign)
		}
	}
	s.id = strings.ToLower(rand.Text()[:13])
	return os.WriteFile(path, []byte(s.id+"\n"), 0o600)
}

// ID names the directory, also when it is opened again.
func (s *Store) ID() string { return s.id }

// Close lets others open the directory. Its copies stay.
func (s *Store) Close() { _ = s.lock.Unlock() }

func (s *Store) path(id string, more ...string) string {
	return filepath.Join(append([]string{s.dir, "copies", id}, more...)...)
}

// work is where in a copy the run works.
func (s *Store) work(copied string) string {
	return filepath.Join(copied, "work", filepath.Base(s.source))
}

// Make makes a copy for a run, or finds the one that it has, and returns where the run works.
func (s *Store) Make(ctx context.Context, id string, of Owner) (dir string, err error) {
	if dir, err = s.Dir(id); err == nil {
		return dir, nil
	}
	making := filepath.Join(s.dir, "new", id+"-"+rand.Text()[:8])
	defer os.RemoveAll(making) // it is not there if it was made
	base, work := filepath.Join(making, "base"), s.work(making)
	text, err := json.Marshal(of)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(work), 0o700); err != nil {
		return "", err
	}
	c := copier{ctx: ctx, left: s.most}
	switch err := c.tree(s.source, base); {
	case errors.Is(err, errNoRoot):
		return "", fmt.Errorf("%s: %w", s.source, ErrMissing)
	case errors.Is(err, errTooLong):
		return "", fmt.Errorf("%s: %w: %d MB", s.source, ErrTooLong, s.most>>20)
	case err != nil:
		return "", err
	}
	c.left = s.most
	if err := c.tree(base, work); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(making, "owner"), text, 0o600); err != nil {
		return "", err
	}
	if err := os.Rename(making, s.path(id)); err != nil {
		return "", err
	}
	return s.Dir(id)
}

// Dir is where the run of a copy works. There is none: fs.ErrNotExist.
func (s *Store) Dir(id string) (string, error) {
	dir := s.work(s.path(id))
	_, err := os.Stat(dir)
	return dir, err
}

// Keep has a copy stay when its run has ended, until it is so old that Sweep removes it.
func (s *Store) Keep(id string) error {
	return os.WriteFile(s.path(id, "kept"), nil, 0o600)
}

// Remove removes the copy of a run that has ended, unless it is kept.
func (s *Store) Remove(id string) error {
	if _, err := os.Stat(s.path(id, "kept")); err == nil {
		return nil
	}
	return s.remove(id)
}

func (s *Store) remove(id string) error {
	open := func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() { // or what is in it cannot be removed
			err = os.Chmod(path, 0o700)
		}
		return err
	}
	_ = filepath.WalkDir(s.path(id), open)
	return os.RemoveAll(s.path(id))
}

// keptFor is how long a copy stays that is kept.
const keptFor = 7 * 24 * time.Hour

// Sweep keeps the copies whose runs are over and whose changes nobody has recorded. It
// removes those that were kept for so long, those without changes, and what belongs to no
// run. It goes on where it is not known whether a run is over, and returns why.
func (s *Store) Sweep(ctx context.Context, now time.Time, over func(Owner) (bool, error)) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "copies"))
	for _, e := range entries {
		if kept, failed := os.Stat(s.path(e.Name(), "kept")); failed == nil {
			if now.Sub(kept.ModTime()) > keptFor {
				err = errors.Join(err, s.remove(e.Name()))
			}
			continue
		}
		var of Owner
		text, failed := os.ReadFile(s.path(e.Name(), "owner"))
		if failed == nil {
			failed = json.Unmarshal(text, &of)
		}
		if failed != nil { // no run could be told of it
			err = errors.Join(err, s.remove(e.Name()))
			continue
		}
		gone, failed := over(of)
		if gone {
			failed = errors.Join(failed, s.settle(ctx, e.Name()))
		}
		err = errors.Join(err, failed)
	}
	return err
}

// settle keeps a copy if anything was changed in it, or removes it.
func (s *Store) settle(ctx context.Context, id string) error {
	changes, err := s.Changes(ctx, id)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist), err == nil && len(changes.Files) == 0:
		return s.remove(id)
	}
	return s.Keep(id)
}

// Count is how many copies there are of runs that are under way.
func (s *Store) Count() (n int) {
	entries, _ := os.ReadDir(filepath.Join(s.dir, "copies"))
	for _, e := range entries {
		if _, err := os.Stat(s.path(e.Name(), "kept")); err != nil {
			n++
		}
	}
	return n
}
