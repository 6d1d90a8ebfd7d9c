package cmdline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// Unread is the error of a file that cannot be opened, and what to do about it. by is the
// flag that names it, "" if it is an argument.
func Unread(by, path string, err error) *failure.Error {
	var where *fs.PathError
	if errors.As(err, &where) { // it repeats the path
		err = where.Err
	}
	f := failure.Usage("%s: %w", strings.TrimSpace(by+" "+term.Echoed(path)), err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Hint = whereIs(path)
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "ls -l " + term.ShellQuote(term.Echoed(path)) + " shows who may read it."
	}
	return f
}

// maxSiblings is how many files of a directory are looked at for the one that was meant.
const maxSiblings = 2000

// whereIs is what to do about a file that does not exist.
func whereIs(path string) string {
	dir, name := filepath.Split(path)
	at, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	shown := term.Echoed(at)
	d, err := os.Open(at)
	if err != nil {
		return "There is no directory " + shown + "."
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxSiblings)
	if near := sibling(name, names); near != "" {
		return "Did you mean " + term.Echoed(dir+near) + "?"
	}
	return "There is no such file in " + shown + ": check the name, or give the whole path."
}

// sibling is the file that a wrong name was probably meant to be, or "". An extension that
// both have makes them no more alike.
func sibling(name string, names []string) string {
	ext := filepath.Ext(name)
	var stems, others []string
	for _, n := range names {
		if stem, ok := strings.CutSuffix(n, ext); ok && ext != "" {
			stems = append(stems, stem)
		} else {
			others = append(others, n)
		}
	}
	if near := failure.Near(strings.TrimSuffix(name, ext), stems); near != "" {
		return near + ext
	}
	return failure.Near(name, others)
}
