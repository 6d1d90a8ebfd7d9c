package tools

import (
	"strings"
	"unicode"

	"mylm/internal/near"
)

// fold is a name without case and separators: what readFile, read_file and
// read\_file have in common.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Nearest returns the names that a wrong one may have meant, at most three:
// those equal after folding (with or without a namespace), then those a few
// letters away, nearest first.
func Nearest(name string, known []string) []string {
	want := fold(name)
	base := want
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		base = fold(name[i+1:])
	}
	return near.Best(known, func(k string) (int, bool) {
		folded := fold(k)
		d := min(near.Distance(want, folded), near.Distance(base, folded)) // 0: equal after folding
		return d, d <= max(1, min(3, len(folded)/3)) && d < len(folded)
	})
}
