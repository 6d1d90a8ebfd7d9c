package near

import (
	"cmp"
	"slices"
)

// most is how many names are suggested: a small model reads no more.
const most = 3

// longest is how many bytes of a name are compared: the work is quadratic.
const longest = 200

// Best returns the names that distance accepts, at most three, nearest first.
func Best(names []string, distance func(name string) (d int, ok bool)) []string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, name := range names {
		if d, ok := distance(name); ok {
			all = append(all, candidate{name, d})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var best []string
	for _, c := range all[:min(len(all), most)] {
		best = append(best, c.name)
	}
	return best
}

// Distance is how many letters must be inserted, deleted, replaced or swapped
// with their neighbor to turn a into b. Texts too long for names are far apart.
func Distance(a, b string) int {
	if a != b && max(len(a), len(b)) > longest {
		return longest
	}
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
