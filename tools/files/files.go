package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mylm/tools"
	"mylm/tools/files/undo"
)

// Names of the tools.
const (
	ReadFileName    = "read_file"
	ListDirName     = "list_dir"
	FindFilesName   = "find_files"
	SearchFilesName = "search_files"
	WriteFileName   = "write_file"
	EditFileName    = "edit_file"
)

// Defaults of Options. A page of 400 lines or 16 KiB is about 4,000 tokens of
// English or code: half of a window of 8,192, the smallest in common use.
const (
	DefaultMaxLines   = 400
	DefaultMaxBytes   = 16 << 10
	DefaultMaxEntries = 200
	DefaultMaxMatches = 100

	// DefaultMaxTime is less than the half minute that a tool usually has, so
	// that partial results can still be returned.
	DefaultMaxTime = 20 * time.Second
)

// Options set what the tools see, and how much of it at once. A limit of 0 or less
// is the default.
type Options struct {
	Root       string // the directory; "" is the working directory of the process
	MaxLines   int    // lines shown by one read_file
	MaxBytes   int    // bytes shown by one read_file or search_files
	MaxEntries int    // entries shown by one list_dir or find_files
	MaxMatches int    // lines shown by one search_files

	MaxTime time.Duration // after which find_files and search_files return what they have

	// Closed are directories, such as those of the program's own settings, that
	// are not part of the workspace, wherever they are.
	Closed []string

	Editor Editor // has files open that read_file, write_file and edit_file are about; nil: none

	Journal *undo.Journal // keeps what write_file and edit_file write over; nil: nothing is kept
}

// workspace is a checked Options.
type workspace struct {
	Options
	real    string // Root without symbolic links
	outside bool   // Root is where all files begin: see locate
}

func newWorkspace(o Options) (*workspace, error) {
	o.MaxLines = orDefault(o.MaxLines, DefaultMaxLines)
	o.MaxBytes = orDefault(o.MaxBytes, DefaultMaxBytes)
	o.MaxEntries = orDefault(o.MaxEntries, DefaultMaxEntries)
	o.MaxMatches = orDefault(o.MaxMatches, DefaultMaxMatches)
	o.MaxTime = orDefault(o.MaxTime, DefaultMaxTime)
	abs, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s: %w", o.Root, err)
	}
	o.Root = abs
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be used; choose a directory that exists: %w", err)
	}
	defer root.Close()
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be used: %w", err)
	}
	return &workspace{Options: o, real: real}, nil
}

// orDefault is a limit, or its default if it is 0 or less.
func orDefault[T int | time.Duration](limit, usual T) T {
	if limit <= 0 {
		return usual
	}
	return limit
}

// closed reports whether a name within the root, of what exists, lies in a
// directory of Closed.
func (w *workspace) closed(name string) bool {
	if len(w.Closed) == 0 || w.outside {
		return false
	}
	real, err := filepath.EvalSymlinks(filepath.Join(w.real, name))
	return err == nil && slices.ContainsFunc(w.Closed, func(dir string) bool {
		if closed, err := filepath.EvalSymlinks(dir); err == nil {
			dir = closed
		}
		rel, err := filepath.Rel(dir, real)
		return err == nil && filepath.IsLocal(rel)
	})
}

// open opens the root for one call: a tool has no end at which it could close one.
func (w *workspace) open() (*os.Root, error) {
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be read: %w", err)
	}
	return root, nil
}

// longestPath is PATH_MAX of Linux, the largest of the systems' usual limits.
const longestPath = 4096

// relative turns a path as the model writes it into one relative to the root.
func (w *workspace) relative(path string) (string, error) {
	if len(path) > longestPath {
		return "", fmt.Errorf("the path is %d bytes long, and no file has one of more than %d; give a shorter one", len(path), longestPath)
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("the path %q contains a NUL byte; remove it", path)
	}
	name := filepath.Clean(filepath.FromSlash(path))
	if filepath.IsLocal(name) {
		return name, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.Root, name)
	}
	for _, root := range []string{w.Root, w.real} {
		if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", &outsideError{path, w.Root}
}

// outsideError is a path that leads out of the workspace.
type outsideError struct{ path, root string }

