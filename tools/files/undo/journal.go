package undo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"mylm/tools/files/internal/open"
	"mylm/tools/files/internal/replace"
)

var errNoDir = errors.New("there is no directory to save earlier versions of files in; set HOME or XDG_DATA_HOME")

// ErrTooLarge is returned, wrapped, for a change that would need more space for
// the earlier version than a run may take.
var ErrTooLarge = errors.New("too large to be kept for undo")

// ErrChanged is returned, wrapped, if a file does not match Change.Expect.
var ErrChanged = errors.New("the file was changed meanwhile")

// Journal writes files for one run and keeps what they were. It may be used by
// several goroutines at once. A nil Journal writes files and keeps nothing.
type Journal struct {
	store *Store
	run   Run
	bound int64 // 0: none

	mu     sync.Mutex
	file   *os.File // nil before the first change
	lock   *flock.Flock
	stored map[string]bool // sums of earlier versions, and of what the run itself wrote
	used   int64
}

// Begin begins a run in a workspace, which is a directory's absolute path
// without symbolic links. Nothing is written before the first change.
func (s *Store) Begin(workspace, session string) *Journal {
	return &Journal{store: s, run: Run{Version: version, Workspace: workspace, Session: session}, bound: s.o.MaxBytes}
}

// Change is a file to write.
type Change struct {
	Name    string       // relative to the root; no link is followed at its end
	Content []byte       // what it shall hold
	Parents bool         // make the directories that are missing
	Mode    *fs.FileMode // its permissions; nil: as before, or the usual ones
	Expect  *string      // what it must hold now, if it is to be changed

	// Through writes the file in another way, such as an editor that has it open;
	// nil: it is replaced. What comes of it is not checked.
	Through func(context.Context) error
}

// Write replaces a file atomically and durably, after its earlier version is safe.
// On an error the file is unchanged.
func (j *Journal) Write(ctx context.Context, root *os.Root, c Change) error {
	return j.change(ctx, root, c, state{Exists: true, Sum: sumOf(c.Content), Size: int64(len(c.Content))})
}

// Remove removes a file after its earlier version is safe. A missing file is not an
// error.
func (j *Journal) Remove(ctx context.Context, root *os.Root, name string) error {
	return j.change(ctx, root, Change{Name: name}, state{})
}

// change keeps the earlier version, writes the change down, and makes it.
func (j *Journal) change(ctx context.Context, root *os.Root, c Change, next state) error {
	if !utf8.ValidString(c.Name) {
		return fmt.Errorf("the name %q is not UTF-8, so its earlier version could not be recorded", c.Name)
	}
	if j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if err := j.open(root); err != nil {
			return fmt.Errorf("its earlier version cannot be saved: %w", err)
		}
	}
	if err := checkParents(root, c.Name); err != nil {
		return err
	}
	before, old, err := j.save(ctx, root, c.Name)
	if err != nil {
		return err
	}
	if c.Expect != nil && (!before.Exists || before.Sum != sumOf([]byte(*c.Expect))) {
		return ErrChanged
	}
	made := missingDirs(root, filepath.Dir(c.Name))
	if len(made) > 0 && !c.Parents && next.Exists {
		return &fs.PathError{Op: "open", Path: filepath.Dir(c.Name), Err: fs.ErrNotExist}
	}
	temp := replace.TempName(c.Name)
	if err := j.record(line{Change: &change{
		Name: filepath.ToSlash(c.Name), Time: time.Now(), Temp: filepath.ToSlash(temp), Before: before, After: next, Made: made,
	}}); err != nil {
		return fmt.Errorf("its earlier version cannot be saved: %w", err)
	}
	err = ctx.Err()
	switch {
	case err != nil:
	case next.Exists && c.Through != nil:
		if err = root.MkdirAll(filepath.Dir(c.Name), 0o777); err == nil {
			err = c.Through(ctx)
		}
	case next.Exists:
		err = c.write(root, temp, old)
	case old != nil:
		err = replace.Remove(root, c.Name)
	}
	if err != nil {
		removeEmpty(root, made)
		if c.Through == nil { // else something may have come of it
			_ = j.record(line{Failed: true})
		}
		return err
	}
	if j != nil && next.Exists {
		j.stored[next.Sum] = true
	}
	return nil
}

