package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"mylm/tools/files/internal/open"
)

// target is where a write goes.
type target struct {
	path string      // as the model named it
	name string      // within the root, with all links followed
	info fs.FileInfo // of the existing file; nil if there is none
}

// target finds the file that a write to path would change, or why it must not. It
// changes nothing. The write itself goes through the root, so a link that was made
// since cannot lead it outside.
func (w *workspace) target(root *os.Root, path string) (*target, error) {
	if strings.TrimSpace(path) == "" {
		return nil, errors.New("the path is empty; give the file to write")
	}
	name, err := w.relative(path)
	if err == nil {
		name, err = w.follow(path, name)
	}
	var out *outsideError
	if errors.As(err, &out) {
		return nil, fmt.Errorf("%w; only what is within it can be written", err)
	}
	if err != nil {
		return nil, err
	}
	if inGit(name) {
		return nil, fmt.Errorf("%s belongs to git's own data, which only git should write; use its commands", path)
	}
	for dir := name; ; dir = filepath.Dir(dir) { // of a new file, its nearest directory
		if _, err := root.Lstat(dir); err != nil && dir != "." {
			continue
		}
		if w.closed(dir) {
			return nil, fmt.Errorf("%s belongs to this program's own settings and data; write to another file", path)
		}
		break
	}
	t := &target{path: path, name: name}
	t.info, err = root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.info = nil
		return t, creatable(path, name)
	case err != nil:
		return nil, w.explain(root, path, name, err)
	}
	return t, w.writable(root, t)
}

// follow returns the name within the workspace to which a name leads.
func (w *workspace) follow(path, name string) (string, error) {
	full := filepath.Join(w.real, name)
	if link, err := os.Readlink(full); err == nil {
		if _, err := os.Stat(full); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is a link to %s, which does not exist; write that file, or another one", path, link)
		}
	}
	rest := "" // what does not exist yet
	for {
		real, err := filepath.EvalSymlinks(full)
		if err == nil {
			rel, err := filepath.Rel(w.real, filepath.Join(real, rest))
			if err != nil || !filepath.IsLocal(rel) {
				return "", &outsideError{path, w.Root}
			}
			return rel, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || full == w.real {
			return "", fmt.Errorf("%s cannot be written: %w", path, reason(err))
		}
		rest = filepath.Join(filepath.Base(full), rest)
		full = filepath.Dir(full)
	}
}

// reason is what lies below the operation and the path of an error.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// inGit reports whether the name lies in a directory of git's, where a hook or
// a setting runs a program later. Some file systems ignore case, and Windows
// dots and spaces at the end.
func inGit(name string) bool {
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		if strings.EqualFold(strings.TrimRight(part, ". "), ".git") {
			return true
		}
	}
	return false
}

// creatable refuses names that nobody could read or type afterwards.
func creatable(path, name string) error {
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator)) {
		return fmt.Errorf("%s names a directory; give the file to write", path)
	}
	for _, r := range name {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return fmt.Errorf("a file cannot be called %q: control characters and invalid UTF-8 are refused", path)
		}
	}
	return nil
}

// writable refuses what is not a file, and a read-only file: it could be
// replaced, which its mode forbids.
func (w *workspace) writable(root *os.Root, t *target) error {
	switch mode := t.info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%s is a directory, not a file", t.path)
	case !mode.IsRegular():
		return fmt.Errorf("%s is %s; only files can be written", t.path, open.Kind(mode))
	case mode.Perm()&0o222 == 0:
		return fmt.Errorf("%s is read-only (mode %04o); nothing was written", t.path, mode.Perm())
	}
	f, err := root.OpenFile(t.name, os.O_WRONLY|open.Nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be written: permission denied", t.path)
	}
	if err == nil {
		f.Close()
	}
	return nil // a program that runs cannot be opened, and can be replaced
}
