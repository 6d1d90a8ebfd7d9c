package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	// that what was found by then can still be told.
	DefaultMaxTime = 20 * time.Second
)

// Options say what the tools see, and how much of it at once.
type Options struct {
	Root       string // the directory; "" is the working directory of the process
	MaxLines   int    // lines shown by one read_file; 0: DefaultMaxLines
	MaxBytes   int    // bytes shown by one read_file or search_files; 0: DefaultMaxBytes
	MaxEntries int    // entries shown by one list_dir or find_files; 0: DefaultMaxEntries
	MaxMatches int    // lines shown by one search_files; 0: DefaultMaxMatches

	MaxTime time.Duration // after which find_files and search_files tell what they have; 0: DefaultMaxTime

	// Closed are directories, such as those of the program's own settings, that are
	// no part of the workspace, wherever they lie.
	Closed []string

	Journal *undo.Journal // keeps what write_file and edit_file write over; nil: nothing is kept
}

// workspace is a checked Options.
type workspace struct {
	Options
	real    string // Root without symbolic links
	outside bool   // Root is where all files begin: see reach
}

func newWorkspace(o Options) (*workspace, error) {
	for _, limit := range []struct {
		name  string
		value *int
		usual int
	}{
		{"MaxLines", &o.MaxLines, DefaultMaxLines},
		{"MaxBytes", &o.MaxBytes, DefaultMaxBytes},
		{"MaxEntries", &o.MaxEntries, DefaultMaxEntries},
		{"MaxMatches", &o.MaxMatches, DefaultMaxMatches},
	} {
		if *limit.value < 0 {
			return nil, fmt.Errorf("%s is %d; it must be 0 (for %d) or more", limit.name, *limit.value, limit.usual)
		}
		if *limit.value == 0 {
			*limit.value = limit.usual
		}
	}
	if o.MaxTime < 0 {
		return nil, fmt.Errorf("MaxTime is %v; it must be 0 (for %v) or more", o.MaxTime, DefaultMaxTime)
	}
	o.MaxTime = cmp.Or(o.MaxTime, DefaultMaxTime)
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
		return "", fmt.Errorf("the path %q holds a NUL byte; leave it out", path)
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

// stat finds what the path names. It returns the name by which the root knows
// it, with links that lead outside refused.
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

// explain turns an error of os.Root into one that tells the model what to do.
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

// escapes reports whether err is what os.Root says of a path that leads out of
// it. Package os does not export that error.
func escapes(err error) bool { return strings.Contains(err.Error(), "escapes") }
