package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// clean makes the place absolute and free of links.
func (at Place) clean() Place {
	if at.Dir == "" {
		at.Dir = at.Root
	}
	for _, dir := range []*string{&at.Root, &at.Dir} {
		*dir = filepath.Clean(*dir)
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	return at
}

// variable is the value of an environment variable, the last one as in a
// process's environment.
func (at Place) variable(name string) (value string, set bool) {
	for _, kv := range at.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}

// within reports whether a cleaned absolute path lies in the workspace, and in
// no directory of the system that holds more than files.
func (at Place) within(path string) bool {
	for _, special := range []string{"/proc", "/dev", "/sys"} {
		if path == special || strings.HasPrefix(path, special+"/") {
			return false
		}
	}
	rel, err := filepath.Rel(at.Root, path)
	return err == nil && filepath.IsLocal(rel)
}

func leaves(what string) objection {
	return objection{fmt.Sprintf("%s lies outside the workspace", what), true}
}

// input checks a file that a redirect reads.
func (at Place) input(w word) objection {
	if w.text == "/dev/null" {
		return objection{}
	}
	if w.tilde {
		return leaves(w.text)
	}
	return at.path(w.text)
}

// path checks a file that a program would open: it is a regular file or a
// directory of the workspace, also behind links, or not there at all.
func (at Place) path(text string) objection {
	if text == "" || text == "-" {
		return objection{}
	}
	if strings.ContainsRune(text, 0) {
		return objection{why: "it holds a NUL byte"}
	}
	path := text
	if !filepath.IsAbs(path) {
		path = at.Dir + string(filepath.Separator) + text
	}
	// Not cleaned before the links are followed: a/.. is elsewhere if a is a link.
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return at.missing(text, path)
	case err != nil:
		return objection{why: fmt.Sprintf("%s cannot be looked at: %v", text, errors.Unwrap(err))}
	case !at.within(real):
		return leaves(text)
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return objection{why: text + " is neither a file nor a directory"}
	}
	return objection{}
}

// missing checks a path that leads nowhere: it should not do so outside.
func (at Place) missing(text, path string) objection {
	clean := filepath.Clean(path)
	if info, err := os.Lstat(clean); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return leaves(text)
	}
	for element := range strings.SplitSeq(filepath.ToSlash(text), "/") {
		if element == ".." {
			return leaves(text)
		}
	}
	if !at.within(clean) {
		return leaves(text)
	}
	return objection{}
}

// maxNames bounds how many files a pattern may stand for.
const maxNames = 10_000

// letters are the parts of a pattern that stand for one letter each.
var letters = late(`(\[[^\]]*\]|\?)+`)

// glob checks the names that a word stands for. None may look like a flag, and
// all have to be in the workspace.
func (at Place) glob(w word) objection {
	elements := strings.Split(w.text, "/")
	patterns := 0
	for i, element := range elements {
		if element == ".." || i == 0 && element == "" || parental(element) {
			return leaves(w.text)
		}
		if strings.ContainsAny(element, "*?[") {
			patterns++
		}
	}
	switch {
	case !w.bare:
		return objection{why: "it holds a pattern with quotes in it (" + w.text + ")"}
	case strings.Contains(w.text, "**"):
		return objection{why: "** stands for different files in different shells"}
	case patterns > 2:
		return objection{why: w.text + " may stand for too many files to look at"}
	}
	// Which letters are in a set depends on the shell and the language: any may be.
	// So may a letter count as several: shells count bytes in some languages.
	matches, err := filepath.Glob(filepath.Join(escaped(at.Dir), letters().ReplaceAllString(w.text, "*")))
	if err != nil || len(matches) > maxNames {
		return objection{why: w.text + " stands for too many files to look at"}
	}
	for _, m := range matches {
		rel, err := filepath.Rel(at.Dir, m)
		if err != nil || elements[0] != "." && rel != "" && strings.Contains("-+", rel[:1]) {
			return objection{why: fmt.Sprintf("%s stands for %q too, which is taken for a flag", w.text, rel)}
		}
		if elements[0] != "." && assignment(rel) {
			return objection{why: fmt.Sprintf("%s stands for %q too, which awk takes for a variable", w.text, rel)}
		}
		if o := at.path(m); o.why != "" {
			return objection{fmt.Sprintf("%s stands for %s too: %s", w.text, rel, o.why), o.leaves}
		}
	}
	return objection{}
}

// parental reports whether an element of a pattern may stand for the directory
// above: in some shells .* does, and where a set names it the standard leaves
// open whether that is a leading point.
func parental(element string) bool {
	set, _, _ := strings.Cut(element, "]")
	if !strings.HasPrefix(element, ".") && !(strings.HasPrefix(set, "[") && strings.Contains(set, ".")) {
		return false
	}
	may, err := path.Match(letters().ReplaceAllString(element, "*"), "..")
	return may || err != nil
}

// escaped is a directory's name as a pattern that stands for it alone.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// outside reports whether a word names something outside the workspace, or in
// .git, by its looks: a path, or one behind the sign of a flag or a remote name.
func (at Place) outside(w word) bool {
	if w.tilde {
		return true
	}
	for _, part := range append(strings.FieldsFunc(w.text, func(r rune) bool { return r == '=' || r == ':' || r == ',' || r == '@' }), shortValue(w.text)) {
		if part != "" && part != "/dev/null" && at.beyond(part) {
			return true
		}
	}
	return false
}

// inRepository reports whether a path leads into .git, where hooks and settings
// are that git runs.
func (at Place) inRepository(path string) bool {
	rel, err := filepath.Rel(at.Root, path)
	return err != nil || slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), func(e string) bool { return strings.EqualFold(e, ".git") })
}

// beyond reports whether a file, there or not, would be outside the workspace or
// in .git.
func (at Place) beyond(text string) bool {
	for element := range strings.SplitSeq(text, "/") {
		if element == ".." { // of a link it is elsewhere than it looks
			return true
		}
	}
	path := filepath.Clean(text)
	if !filepath.IsAbs(path) {
		path = filepath.Join(at.Dir, path)
	}
	if !at.within(path) || at.inRepository(path) {
		return true
	}
	// What is not there would be made where its nearest directory is.
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return !at.within(real) || at.inRepository(real)
		}
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 || dir == filepath.Dir(dir) {
			return true
		}
	}
}

// shortValue is what stands behind the letter of a flag: the path in -I/usr.
func shortValue(text string) string {
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		return text[2:]
	}
	return ""
}

// program checks that a name leads to a program that the workspace cannot have
// put there.
func (at Place) program(w word) objection {
	name := w.text
	switch {
	case !w.bare || w.glob || w.tilde:
		return objection{why: fmt.Sprintf("the program's name is written in an unusual way (%s)", name)}
	case strings.Contains(name, "/"):
		return objection{why: name + " names a program by its path"}
	}
	if _, programs := at.variable("BASH_FUNC_" + name + "%%"); programs {
		return objection{why: name + " is a function of your environment"}
	}
	path, set := at.variable("PATH")
	if !set {
		return objection{} // the shell has a path of its own
	}
	if path == "" {
		path = "." // which an empty one stands for
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			return objection{why: "PATH looks for programs in the working directory"}
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if at.Root != "/" && at.within(real) {
			return objection{why: fmt.Sprintf("PATH looks for programs in the workspace (%s)", dir)}
		}
		if info, err := os.Stat(filepath.Join(real, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return objection{}
		}
	}
	return objection{}
}
