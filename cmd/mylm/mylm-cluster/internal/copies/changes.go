package copies

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/tools"
	"mylm/tools/files"
)

// Kinds of changes.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// Change is what a run did to a file.
type Change struct {
	Name string `json:"name"` // with slashes, relative to the workspace
	Kind string `json:"kind"`
}

// Changes are what a run has changed in its copy, but for .git and for new files that git
// would ignore.
type Changes struct {
	Files   []Change `json:"files"`
	More    int      `json:"more,omitempty"`    // files that are changed, too
	Patch   string   `json:"patch,omitempty"`   // for git apply
	Kept    string   `json:"kept,omitempty"`    // HOST:PATH of the copy, which stays for a week if they are too long for a patch
	Ignored int      `json:"ignored,omitempty"` // new files and directories that git would ignore
}

// maxFiles is how many files are named.
const maxFiles = 10_000

// maxPatch is the longest patch: it becomes an entry of a session, which is read as a whole.
const maxPatch = 16 << 20

// Changes compares a copy with what it was. If they are too long for a patch, there is none;
// then, and if the two cannot be compared, the copy is kept. There is no copy: fs.ErrNotExist.
func (s *Store) Changes(ctx context.Context, id string) (*Changes, error) {
	work, err := s.Dir(id)
	if err != nil {
		return nil, err
	}
	c := &comparison{ctx: ctx, in: work, shown: map[string]map[string]bool{}, changes: &Changes{Files: []Change{}}}
	host, _ := os.Hostname()
	kept := host + ":" + work
	switch err := c.compare(s.path(id, "base")); {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, cmp.Or(s.Keep(id), fmt.Errorf("%v (for a week the copy is at %s)", err, kept))
	case c.long || c.patch.Len() > maxPatch:
		c.changes.Kept = kept
		return c.changes, s.Keep(id)
	}
	c.changes.Patch = c.patch.String()
	return c.changes, nil
}

// comparison is of two trees.
type comparison struct {
	ctx        context.Context
	base, work *os.Root                   // what the run has left may lead anywhere
	in         string                     // the path of work
	shown      map[string]map[string]bool // by directories, what is not ignored in them
	changes    *Changes
	patch      strings.Builder
	long       bool // for a patch
}

// compare compares work with base, which is at a path.
func (c *comparison) compare(base string) (err error) {
	if c.base, err = os.OpenRoot(base); err != nil {
		return err
	}
	defer c.base.Close()
	if c.work, err = os.OpenRoot(c.in); err != nil {
		return err
	}
	defer c.work.Close()
	was, err := c.base.Lstat(".")
	if err != nil {
		return err
	}
	is, err := c.work.Lstat(".")
	if err != nil {
		return err
	}
	return c.dir(".", was, is)
}

// allow lets the worker do with a file or a directory, which is its own, what the run has
// forbidden everybody.
func allow(root *os.Root, name string, info fs.FileInfo, mode fs.FileMode) error {
	if info.Mode()&mode == mode {
		return nil
	}
	return root.Chmod(name, info.Mode().Perm()|mode)
}