// write makes the missing directories and replaces the file.
func (c Change) write(root *os.Root, temp string, old fs.FileInfo) error {
	if err := root.MkdirAll(filepath.Dir(c.Name), 0o777); err != nil {
		return err
	}
	like := replace.Like{Mode: c.Mode, Owner: old}
	if like.Mode == nil && old != nil {
		mode := old.Mode() & fs.ModePerm // writing to a file clears its setuid
		like.Mode = &mode
	}
	return replace.Bytes(root, c.Name, temp, c.Content, like)
}

// open makes the run's directory at its first change.
func (j *Journal) open(root *os.Root) error {
	if j.file != nil {
		return nil
	}
	if j.store.o.Dir == "" {
		return errNoDir
	}
	j.run.Started = time.Now()
	j.run.ID = j.run.Started.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:4])
	dir := filepath.Join(j.store.o.Dir, j.run.ID)
	if err := os.MkdirAll(filepath.Join(dir, blobsName), 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	if _, err := lock.TryLock(); err != nil { // no other process knows of it
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		j.run.dir, j.file, j.lock, j.stored, j.used = dir, f, lock, map[string]bool{}, 0
		err = j.record(j.run)
	}
	if err != nil {
		j.close()
		lock.Close()
		return errors.Join(err, os.RemoveAll(dir))
	}
	syncDirs(dir, j.store.o.Dir)
	_ = j.store.prune(root, j.run.Workspace) // what cannot be removed is tried again by the next run
	return nil
}

// record writes a line of the journal.
func (j *Journal) record(v any) error {
	if j == nil {
		return nil
	}
	return writeLine(j.file, v)
}

// ID names the run; "" before its first change.
func (j *Journal) ID() string {
	if j == nil {
		return ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.ID
}

// End ends the run. The next change begins another one.
func (j *Journal) End() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	now := time.Now()
	err := j.record(line{Ended: &now})
	return errors.Join(err, j.close())
}

func (j *Journal) close() (err error) {
	if j.file != nil {
		err = errors.Join(j.file.Close(), j.lock.Close())
	}
	j.file, j.lock, j.run.ID = nil, nil, ""
	return err
}

// save reads the file and saves its content, unless that is saved already.
func (j *Journal) save(ctx context.Context, root *os.Root, name string) (state, fs.FileInfo, error) {
	f, info, err := open.Regular(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil, nil
	}
	if err != nil {
		return state{}, nil, err
	}
	defer f.Close()
	s := state{Exists: true, Size: info.Size(), Mode: info.Mode() & replace.Permissions}
	tooLarge := func(left int64) error {
		return fmt.Errorf("%s has %d bytes and is %w: a run keeps %d, and %d are left", filepath.ToSlash(name), info.Size(), ErrTooLarge, j.bound, left)
	}
	if j != nil && j.bound > 0 && info.Size() > j.bound {
		return s, info, tooLarge(j.bound - j.used)
	}
	s.Sum, _, err = copySum(ctx, io.Discard, f)
	if err != nil || j == nil || j.stored[s.Sum] {
		return s, info, err
	}
	if j.bound > 0 && info.Size() > j.bound-j.used {
		return s, info, tooLarge(j.bound - j.used)
	}
	if _, err = f.Seek(0, io.SeekStart); err == nil {
		s.Sum, err = j.blob(ctx, f)
	}
	if err != nil {
		return s, info, fmt.Errorf("the earlier version of %s cannot be saved: %w", filepath.ToSlash(name), err)
	}
	return s, info, nil
}

// blob keeps what r holds, and returns its sum.
func (j *Journal) blob(ctx context.Context, r io.Reader) (sum string, err error) {
	dir := filepath.Join(j.run.dir, blobsName)
	f, err := os.CreateTemp(dir, "tmp-*") // 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	if j.bound > 0 {          // the file may grow while it is read
		r = io.LimitReader(r, j.bound-j.used+1)
	}
	sum, n, err := copySum(ctx, f, r)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if j.bound > 0 && n > j.bound-j.used {
		return "", ErrTooLarge
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, sum)); err != nil {
		return "", err
	}
	syncDirs(dir)
	j.stored[sum] = true
	j.used += n
	return sum, nil
}

func copySum(ctx context.Context, w io.Writer, r io.Reader) (string, int64, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), &cancellable{ctx, r})
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// cancellable is a reader that ends with its context.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
