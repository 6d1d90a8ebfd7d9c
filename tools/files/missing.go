package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/tools"
)

const (
	// scanned bounds how many entries of a directory are looked at for a name
	// that resembles a missing one.
	scanned = 2000

	// offered is how many names an error lists.
	offered = 8
)

// missing explains that name does not exist: which part of it, and what there is
// in the directory where it should be.
func missing(root *os.Root, path, name string) error {
	dir, base := deepest(root, name)
	if target, err := root.Readlink(filepath.Join(dir, base)); err == nil {
		return fmt.Errorf("%s does not exist: %s is a link to %s, which does not exist", path, base, target)
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

// nearest picks at most three names that want may be a slip of, those with another
// ending last. A dot separates no more than a dash does.
func nearest(want string, names []string) []string {
	near := tools.Nearest(strings.ReplaceAll(want, ".", "-"), names)
	for _, name := range names {
		if len(near) < 3 && stem(name) == stem(want) && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	return near
}

func stem(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "/"))
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// Bounds of the search for text that is similar to a missing one.
const (
	maxCompared = 20_000 // lines of the file
	maxShown    = 12     // lines that an error quotes
	maxQuoted   = 200    // bytes of a line that it quotes
)

// notFound reports that old is not in the text, and what is most similar.
func notFound(path, text, old string) error {
	msg := fmt.Sprintf("old does not occur in %s", path)
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	lines = lines[:min(len(lines), maxCompared)]
	want := strings.Split(strings.Trim(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	if at := indexFolded(lines, want); at >= 0 {
		return fmt.Errorf("%s; with other white space it does, at line %d. Use exactly this text:\n%s", msg, at+1, quoted(lines[at:at+len(want)]))
	}
	if at, rate := mostSimilar(lines, want); rate >= 0.5 {
		return fmt.Errorf("%s; the most similar lines start at %d:\n%s", msg, at+1, quoted(lines[at:min(len(lines), at+len(want))]))
	}
	return fmt.Errorf("%s, and neither does similar text; read the file again", msg)
}

// indexFolded finds where the lines are if white space does not count, -1 if
// nowhere. A text of white space alone is found nowhere.
func indexFolded(lines, want []string) int {
	wanted := folded(want)
	if strings.Join(wanted, "") == "" {
		return -1
	}
	have := folded(lines)
	for at := 0; at+len(wanted) <= len(have); at++ {
		if slices.Equal(have[at:at+len(wanted)], wanted) {
			return at
		}
	}
	return -1
}

func folded(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// mostSimilar finds the part of the file most similar to the wanted lines: around the
// line that most resembles the longest of them. The rate is 1 for an equal
// line.
func mostSimilar(lines, want []string) (at int, rate float64) {
	key := 0
	for i, l := range want {
		if len(strings.TrimSpace(l)) > len(strings.TrimSpace(want[key])) {
			key = i
		}
	}
	wanted := pairs(want[key])
	if len(wanted) == 0 {
		return 0, 0
	}
	best := 0
	for i, l := range lines {
		if r := similarity(wanted, pairs(l)); r > rate {
			best, rate = i, r
		}
	}
	return max(0, best-key), rate
}

// pairs counts the pairs of letters of a line, as far as it would be quoted.
func pairs(line string) map[[2]byte]int {
	line = strings.TrimSpace(line)
	line = line[:min(len(line), maxQuoted)]
	out := map[[2]byte]int{}
	for i := 1; i < len(line); i++ {
		out[[2]byte{line[i-1], line[i]}]++
	}
	return out
}

// similarity is Dice's coefficient of the pairs of two lines.
func similarity(a, b map[[2]byte]int) float64 {
	common, all := 0, 0
	for p, n := range a {
		common += min(n, b[p])
		all += n
	}
	for _, n := range b {
		all += n
	}
	return 2 * float64(common) / float64(all)
}

// quoted shows lines as they are, as far as an error should be long.
func quoted(lines []string) string {
	more := len(lines) - maxShown
	lines = append([]string{}, lines[:min(len(lines), maxShown)]...)
	for i, l := range lines {
		if len(l) > maxQuoted {
			lines[i] = tools.Begin(l, maxQuoted) + "…"
		}
	}
	text := strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
	if more > 0 {
		text += fmt.Sprintf("\n[%s more]", tools.Count(more, "line"))
	}
	return text
}
