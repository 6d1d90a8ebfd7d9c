package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mylm/tools/command"
)

// term is a word of a command as rules see it.
type term struct {
	spellings []string // the first one is the word itself
	flag      bool
	optional  bool // it stands behind a flag, and may be its value
}

// program is the word as the name of a program, with its directory and without.
func (t term) program() (out []string) {
	for _, name := range t.spellings {
		out = append(out, name, path.Base(strings.ReplaceAll(name, `\`, "/")))
	}
	return out
}

// speller knows in which ways a file may be named.
type speller struct {
	root, home string
	dirs       []string // where commands may be, the first one where the line runs
	roots      []string // the names of the workspace: it may be reached through a link
	known      map[string][]string
	looked     int  // how often it was asked what a file is
	globs      int  // how many patterns were tried out
	lost       bool // a bound was reached
}

// maxLooked, maxGlobs and maxDirs bound what is looked at for one line. Nobody means to
// write more.
const (
	maxLooked = 300_000
	maxGlobs  = 200
	maxDirs   = 50
)

func spellerOf(at command.Place) *speller {
	s := &speller{root: at.Root, dirs: []string{at.Dir}, known: map[string][]string{}}
	if at.Dir == "" {
		s.dirs[0] = s.root
	}
	if s.root != "" {
		s.roots = []string{s.root}
		if real, err := filepath.EvalSymlinks(s.root); err == nil && real != s.root {
			s.roots = append(s.roots, real)
		}
	}
	for _, kv := range at.Env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok && path.IsAbs(v) {
			s.home = path.Clean(v)
		}
	}
	return s
}

// enter notes where a command leads those behind it: cd, and the flag -C of many. It may not get there, or only
// its shell does, so that where they were before counts too.
func (s *speller) enter(words []string) {
	if len(words) == 0 {
		return
	}
	name := path.Base(words[0])
	if name == "cd" || name == "pushd" {
		dir := "~"
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") {
				dir = w
			}
		}
		s.enterDir(dir)
		return
	}
	for i, w := range words {
		dir, long := strings.CutPrefix(w, "--chdir=")
		if w == "-C" && i+1 < len(words) {
			dir, long = words[i+1], true
		}
		if long {
			s.enterDir(dir)
		}
	}
}

func (s *speller) enterDir(dir string) {
	for _, home := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(dir, home); ok && s.home != "" && (rest == "" || rest[0] == '/') {
			dir = s.home + rest
		}
	}
	for _, from := range []string{s.dirs[0], s.dirs[len(s.dirs)-1]} {
		to := filepath.Clean(dir)
		if !filepath.IsAbs(to) {
			to = filepath.Join(from, to)
		}
		if i := slices.Index(s.dirs, to); i > 0 {
			s.dirs = slices.Delete(s.dirs, i, i+1) // it is the last one again
		} else if i == 0 {
			continue
		}
		s.dirs = append(s.dirs, to)
	}
	s.lost = s.lost || len(s.dirs) > maxDirs
	clear(s.known)
}

// runners take each of their words for one more thing to do.
var runners = strings.Fields("make gmake ninja just task rake gradle gradlew mvn mvnw")

// terms reads the words of a command. If it may start another, what looks like a flag behind -- is one of that.
func (s *speller) terms(words []string, starts bool) (out []term) {
	operands := false
	for i, w := range words {
		t := term{spellings: []string{w}}
		switch {
		case i == 0:
			if isPattern(w) {
				t.spellings = s.file(w)
			}
		case w == "--" && !operands:
			operands = !starts
			continue
		case strings.HasPrefix(w, "-") && !operands:
			t.flag = true
			if _, value, ok := strings.Cut(w, "="); ok && value != "" {
				t.spellings = append(t.spellings, s.file(value)...)
			}
		default:
			t.spellings = s.file(w)
			before := words[i-1]
			t.optional = !operands && i > 1 && strings.HasPrefix(before, "-") && before != "--" && !strings.Contains(before, "=") || slices.Contains(runners, path.Base(words[0]))
		}
		out = append(out, t)
	}
	return out
}

// maxPath is how long a text may be to be taken for a path: no system that is known has longer ones.
const maxPath = 4096

// file are the ways in which a rule may name what a text names: as it is, and, as a path, without detours, from the
// home directory if it is there, from the workspace, and with its links followed. A pattern is what it stands for, too.
func (s *speller) file(text string) []string {
	out, ok := s.known[text]
	if !ok {
		out = s.names(text)
		s.known[text] = out
	}
	return out
}

func (s *speller) names(text string) []string {
	out := []string{text}
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, "\n\x00") || strings.Contains(text, "://") {
		return out
	}
	add := func(path string) {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	rest, home := strings.CutPrefix(text, "~/")
	switch {
	case strings.HasPrefix(text, "~") || strings.HasPrefix(text, "$"):
		add(path.Clean(text))
		if !home || s.home == "" {
			return out
		}
		text = s.home + "/" + rest
	case strings.Contains(text, "/"):
		add(path.Clean(text))
	}
	if s.root == "" {
		s.add(path.Clean(text), add)
		return out
	}
	for _, dir := range s.dirs {
		file := text
		if !filepath.IsAbs(text) {
			file = dir + "/" + text
		}
		s.look(file, add)
		for _, match := range s.matches(file) {
			s.look(match, add)
		}
		if file == text {
			break
		}
	}
	return out
}

// look adds the names of one file.
func (s *speller) look(file string, add func(string)) {
	if s.looked++; s.looked > maxLooked {
		s.lost = true
		return
	}
	s.add(filepath.Clean(file), add)
	if real, err := followed(file); err == nil {
		s.add(real, add)
	}
}

func isPattern(text string) bool { return strings.ContainsAny(text, "*?[") }

// matches are the files that a pattern stands for, if it is one in at most two of
// its elements: more may be without end.
func (s *speller) matches(file string) []string {
	patterns := 0
	for element := range strings.SplitSeq(filepath.ToSlash(file), "/") {
		if isPattern(element) {
			patterns++
		}
	}
	if patterns == 0 || patterns > 2 {
		return nil
	}
	if s.globs++; s.globs > maxGlobs {
		s.lost = true
		return nil
	}
	matches, _ := filepath.Glob(file) // a broken one stands for itself
	return matches
}

// add adds a path as it is seen from the root, the home directory and the
// workspace.
func (s *speller) add(clean string, add func(string)) {
	if filepath.IsAbs(clean) {
		add(clean)
	}
	if rest, ok := strings.CutPrefix(clean, s.home); s.home != "" && s.home != "/" && ok && (rest == "" || rest[0] == '/') {
		add("~" + rest)
	}
	for _, root := range s.roots {
		if rel, err := filepath.Rel(root, clean); err == nil && filepath.IsLocal(rel) {
			add(filepath.ToSlash(rel))
		}
	}
}

// followed is a path with its links followed, also if only its directory is
// there.
func followed(text string) (string, error) {
	real, err := filepath.EvalSymlinks(text)
	if err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(text))
	return filepath.Join(dir, filepath.Base(text)), err
}
