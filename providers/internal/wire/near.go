package wire

import (
	"cmp"
	"slices"
	"strings"
)

// Near returns the up to three names of models that look most like the wanted
// one. What comes before a slash or after a colon counts little.
func Near(want string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	base := func(s string) string {
		s, _, _ = strings.Cut(strings.ToLower(s[strings.LastIndexByte(s, '/')+1:]), ":")
		return s
	}
	var found []candidate
	w := base(want)
	for _, name := range names {
		b := base(name)
		d := distance(w, b)
		if w != "" && (strings.HasPrefix(b, w) || strings.HasPrefix(w, b)) {
			d = min(d, 1)
		}
		if d <= max(1, len(w)/3) {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, f := range found[:min(len(found), 3)] {
		out = append(out, strings.TrimSuffix(f.name, ":latest"))
	}
	return out
}

// distance counts the letters to insert, delete or replace between a and b.
func distance(a, b string) int {
	const long = 200 // no model is called so; the work is quadratic
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
