package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/tools/sandbox"
)

// clean makes the place absolute and free of links.
func (at Place) clean() Place {
	if at.Dir == "" {
		at.Dir = at.Root
	}
	for _, dir := range []*string{&at.Root, &at.Dir} {
		*dir = sandbox.Real(filepath.Clean(*dir))
	}
	return at
}

// variable is the value of an environment variable.
func (at Place) variable(name string) (value string) {
	for _, kv := range at.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// dir is the directory of the workspace that a word names, "" if it names none.
// cd goes by names where files go by links, so that .. is not followed.
func (at Place) dir(w word) string {
	path := at.abs(w.text)
	info, err := os.Stat(path)
	if w.glob || w.tilde || dotted(w.text) || !at.inside(w.text) || err != nil || !info.IsDir() || at.variable("CDPATH") != "" {
		return ""
	}
	real, _ := filepath.EvalSymlinks(path)
	return real
}

func (at Place) abs(text string) string {
	if filepath.IsAbs(text) {
		return text
	}
	return filepath.Join(at.Dir, text)
}

// inside reports whether a path, of a file that exists or not, stays in the
// workspace, links followed, and out of .git, where hooks and settings are that git runs.
func (at Place) inside(text string) bool {
	path := at.abs(text)
	if dotted(text) { // of a link it is elsewhere than it looks
		if !filepath.IsAbs(text) {
			text = at.Dir + "/" + text
		}
		real, err := filepath.EvalSymlinks(text)
		return err == nil && at.within(real) && !inGit(real)
	}
	// What does not exist would be made where its nearest directory is.
	for dir := path; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if _, there := os.Lstat(dir); there == nil || err == nil {
			return err == nil && at.within(path) && at.within(real) && !inGit(path) && !inGit(real)
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func dotted(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}

func (at Place) within(path string) bool { return sandbox.Within(path, at.Root) }

func inGit(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(e string) bool { return strings.EqualFold(e, ".git") })
}

// names are all files that a word may name, and whether all stay in the
// workspace: the word, what follows a sign in it, and each name that a pattern
// matches, none of which may look like a flag.
func (at Place) names(w word) (parts []string, stay bool) {
	if w.tilde {
		return nil, false
	}
	parts = strings.FieldsFunc(w.text, func(r rune) bool { return strings.ContainsRune("=:,@", r) })
	if len(w.text) > 2 && w.text[0] == '-' && w.text[1] != '-' { // the path in -I/usr
		parts = append(parts, w.text[2:])
	}
	if w.glob {
		names, err := filepath.Glob(strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(at.Dir) + "/" + w.text)
		if err != nil || len(names) > maxNames || strings.HasPrefix(w.text, ".*") {
			return nil, false
		}
		for _, name := range names {
			rel, err := filepath.Rel(at.Dir, name)
			if err != nil || strings.HasPrefix(rel, "-") && !strings.HasPrefix(w.text, "./") {
				return nil, false
			}
			parts = append(parts, rel)
		}
	}
	return parts, !slices.ContainsFunc(parts, func(part string) bool { return part != "/dev/null" && !at.inside(part) })
}

// maxNames limits how many files a pattern may match.
const maxNames = 10_000

// certain reports whether a word is the name of a program that the workspace
// cannot have put there.
func (at Place) certain(w word) bool {
	if !w.bare || w.glob || w.tilde || strings.ContainsAny(w.text, `/\=`) {
		return false
	}
	return !slices.ContainsFunc(filepath.SplitList(at.variable("PATH")), func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return !filepath.IsAbs(dir) || err == nil && at.within(real)
	})
}
