package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxSiblings is how many entries of one directory a tree shows, so that one
// full of pictures leaves room for the others.
const maxSiblings = 50

// Tree returns what is in the workspace as an indented list, without .git and
// what is ignored: "./" first, then an entry a line, directories with a trailing
// slash and links with a trailing arrow. What lies deeper is shown as far as
// there is room for it; a line in square brackets replaces the rest. whole
// reports whether everything is shown. Of o, Root, MaxEntries and MaxBytes
// count; MaxBytes is never exceeded.
//
// Names are as foreign as contents are: the caller that puts them into a prompt
// must neutralise them.
func Tree(ctx context.Context, o Options) (text string, whole bool, err error) {
	w, err := newWorkspace(o)
	if err != nil {
		return "", false, fmt.Errorf("the tree: %w", err)
	}
	top := &branch{name: "."}
	_, err = waitFor(ctx, w.Root, func() (struct{}, error) { return struct{}{}, w.grow(ctx, top) })
	if err != nil {
		return "", false, err
	}
	var b strings.Builder
	b.WriteString("./\n")
	top.write(&b)
	return strings.TrimSuffix(b.String(), "\n"), !top.cut(), nil
}

// branch is a directory of a tree.
type branch struct {
	name    string // below the root
	depth   int
	sets    []ruleset
	entries []fs.DirEntry
	hidden  int                // entries that are not shown
	closed  bool               // it could not be read
	below   map[string]*branch // directories by their names
	unseen  bool               // there was no room for what is in it
}

// grow fills the tree level by level, so that what lies high is shown first.
func (w *workspace) grow(ctx context.Context, top *branch) error {
	root, err := w.open()
	if err != nil {
		return err
	}
	defer root.Close()
	k, sets := w.newWalk(ctx, root, ".", nil)
	top.sets = sets
	room := room{entries: w.MaxEntries, bytes: w.MaxBytes - len("./\n")}
	for level := []*branch{top}; len(level) > 0; {
		var next []*branch
		for _, b := range level {
			if room.entries < 1 || room.bytes < b.reserve() {
				b.unseen = true
				continue
			}
			children, err := b.fill(k, &room)
			if err != nil {
				return err
			}
			next = append(next, children...)
		}
		level = next
	}
	return nil
}

// room is what is left of the bounds.
type room struct{ entries, bytes int }

// Marks of what is not shown: instead of a directory's entries, and behind the name
// of one.
const (
	closedNote = "[it cannot be read]\n" // no other line is longer
	unseenMark = " [...]"
)

// reserve is what the last line of a directory may take.
func (b *branch) reserve() int { return b.indent() + len(closedNote) }

// fill reads a directory and keeps what there is room for. It returns the
// directories in it.
func (b *branch) fill(k *walk, room *room) (children []*branch, err error) {
	entries, sets, err := k.visible(b.name, b.sets)
	if k.ctx.Err() != nil {
		return nil, context.Cause(k.ctx)
	}
	b.closed = err != nil
	room.bytes -= b.reserve()
	b.below = map[string]*branch{}
	for i, e := range entries {
		cost := b.indent() + len(treeLabel(e)) + 1
		if e.IsDir() {
			cost += len(unseenMark)
		}
		if i == maxSiblings || room.entries < 1 || room.bytes < cost {
			b.hidden = len(entries) - i
			break
		}
		room.entries--
		room.bytes -= cost
		b.entries = append(b.entries, e)
		if e.IsDir() {
			child := &branch{name: filepath.Join(b.name, e.Name()), depth: b.depth + 1, sets: sets}
			b.below[e.Name()] = child
			children = append(children, child)
		}
	}
	if !b.closed && b.hidden == 0 {
		room.bytes += b.reserve()
	}
	return children, nil
}

func (b *branch) indent() int { return 2 * (b.depth + 1) }

func treeLabel(e fs.DirEntry) string {
	name := label(e.Name(), e.Type())
	if e.Type()&fs.ModeSymlink != 0 {
		name += " ->"
	}
	return name
}

// cut reports whether anything is missing.
func (b *branch) cut() bool {
	if b.hidden > 0 || b.unseen || b.closed {
		return true
	}
	for _, c := range b.below {
		if c.cut() {
			return true
		}
	}
	return false
}

func (b *branch) write(out *strings.Builder) {
	indent := strings.Repeat(" ", b.indent())
	for _, e := range b.entries {
		out.WriteString(indent + treeLabel(e))
		if c := b.below[e.Name()]; c != nil && c.unseen {
			out.WriteString(unseenMark)
		}
		out.WriteString("\n")
		if c := b.below[e.Name()]; c != nil {
			c.write(out)
		}
	}
	switch {
	case b.closed:
		out.WriteString(indent + closedNote)
	case b.hidden > 0:
		fmt.Fprintf(out, "%s[%d more]\n", indent, b.hidden)
	}
}

// maxListed limits the entries of one directory that are visited: they are held in
// memory to be sorted.
const maxListed = 100_000

// walk visits all files below a directory, sorted by name, as far as git would:
// without .git and what is ignored. Links are not followed.
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
	sets, prefix := rulesFor(filepath.Join(w.real, name))
	return &walk{ctx: ctx, root: root, base: name, prefix: prefix, visit: visit, closed: w.closed}, sets
}

// visible are the entries of a directory that git would not ignore, as far as
// it can be read, and the rules that apply below it.
func (k *walk) visible(name string, sets []ruleset) ([]fs.DirEntry, []ruleset, error) {
	entries, total, err := readDir(k.ctx, k.root, name, maxListed)
	if total > len(entries) {
		k.cut = append(k.cut, name)
	}
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

// notes report what the walk has omitted.
func (k *walk) notes(verb string) (notes []string) {
	if k.unread > 0 {
		notes = append(notes, fmt.Sprintf("could not be read: %d of the directories", k.unread))
	}
	for _, dir := range k.cut {
		notes = append(notes, fmt.Sprintf("of %s only %d entries were %s", printable(filepath.ToSlash(dir)), maxListed, verb))
	}
	return notes
}