// entries are those of a directory, none of what is no directory.
func entries(root *os.Root, name string, info fs.FileInfo) (map[string]fs.FileInfo, error) {
	all := map[string]fs.FileInfo{}
	if !isDir(info) {
		return all, nil
	}
	if err := allow(root, name, info, 0o500); err != nil {
		return all, err
	}
	d, err := root.Open(name)
	if err != nil {
		return all, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	if err != nil {
		return all, err
	}
	for _, e := range list {
		info, err := e.Info()
		switch {
		case e.Name() == ".git", errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return all, err
		default:
			all[e.Name()] = info
		}
	}
	return all, nil
}

func isDir(info fs.FileInfo) bool { return info != nil && info.IsDir() }

// dir compares what is in a directory; was and is tell whether it is one.
func (c *comparison) dir(name string, was, is fs.FileInfo) error {
	before, err := entries(c.base, name, was)
	if err != nil {
		return err
	}
	after, err := entries(c.work, name, is)
	if err != nil {
		return err
	}
	names := []string{}
	for of := range before {
		names = append(names, of)
	}
	for of := range after {
		if before[of] == nil {
			names = append(names, of)
		}
	}
	slices.Sort(names)
	for _, of := range names {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if err := c.entry(filepath.Join(name, of), before[of], after[of]); err != nil {
			return err
		}
	}
	return nil
}

// entry compares what there is of a name, nil if there is nothing.
func (c *comparison) entry(name string, before, after fs.FileInfo) error {
	if before == nil && c.ignored(name, after.IsDir()) {
		c.changes.Ignored++
		return nil
	}
	if isDir(before) || isDir(after) {
		if err := c.dir(name, before, after); err != nil {
			return err
		}
	}
	was, is := plain(before), plain(after)
	if was == is && (was == "" || same(before, after)) {
		return nil
	}
	old, err := c.content(c.base, name, was)
	if err != nil {
		return err
	}
	now, err := c.content(c.work, name, is)
	if err != nil || old != nil && now != nil && was == is && bytes.Equal(old, now) {
		return err
	}
	kind := Changed
	switch {
	case was == "":
		kind = Added
	case is == "":
		kind = Removed
	}
	name = filepath.ToSlash(name)
	if len(c.changes.Files) < maxFiles {
		c.changes.Files = append(c.changes.Files, Change{strings.ToValidUTF8(name, "\uFFFD"), kind})
	} else {
		c.changes.More++
		c.long = true
	}
	if c.long = c.long || c.patch.Len() > maxPatch; !c.long {
		writePatch(&c.patch, name, version{was, old}, version{is, now})
	}
	return nil
}

// plain is the mode that git has for a file or a link, "" for anything else.
func plain(info fs.FileInfo) string {
	switch {
	case info == nil:
		return ""
	case info.Mode()&fs.ModeSymlink != 0:
		return "120000"
	case info.Mode().IsRegular() && info.Mode()&0o100 != 0:
		return "100755"
	case info.Mode().IsRegular():
		return "100644"
	}
	return ""
}

// same reports whether a file was not written to: a copy has the size and the time of the
// original. Links are read.
func same(before, after fs.FileInfo) bool {
	return before.Mode().IsRegular() && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime())
}

// content is what a file has, or where a link leads to. What is too long for a patch has none.
func (c *comparison) content(root *os.Root, name, mode string) ([]byte, error) {
	switch mode {
	case "":
		return nil, nil
	case "120000":
		target, err := root.Readlink(name)
		return []byte(target), err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxPatch {
		c.long = true
		return nil, nil
	}
	if err := allow(root, name, info, 0o400); err != nil {
		return nil, err
	}
	return root.ReadFile(name)
}

// ignored reports whether git would ignore something that is new.
func (c *comparison) ignored(name string, dir bool) bool {
	in := filepath.Dir(name)
	shown := c.shown[in]
	if shown == nil {
		shown = map[string]bool{}
		list, err := files.Names(c.ctx, files.Options{Root: c.in}, in)
		if err != nil { // who reads the changes sees too many of them
			list = nil
			shown[""] = true
		}
		for _, of := range list {
			shown[of] = true
		}
		c.shown[in] = shown
	}
	base := filepath.Base(name)
	if dir {
		base += "/"
	}
	return !shown[""] && !shown[base]
}

// Counted is what the changes are in a few words, "" if there are none.
func (c *Changes) Counted() string {
	n := map[string]int{}
	for _, f := range c.Files {
		n[f.Kind]++
	}
	var parts []string
	for _, kind := range []string{Added, Changed, Removed} {
		if n[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", tools.Count(n[kind], "file"), kind))
		}
	}
	if c.More > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", c.More))
	}
	return strings.Join(parts, ", ")
}
