package files

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxSiblings is how many entries of one directory a tree shows, so that one
// full of pictures leaves room for the others.
const maxSiblings = 50

// Tree returns what is in the workspace as an indented list, without .git and
// what is ignored: "./" first, then an entry a line, directories with a trailing
// slash and links with a trailing arrow. What lies deeper is shown as far as
// there is room for it; a line in square brackets stands for what is not. whole
// reports whether everything is shown. Of o, Root, MaxEntries and MaxBytes
// count; MaxBytes is never exceeded.
//
// Names are as foreign as contents are: whoever puts them into a prompt
// neutralises them.
func Tree(ctx context.Context, o Options) (text string, whole bool, err error) {
	w, err := newWorkspace(o)
	if err != nil {
		return "", false, fmt.Errorf("the tree: %w", err)
	}
	top := &branch{name: "."}
	_, err = patiently(ctx, w.Root, func() (struct{}, error) { return struct{}{}, w.grow(ctx, top) })
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

// What stands for what is not shown: of a directory's entries, and behind the
// name of one.
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
