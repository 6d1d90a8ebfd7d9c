package files

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mylm/tools"
	"mylm/tools/files/internal/open"
)

func list(ctx context.Context, r reading, _ listInput) (tools.Result, error) {
	name, err := r.dir()
	if err != nil {
		return tools.Result{}, err
	}
	entries, total, err := readDir(ctx, r.root, name, r.MaxEntries)
	if err != nil {
		return tools.Result{}, r.explain(r.root, r.path, name, err)
	}
	if total == 0 {
		return tools.Result{Text: fmt.Sprintf("(%s is empty)", r.path), Origin: tools.Workspace}, nil
	}
	lines := make([]string, 0, len(entries)+1)
	for _, e := range entries {
		lines = append(lines, describe(r.root, name, e))
	}
	if total > len(entries) {
		lines = append(lines, fmt.Sprintf("[%d of %d entries; %d more are not shown]", len(entries), total, total-len(entries)))
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Origin: tools.Workspace, Truncated: total > len(entries)}, nil
}

// readDir returns the first entries of a directory by name, at most most, and the
// number of all. It does not hold many more than that in memory. After an
// error the entries are those that could be read.
func readDir(ctx context.Context, root *os.Root, name string, most int) (first []fs.DirEntry, total int, err error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	for err == nil {
		var batch []fs.DirEntry
		batch, err = f.ReadDir(1024)
		total += len(batch)
		first = append(first, batch...)
		err = cmp.Or(err, ctx.Err())
		if err != nil || len(first) > 2*most+1024 {
			slices.SortFunc(first, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			first = first[:min(len(first), most)]
		}
	}
	if err == io.EOF {
		err = nil
	}
	return first, total, err
}

func describe(root *os.Root, dir string, e fs.DirEntry) string {
	name := label(e.Name(), e.Type())
	path := filepath.Join(dir, e.Name())
	switch {
	case e.IsDir():
		return name
	case e.Type()&fs.ModeSymlink != 0:
		target, err := root.Readlink(path)
		if err != nil {
			return name + " -> (unreadable)"
		}
		mode := fs.FileMode(0)
		if info, err := root.Stat(path); err == nil {
			mode = info.Mode()
		}
		return name + " -> " + label(filepath.ToSlash(target), mode)
	case !e.Type().IsRegular():
		return fmt.Sprintf("%s (%s)", name, open.Kind(e.Type()))
	}
	info, err := root.Lstat(path)
	if err != nil {
		return name + " (size unknown)"
	}
	return fmt.Sprintf("%s (%d bytes)", name, info.Size())
}

// printable returns a name that holds control or hidden characters or invalid
// UTF-8 in quotes, so that every entry is one line and shows what it is.
func printable(name string) string {
	switch {
	case strings.ContainsFunc(name, tools.Hidden):
		return strconv.QuoteToASCII(name) // Quote leaves some of them as they are
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return strconv.Quote(name)
	}
	return name
}

// label is a name as the model sees it: one line, a directory with a slash.
func label(name string, mode fs.FileMode) string {
	name = printable(name)
	if mode.IsDir() {
		name += "/"
	}
	return name
}