func (e *outsideError) Error() string {
	return fmt.Sprintf("%s leads outside the workspace %s", e.path, e.root)
}

// within follows the links of name and returns the path that it leads to,
// relative to the root. os.Root refuses absolute links, also those that lead
// back into it; what this returns goes through os.Root again.
func (w *workspace) within(name string) (string, bool) {
	target, err := filepath.EvalSymlinks(filepath.Join(w.real, name))
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(w.real, target)
	return rel, err == nil && rel != name && filepath.IsLocal(rel)
}

// stat finds what the path names. It returns the name relative to the root, and
// refuses links that lead outside.
func (w *workspace) stat(root *os.Root, path string) (string, fs.FileInfo, error) {
	name, err := w.relative(path)
	if err != nil {
		return "", nil, err
	}
	info, err := root.Stat(name)
	if err == nil {
		return name, info, nil
	}
	if rel, ok := w.within(name); ok && !errors.Is(err, fs.ErrNotExist) {
		if info, err := root.Stat(rel); err == nil {
			return rel, info, nil
		}
	}
	return "", nil, w.explain(root, path, name, err)
}

// explain turns an error of os.Root into one that helps the model.
func (w *workspace) explain(root *os.Root, path, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(root, path, name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: permission denied", path)
	}
	var p *fs.PathError
	if !errors.As(err, &p) {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if escapes(p.Err) {
		return &outsideError{path, w.Root}
	}
	return fmt.Errorf("%s cannot be read: %w", path, p.Err)
}

// escapes reports whether err is os.Root's error for a path that leads out of
// it. Package os does not export that error.
func escapes(err error) bool { return strings.Contains(err.Error(), "escapes") }

// locate finds through which root a path can be read, and its name there: the
// workspace, or where all files begin, for what leads out of it.
func (w *workspace) locate(path string) (*workspace, string, error) {
	name, err := w.relative(path)
	var out *outsideError
	if errors.As(err, &out) {
		abs := filepath.FromSlash(path)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(w.Root, abs)
		}
		return w.wholeVolume(abs), filepath.Clean(abs), nil
	}
	if err != nil {
		return nil, "", err
	}
	root, err := w.open()
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	if _, err := root.Stat(name); err != nil && escapes(err) {
		if _, in := w.within(name); !in {
			abs := filepath.Join(w.real, name)
			return w.wholeVolume(abs), abs, nil
		}
	}
	if w.closed(name) {
		abs := filepath.Join(w.real, name)
		return w.wholeVolume(abs), abs, nil
	}
	return w, path, nil
}

// wholeVolume is a workspace of all that is on the volume of path.
func (w *workspace) wholeVolume(path string) *workspace {
	all := *w
	all.Root = filepath.VolumeName(path) + string(filepath.Separator)
	all.real, all.outside = all.Root, true
	return &all
}

// allowed is locate for a call that runs. A path that led inside when the call
// was checked, and outside since, is refused.
func (w *workspace) allowed(ctx context.Context, path string) (*workspace, string, error) {
	seen, name, err := w.locate(path)
	if err != nil {
		return nil, "", err
	}
	if seen.outside && !granted(ctx, tools.Leaves) {
		return nil, "", fmt.Errorf("%w, which was not allowed for this call", &outsideError{path, w.Root})
	}
	return seen, name, nil
}

func granted(ctx context.Context, e tools.Effect) bool {
	given, bounded := tools.Granted(ctx)
	return !bounded || given&e == e
}

// maxPlanTime is how long it may take to find out what a call would do. If the
// file system does not answer by then, the worst is assumed.
const maxPlanTime = 2 * time.Second

// waitFor runs f, which works on path, and waits for it until ctx is done. A
// file system may never answer (a network server that is gone), and nothing
// can end such a wait: f is left to it, and closes what it opened afterwards.
func waitFor[T any](ctx context.Context, path string, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil { // in this goroutine it would end the program
				o.err = fmt.Errorf("the tool crashed: %v", p)
			}
			done <- o
		}()
		o.result, o.err = f()
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return none, fmt.Errorf("%s does not respond: %w", path, ctx.Err())
	}
}
