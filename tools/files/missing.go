package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// scanned bounds how many entries of a directory are looked at for a name
	// that resembles a missing one.
	scanned = 2000

	// offered is how many names an error lists.
	offered = 8
)

// missing explains that name does not exist: which part of it, and what stands
// in the directory where it should be.
func missing(root *os.Root, path, name string) error {
	dir, base := deepest(root, name)
	if target, err := root.Readlink(filepath.Join(dir, base)); err == nil {
		return fmt.Errorf("%s does not exist: %s is a link to %s, which is not there", path, base, target)
	}
	where := "in " + filepath.ToSlash(dir)
	switch top := root.Name(); {
	case filepath.Dir(top) == top: // all files, not those of a workspace
		where = "in " + filepath.ToSlash(filepath.Join(top, dir))
	case dir == ".":
		where = "in the workspace"
	}
	names := namesIn(root, dir)
	text := fmt.Sprintf("no such file or directory: %s", path)
	switch near := nearest(base, names); {
	case len(names) == 0:
		return fmt.Errorf("%s (nothing is %s)", text, where)
	case len(near) > 0:
		return fmt.Errorf("%s; did you mean %s? (%s there is no %s)", text, strings.Join(near, " or "), where, base)
	case len(names) > offered:
		return fmt.Errorf("%s (%s there are: %s and %d more)", text, where, strings.Join(names[:offered], ", "), len(names)-offered)
	}
	return fmt.Errorf("%s (%s there are: %s)", text, where, strings.Join(names, ", "))
}

// deepest returns the last directory on the way to name that exists, and the
// first part of the way that does not.
func deepest(root *os.Root, name string) (dir, base string) {
	dir = "."
	for part := range strings.SplitSeq(filepath.Clean(name), string(filepath.Separator)) {
		next := filepath.Join(dir, part)
		if info, err := root.Stat(next); err != nil || !info.IsDir() {
			return dir, part
		}
		dir = next
	}
	return filepath.Dir(dir), filepath.Base(dir)
}

// namesIn lists what is in dir, sorted, directories with a slash.
func namesIn(root *os.Root, dir string) []string {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(scanned) // an error only makes the help shorter
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = label(e.Name(), e.Type())
	}
	slices.Sort(names)
	return names
}

// nearest picks at most three names that want may be a slip of: another case,
// a missing or another ending, letters in another order, or up to a third of
// them changed.
func nearest(want string, names []string) []string {
	type match struct {
		name     string
		distance int
	}
	var matches []match
	want = strings.ToLower(want)
	for _, name := range names {
		have := strings.ToLower(strings.TrimSuffix(name, "/"))
		d := distance(want, have)
		if d > len([]rune(want))/3 && !sameLetters(want, have) {
			if stem(have) != stem(want) {
				continue
			}
			d = len(want)
		}
		matches = append(matches, match{name, d})
	}
	slices.SortStableFunc(matches, func(a, b match) int { return a.distance - b.distance })
	var near []string
	for _, m := range matches[:min(3, len(matches))] {
		near = append(near, m.name)
	}
	return near
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

func sameLetters(a, b string) bool {
	s, t := []rune(a), []rune(b)
	slices.Sort(s)
	slices.Sort(t)
	return slices.Equal(s, t)
}

// distance is the Levenshtein distance in characters.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j, u := range t {
			change := diagonal
			if r != u {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(t)]
}

// label is a name as the model sees it: one line, a directory with a slash.
func label(name string, mode fs.FileMode) string {
	name = printable(name)
	if mode.IsDir() {
		name += "/"
	}
	return name
}
