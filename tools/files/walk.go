package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxListed bounds the entries of one directory that are looked at: they are
// held in memory to be sorted.
const maxListed = 100_000

// walk looks at all files below a directory, sorted by name, as far as git
// would: without .git and what is ignored. Links are not followed.
type walk struct {
	ctx    context.Context
	root   *os.Root
	base   string // where the walk begins
	prefix string // the path of base from where the rules begin
	visit  func(name string, e fs.DirEntry) error
	closed func(name string) bool // no part of the workspace

	ignored int      // entries that were left out
	unread  int      // directories that could not be read
	cut     []string // directories with more entries than maxListed
}

// errEnough ends a walk that has found what it may.
var errEnough = errors.New("enough")

// newWalk prepares a walk of the directory name, and returns the rules that
// hold there.
func (w *workspace) newWalk(ctx context.Context, root *os.Root, name string, visit func(string, fs.DirEntry) error) (*walk, []ruleset) {
	sets, prefix := w.rulesFor(ctx, filepath.Join(w.real, name))
	return &walk{ctx: ctx, root: root, base: name, prefix: prefix, visit: visit, closed: w.closed}, sets
}

// visible are the entries of a directory that git would look at, as far as it
// can be read, and the rules that hold below it.
func (k *walk) visible(name string, sets []ruleset) ([]fs.DirEntry, []ruleset, error) {
	entries, err := k.entries(name)
	for _, e := range entries {
		if e.Name() == ignoreName {
			if rules := readIgnore(k.root, filepath.Join(name, ignoreName)); len(rules) > 0 {
				sets = append(slices.Clip(sets), ruleset{k.full(name), rules})
			}
		}
	}
	seen := entries[:0]
	for _, e := range entries {
		if k.ctx.Err() != nil {
			break
		}
		switch {
		case e.Name() == ".git", e.IsDir() && k.closed(filepath.Join(name, e.Name())):
		case ignored(sets, k.full(filepath.Join(name, e.Name())), e.IsDir()):
			k.ignored++
		default:
			seen = append(seen, e)
		}
	}
	return seen, sets, err
}

// dir walks one directory. Its rules hold below it only.
func (k *walk) dir(name string, sets []ruleset) error {
	entries, sets, err := k.visible(name, sets)
	if k.ctx.Err() != nil {
		return context.Cause(k.ctx)
	}
	if err != nil {
		k.unread++
	}
	for _, e := range entries {
		if err := k.ctx.Err(); err != nil {
			return context.Cause(k.ctx)
		}
		below := filepath.Join(name, e.Name())
		err := k.visit(below, e)
		if err == nil && e.IsDir() {
			err = k.dir(below, sets)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// full is the path that rules are matched with.
func (k *walk) full(name string) string {
	if k.base != "." {
		name = strings.TrimPrefix(name, k.base)
	}
	return strings.TrimPrefix(path.Join("/", k.prefix, filepath.ToSlash(name)), "/")
}

func (k *walk) entries(name string) (all []fs.DirEntry, err error) {
	f, err := k.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for err == nil && k.ctx.Err() == nil {
		var batch []fs.DirEntry
		batch, err = f.ReadDir(1024)
		all = append(all, batch...)
		if len(all) > maxListed {
			k.cut = append(k.cut, name)
			err = io.EOF
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if err == io.EOF {
		err = nil
	}
	return all, err
}

// notes say what the walk has left out.
func (k *walk) notes(verb string) (notes []string) {
	if k.unread > 0 {
		notes = append(notes, fmt.Sprintf("%s could not be read", directories(k.unread)))
	}
	for _, dir := range k.cut {
		notes = append(notes, fmt.Sprintf("of %s only %d entries were %s", printable(filepath.ToSlash(dir)), maxListed, verb))
	}
	return notes
}

func directories(n int) string {
	if n == 1 {
		return "1 directory"
	}
	return fmt.Sprintf("%d directories", n)
}
