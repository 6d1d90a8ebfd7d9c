package tools

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
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

// maxNear is how many names Nearest suggests: a small model reads no more.
const maxNear = 3

// maxNameLength is how long a name is worth comparing letter by letter.
// Tools' names have at most 64.
const maxNameLength = 128

// Nearest returns the names that a wrong one may have meant, at most three:
// those equal after folding (with or without a namespace), then those a few
// letters away, nearest first.
func Nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	if len(name) > maxNameLength {
		return nil
	}
	want := fold(name)
	base := want
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		base = fold(name[i+1:])
	}
	var near []candidate
	for _, k := range known {
		folded := fold(k)
		if folded == "" || len(k) > maxNameLength {
			continue
		}
		d := min(distance(want, folded), distance(base, folded)) // 0: equal after folding
		if d <= max(1, min(3, len(folded)/3)) && d < len(folded) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range near[:min(len(near), maxNear)] {
		names = append(names, c.name)
	}
	return names
}

// distance is how many letters must be inserted, deleted, replaced or swapped
// with their neighbour to turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
