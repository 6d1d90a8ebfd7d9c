package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"mylm/tools"
)

func find(ctx context.Context, r reading, in findInput) (tools.Result, error) {
	if strings.TrimSpace(in.Pattern) == "" {
		return tools.Result{}, errors.New("the pattern is empty; give a glob like **/*.go")
	}
	_, pattern := splitGlob(in.Pattern)
	if err := checkGlob(pattern); err != nil {
		return tools.Result{}, err
	}
	name, err := r.dir()
	if err != nil {
		return tools.Result{}, err
	}
	f := &finder{workspace: r.workspace, pattern: pattern}
	limited, cancel := context.WithTimeoutCause(ctx, f.MaxTime, errEnough)
	defer cancel()
	k, sets := f.newWalk(limited, r.root, name, func(at string, e fs.DirEntry) error {
		rel, err := filepath.Rel(name, at)
		if err != nil || !doublestar.MatchUnvalidated(f.pattern, filepath.ToSlash(rel)) {
			return err
		}
		f.take(at, e)
		return nil
	})
	err = k.dir(name, sets)
	if late := errors.Is(err, errEnough); late || err == nil {
		return f.result(k, late), nil
	}
	return tools.Result{}, err
}

// splitGlob cuts a glob into the directory that it begins with and the rest.
func splitGlob(pattern string) (base, rest string) {
	pattern = path.Clean(pattern)
	if !strings.Contains(pattern, "/") {
		return ".", "**/" + pattern
	}
	return doublestar.SplitPattern(pattern)
}

const (
	maxGlob = 1000

	// maxExpanded bounds what the braces of a glob multiply to: each way is
	// tried on each name.
	maxExpanded = 256
)

func checkGlob(pattern string) error {
	ways, choices, depth := 1, 1, 0
	for i := 0; i < len(pattern) && ways <= maxExpanded; i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			depth++
		case c == ',' && depth > 0:
			choices++
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				ways, choices = ways*choices, 1
			}
		}
	}
	switch {
	case len(pattern) > maxGlob:
		return fmt.Errorf("the glob is %d bytes long, more than %d; give a shorter one", len(pattern), maxGlob)
	case ways > maxExpanded:
		return fmt.Errorf("the braces of the glob expand to more than %d patterns; use several calls", maxExpanded)
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("%q is not a valid glob; a bracket or brace may not be closed (escape a literal one with a backslash)", pattern)
	case strings.Contains("/"+pattern+"/", "/../"):
		return fmt.Errorf("%q has .. behind a wildcard; begin the pattern with the directory itself", pattern)
	}
	return nil
}

// finder is one run of find_files.
type finder struct {
	*workspace
	pattern string
	found   []string
	total   int
	dirs    []string // directories that match
}

func (f *finder) take(name string, e fs.DirEntry) {
	shown := f.shown(name)
	if e.IsDir() {
		if len(f.dirs) < offered {
			f.dirs = append(f.dirs, shown+"/")
		}
		return
	}
	if f.total++; len(f.found) < f.MaxEntries {
		f.found = append(f.found, shown)
	}
}

// shown is a name as the model can use it again.
func (w *workspace) shown(name string) string {
	if w.outside {
		name = filepath.Join(w.Root, name)
	}
	return printable(filepath.ToSlash(name))
}

func (f *finder) result(k *walk, late bool) tools.Result {
	lines := f.found
	notes := k.notes("looked at")
	if late {
		notes = append(notes, fmt.Sprintf("stopped after %v; begin the pattern with a directory", f.MaxTime))
	}
	switch {
	case f.total > len(f.found):
		notes = append([]string{fmt.Sprintf("%d of %d files; %d more are not shown", len(f.found), f.total, f.total-len(f.found))}, notes...)
	case f.total == 0 && len(f.dirs) > 0:
		lines = []string{"(no file matches, but directories do: " + strings.Join(f.dirs, ", ") + ")"}
	case f.total == 0 && k.ignored > 0:
		lines = []string{"(no file matches; what .gitignore names was left out)"}
	case f.total == 0:
		lines = []string{"(no file matches)"}
	}
	if len(notes) > 0 {
		lines = append(lines, "["+strings.Join(notes, "; ")+"]")
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Origin: tools.Workspace, Truncated: f.total > len(f.found) || len(notes) > 0}
}
