package files

import (
	"fmt"
	"strings"
)

// Bounds of the search for what a text that is not there may be meant to be.
const (
	maxCompared = 20_000 // lines of the file
	maxShown    = 12     // lines that an error quotes
	maxQuoted   = 200    // bytes of a line that it quotes
)

// notFound says that old is not in the text, and what comes nearest.
func notFound(path, text, old string) error {
	msg := fmt.Sprintf("old does not stand in %s", path)
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	lines = lines[:min(len(lines), maxCompared)]
	want := strings.Split(strings.Trim(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	if at := spaced(lines, want); at >= 0 {
		return fmt.Errorf("%s; with other white space it does, at line %d. Give it exactly so:\n%s", msg, at+1, quoted(lines[at:at+len(want)]))
	}
	if at, rate := alike(lines, want); rate >= 0.5 {
		return fmt.Errorf("%s; nearest to it come the lines from %d on:\n%s", msg, at+1, quoted(lines[at:min(len(lines), at+len(want))]))
	}
	return fmt.Errorf("%s, nor anything like it; read the file again", msg)
}

// spaced finds where the lines stand if white space does not count, -1 if
// nowhere. A text of white space alone is found nowhere.
func spaced(lines, want []string) int {
	wanted := folded(want)
	if strings.Join(wanted, "") == "" {
		return -1
	}
	have := folded(lines)
	for at := 0; at+len(wanted) <= len(have); at++ {
		if matches(have[at:], wanted) {
			return at
		}
	}
	return -1
}

func matches(have, want []string) bool {
	for i, w := range want {
		if have[i] != w {
			return false
		}
	}
	return true
}

func folded(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// alike finds where the file comes nearest to the wanted lines: around the line
// that most resembles the longest of them. The rate is 1 for an equal line.
func alike(lines, want []string) (at int, rate float64) {
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
		if r := resemblance(wanted, pairs(l)); r > rate {
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

// resemblance is Dice's coefficient of the pairs of two lines.
func resemblance(a, b map[[2]byte]int) float64 {
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
			lines[i] = string(wholeRunes([]byte(l), maxQuoted)) + "…"
		}
	}
	text := strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
	if more > 0 {
		text += fmt.Sprintf("\n[%s more]", count(more, "line"))
	}
	return text
}
