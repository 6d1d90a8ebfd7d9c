package lexical

import "slices"

// distance counts slips between a word and others: a letter missing, one too
// many, a wrong one, or two neighbours swapped.
type distance struct {
	word, other           []rune
	before, last, current []int
	ends                  []int // the slips between each beginning of word and other
}

func newDistance(word string) *distance {
	w := []rune(word)
	return &distance{word: w, ends: make([]int, len(w)+1)}
}

// to counts the slips between the word and t. Above limit the number is only
// known to be above it.
func (d *distance) to(t string, limit int) int {
	d.fill(t, limit)
	return d.ends[len(d.word)]
}

// fill sets ends for t.
func (d *distance) fill(t string, limit int) {
	d.other = d.other[:0]
	for _, r := range t {
		d.other = append(d.other, r)
	}
	a, b := d.word, d.other
	size := len(b) + 1
	for _, row := range []*[]int{&d.before, &d.last, &d.current} {
		*row = slices.Grow((*row)[:0], size)[:size]
	}
	for j := range d.last {
		d.last[j] = j
	}
	d.ends[0] = len(b)
	for i := 1; i <= len(a); i++ {
		if d.row(i) > limit {
			for ; i <= len(a); i++ {
				d.ends[i] = limit + 1
			}
			return
		}
		d.ends[i] = d.current[len(b)]
		d.before, d.last, d.current = d.last, d.current, d.before
	}
}

// row sets current to the slips between the first i letters of the word and
// each beginning of other, and returns the least of them.
func (d *distance) row(i int) int {
	a, b := d.word, d.other
	d.current[0] = i
	least := i
	for j := 1; j <= len(b); j++ {
		wrong := 1
		if a[i-1] == b[j-1] {
			wrong = 0
		}
		n := min(d.last[j]+1, d.current[j-1]+1, d.last[j-1]+wrong)
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
			n = min(n, d.before[j-2]+1)
		}
		d.current[j] = n
		least = min(least, n)
	}
	return least
}
