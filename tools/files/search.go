package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"mylm/tools"
	"mylm/tools/files/internal/open"
)

func search(ctx context.Context, r reading, in searchInput) (tools.Result, error) {
	s := &searcher{workspace: r.workspace, glob: in.Glob, lineReader: lineReader{in: bufio.NewReaderSize(nil, 64<<10)}}
	if err := s.compile(in.Pattern); err != nil {
		return tools.Result{}, err
	}
	if in.Glob != "" {
		if err := checkGlob(in.Glob); err != nil {
			return tools.Result{}, err
		}
	}
	name, info, err := r.stat(r.root, r.path)
	if err != nil {
		return tools.Result{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.MaxTime, errLate)
	defer cancel()
	s.base = name
	if !info.IsDir() {
		f, _, err := r.openFile(r.root, r.path)
		if err != nil {
			return tools.Result{}, err
		}
		return s.result(nil, s.file(limited, name, f))
	}
	k, sets := s.newWalk(limited, r.root, name, func(at string, e fs.DirEntry) error {
		if !e.Type().IsRegular() || !s.wanted(at) {
			return nil
		}
		f, err := r.root.OpenFile(at, os.O_RDONLY|open.Nonblock, 0)
		if err != nil {
			s.unread++
			return nil
		}
		return s.file(limited, at, f)
	})
	return s.result(k, k.dir(name, sets))
}

// Bounds of a pattern. Matching takes as many steps as the line has bytes and
// the program instructions, and nothing interrupts it: 2^28 take seconds.
const (
	maxInstructions = 5000
	maxSteps        = 1 << 28
	maxLine         = 1 << 20
)

func (s *searcher) compile(pattern string) error {
	if pattern == "" {
		return errors.New("the pattern is empty; give what to search for")
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Errorf("%w; to find such characters as they are, put a backslash before each", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if n := len(program.Inst); n > maxInstructions {
		return fmt.Errorf("the pattern is too large (%d instructions; at most %d are allowed); use smaller repetitions", n, maxInstructions)
	}
	s.most = min(maxLine, maxSteps/len(program.Inst))
	s.re, err = regexp.Compile(pattern)
	return err
}

// searcher is one run of search_files.
type searcher struct {
	*workspace
	re         *regexp.Regexp
	lineReader // of which each line is searched as far as it is kept
	glob       string

	base  string // where the search began
	found []string
	bytes int

	files  int // searched
	binary int // not searched
	unread int // could not be opened
	long   int // lines that were searched in part
	large  int // files that were searched in part
}

// errLate ends a search that takes too long.
var errLate = errors.New("late")

// wanted reports whether the glob matches: the name alone if it has no slash,
// else the path from where the search began, or from the workspace.
func (s *searcher) wanted(name string) bool {
	if s.glob == "" {
		return true
	}
	if !strings.Contains(s.glob, "/") {
		return doublestar.MatchUnvalidated(s.glob, filepath.Base(name))
	}
	rel, err := filepath.Rel(s.base, name)
	return err == nil && doublestar.MatchUnvalidated(s.glob, filepath.ToSlash(rel)) ||
		doublestar.MatchUnvalidated(strings.TrimPrefix(s.glob, "/"), filepath.ToSlash(name))
}

// file searches one file, and closes it.
func (s *searcher) file(ctx context.Context, name string, f *os.File) error {
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		s.unread++
		return nil
	}
	s.in.Reset(f)
	if sample, _ := s.in.Peek(tools.Sampled); tools.Binary(sample) {
		s.binary++
		return nil
	}
	s.files++
	for n, read := 1, 0; ; n++ {
		ok, err := s.next(ctx, true)
		if ctx.Err() != nil {
			return err
		}
		if !ok { // a file that cannot be read ends there
			return nil
		}
		if s.size > s.most {
			s.long++
		}
		s.line = bytes.TrimSuffix(s.line, []byte{'\r'})
		if loc := s.re.FindIndex(s.line); loc != nil && !s.take(name, n, loc) {
			return errEnough
		}
		if read += s.size + 1; read > counted {
			s.large++
			return nil
		}
	}
}

// maxExcerpt is how much of a line a match shows; before it, at most a third.
const maxExcerpt = 200

// take adds the line to what was found, if it fits.
func (s *searcher) take(name string, n int, loc []int) bool {
	from := 0
	if len(s.line) > maxExcerpt {
		from = max(0, min(loc[0]-maxExcerpt/3, len(s.line)-maxExcerpt))
	}
	text := strings.ToValidUTF8(string(s.line[from:min(len(s.line), from+maxExcerpt)]), "")
	if from > 0 {
		text = "…" + text
	}
	if from+maxExcerpt < len(s.line) {
		text += "…"
	}
	text = fmt.Sprintf("%s:%d: %s", s.shown(name), n, text)
	if len(s.found) == s.MaxMatches || len(s.found) > 0 && s.bytes+len(text) > s.MaxBytes {
		return false
	}
	s.found = append(s.found, text)
	s.bytes += len(text) + 1
	return true
}

// result is what was found by the time the search ended, for whatever reason.
func (s *searcher) result(k *walk, err error) (tools.Result, error) {
	var notes []string
	switch {
	case errors.Is(err, errEnough):
		notes = append(notes, fmt.Sprintf("the first %d; there are more: narrow the pattern, the path or the glob", len(s.found)))
	case errors.Is(err, errLate):
		notes = append(notes, fmt.Sprintf("stopped after %v; narrow the path or the glob", s.MaxTime))
	case err != nil:
		return tools.Result{}, err
	}
	if k != nil {
		notes = append(notes, k.notes("searched")...)
	}
	for _, left := range []struct {
		n    int
		what string
	}{
		{s.unread, "could not be read"}, {s.large, fmt.Sprintf("searched in the first %d MiB only", counted>>20)},
	} {
		if left.n > 0 {
			notes = append(notes, tools.Count(left.n, "file")+" "+left.what)
		}
	}
	if s.long > 0 {
		notes = append(notes, fmt.Sprintf("%s searched in the first %d KiB only", tools.Count(s.long, "line"), s.most>>10))
	}
	partial := len(notes) > 0
	lines := s.found
	if len(lines) == 0 {
		lines = []string{fmt.Sprintf("(no line matches in %s)", tools.Count(s.files, "file"))}
		if s.binary > 0 {
			notes = append(notes, tools.Count(s.binary, "binary file")+" not searched")
		}
		if k != nil && k.ignored > 0 {
			notes = append(notes, "what .gitignore names was left out")
		}
	}
	if len(notes) > 0 {
		lines = append(lines, "["+strings.Join(notes, "; ")+"]")
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Origin: tools.Workspace, Truncated: partial}, nil
}
