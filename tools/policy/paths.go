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
	forms    []string // the first one is the word itself
	flag     bool
	optional bool // it follows a flag, and may be its value
}

// program is the word as the name of a program, with its directory and without.
func (t term) program() []string {
	name := t.forms[0]
	return []string{name, path.Base(strings.ReplaceAll(name, `\`, "/"))}
}

// pathForms finds the ways in which a rule may name a file.
type pathForms struct {
	home  string
	roots []string // the names of the workspace: it may be reached through a link
	dirs  []string // where commands may be: cd may not get there, so that earlier ones count too
	known map[string][]string
}

// maxDirs bounds the directories that one line goes to, maxPath how long a text may be
// to be taken for a path.
const (
	maxDirs = 20
	maxPath = 4096
)

func pathFormsAt(at command.Place) *pathForms {
	s := &pathForms{known: map[string][]string{}}
	if at.Root != "" {
		s.dirs, s.roots = []string{at.Root}, []string{at.Root}
		if at.Dir != "" {
			s.dirs[0] = at.Dir
		}
		if real, err := filepath.EvalSymlinks(at.Root); err == nil && real != at.Root {
			s.roots = append(s.roots, real)
		}
	}
	for _, kv := range at.Env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok && path.IsAbs(v) && v != "/" {
			s.home = path.Clean(v)
		}
	}
	return s
}

// enter records where a command leads the following ones: cd, and the flag -C of many.
func (s *pathForms) enter(words []string) {
	var to []string
	cd := path.Base(words[0]) == "cd" || path.Base(words[0]) == "pushd"
	if cd {
		to = []string{"~"}
	}
	for i, w := range words[1:] {
		switch dir, long := strings.CutPrefix(w, "--chdir="); {
		case long:
			to = append(to, dir)
		case cd && !strings.HasPrefix(w, "-"):
			to = []string{w}
		case !cd && words[i] == "-C":
			to = append(to, w)
		}
	}
	for _, dir := range to {
		if dir = s.expandHome(dir); !filepath.IsAbs(dir) && len(s.dirs) > 0 {
			dir = filepath.Join(s.dirs[len(s.dirs)-1], dir)
		}
		if i := slices.Index(s.dirs, dir); i >= 0 {
			s.dirs = slices.Delete(s.dirs, i, i+1) // it is the last one again
		}
		s.dirs = append(s.dirs, filepath.Clean(dir))
		clear(s.known)
	}
}

// expandHome is a path with the home directory in place of its sign.
func (s *pathForms) expandHome(text string) string {
	for _, sign := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(text, sign); ok && s.home != "" && (rest == "" || rest[0] == '/') {
			return s.home + rest
		}
	}
	return text
}

// runners take each of their words for one more thing to do.
var runners = strings.Fields("make gmake ninja just task rake gradle gradlew mvn mvnw")

// terms reads the words of a command. If it may start another, what looks like a flag behind -- is one of that.
func (s *pathForms) terms(words []string, starts bool) (out []term) {
	operands := false
	for i, w := range words {
		t := term{forms: []string{w}}
		switch {
		case i == 0:
		case w == "--" && !operands:
			operands = !starts
			continue
		case strings.HasPrefix(w, "-") && !operands:
			t.flag = true
			if _, value, ok := strings.Cut(w, "="); ok && value != "" {
				t.forms = append(t.forms, s.file(value)...)
			}
		default:
			t.forms = s.file(w)
			before := words[i-1]
			t.optional = !operands && i > 1 && strings.HasPrefix(before, "-") && before != "--" && !strings.Contains(before, "=") || slices.Contains(runners, path.Base(words[0]))
		}
		out = append(out, t)
	}
	return out
}

// file are the ways in which a rule may name what a text names: as it is, and, as a path, without detours, from the
// home directory if it is there, from the workspace, and with its links followed.
func (s *pathForms) file(text string) []string {
	if out, ok := s.known[text]; ok {
		return out
	}
	out := []string{text}
	if text != "" && len(text) <= maxPath && !strings.ContainsAny(text, "\n\x00") && !strings.Contains(text, "://") {
		file := s.expandHome(text)
		if file != text || strings.Contains(text, "/") {
			out = append(out, path.Clean(text), path.Clean(file))
		}
		for _, dir := range s.dirs {
			at := file
			if !filepath.IsAbs(at) {
				at = dir + "/" + at
			}
			out = append(out, s.relativeForms(filepath.Clean(at))...)
			if real, err := followLinks(at); err == nil {
				out = append(out, s.relativeForms(real)...)
			}
		}
		slices.Sort(out[1:])
		out = slices.Compact(out)
	}
	s.known[text] = out
	return out
}

// relativeForms is an absolute path as written from the root, the home directory and the workspace.
func (s *pathForms) relativeForms(clean string) []string {
	out := []string{clean}
	if rest, ok := strings.CutPrefix(clean, s.home); s.home != "" && ok && (rest == "" || rest[0] == '/') {
		out = append(out, "~"+rest)
	}
	for _, root := range s.roots {
		if rel, err := filepath.Rel(root, clean); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// followLinks is a path with its links followed, also if only its directory is
// there.
func followLinks(text string) (string, error) {
	real, err := filepath.EvalSymlinks(text)
	if err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(text))
	return filepath.Join(dir, filepath.Base(text)), err
}
