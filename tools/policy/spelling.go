package policy

import (
	"path"
	"path/filepath"
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
func (t term) program() []string {
	name := t.spellings[0]
	return []string{name, path.Base(strings.ReplaceAll(name, `\`, "/"))}
}

// speller knows in which ways a file may be named.
type speller struct {
	root, dir, home string
	roots           []string // the names of the workspace: it may be reached through a link
	known           map[string][]string
}

func spellerOf(at command.Place) (s speller) {
	s.root, s.dir, s.known = at.Root, at.Dir, map[string][]string{}
	if s.dir == "" {
		s.dir = s.root
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

// terms reads the words of a command.
func (s speller) terms(words []string) (out []term) {
	operands := false
	for i, w := range words {
		t := term{spellings: []string{w}}
		switch {
		case i == 0:
		case w == "--" && !operands:
			operands = true
			continue
		case strings.HasPrefix(w, "-") && !operands:
			t.flag = true
			if _, value, ok := strings.Cut(w, "="); ok && value != "" {
				t.spellings = append(t.spellings, s.file(value)...)
			}
		default:
			t.spellings = s.file(w)
			before := words[i-1]
			t.optional = !operands && i > 1 && strings.HasPrefix(before, "-") && !strings.Contains(before, "=")
		}
		out = append(out, t)
	}
	return out
}

// maxPath is how long a text may be to be taken for a path: no system that is known has longer ones.
const maxPath = 4096

// file are the ways in which a rule may name what a text names: as it is, and, as a path, without detours, from the
// home directory if it is there, from the workspace, and with its links followed.
func (s speller) file(text string) []string {
	out, ok := s.known[text]
	if !ok {
		out = s.names(text)
		s.known[text] = out
	}
	return out
}

func (s speller) names(text string) []string {
	out := []string{text}
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, "\n\x00") || strings.Contains(text, "://") {
		return out
	}
	add := func(path string) {
		for _, have := range out {
			if have == path {
				return
			}
		}
		out = append(out, path)
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
	if !filepath.IsAbs(text) {
		text = s.dir + "/" + text
	}
	s.add(filepath.Clean(text), add)
	if real, err := followed(text); err == nil {
		s.add(real, add)
	}
	return out
}

// add adds a path as it is seen from the root, the home directory and the
// workspace.
func (s speller) add(clean string, add func(string)) {
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
