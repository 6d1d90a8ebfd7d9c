package scriptmodel

import "slices"

type pair [2]string

// bpe is the state of learning merges of byte pairs.
type bpe struct {
	parts  [][]string            // each distinct word as its current tokens
	times  []int                 // and how often it occurs
	count  map[pair]int          // occurrences of each pair of neighbours
	holder map[pair]map[int]bool // words that hold it, or once held it
}

// trainBPE learns up to n merges from text, the most frequent first.
func trainBPE(text string, n int) (merges []pair) {
	b := bpe{count: map[pair]int{}, holder: map[pair]map[int]bool{}}
	b.read(text)
	for len(merges) < n {
		best, ok := b.best()
		if !ok {
			break
		}
		merges = append(merges, best)
		b.merge(best)
	}
	return merges
}

func (b *bpe) read(text string) {
	frequency := map[string]int{}
	for _, w := range word.FindAllString(text, -1) {
		frequency[w]++
	}
	for w, times := range frequency {
		var bytes []string
		for i := range len(w) {
			bytes = append(bytes, w[i:i+1])
		}
		b.parts, b.times = append(b.parts, bytes), append(b.times, times)
		b.tally(len(b.parts)-1, +1)
	}
}

// tally adds the pairs of a word to the counts, or takes them away.
func (b *bpe) tally(w, sign int) {
	for i := 1; i < len(b.parts[w]); i++ {
		p := pair{b.parts[w][i-1], b.parts[w][i]}
		b.count[p] += sign * b.times[w]
		if sign > 0 {
			if b.holder[p] == nil {
				b.holder[p] = map[int]bool{}
			}
			b.holder[p][w] = true
		}
	}
}

// best returns the most frequent pair that occurs at least twice; among equals
// the first in the alphabet, so that the same text gives the same merges.
func (b *bpe) best() (best pair, ok bool) {
	top := 1
	for p, c := range b.count {
		if c > top || c == top && ok && slices.Compare(p[:], best[:]) < 0 {
			best, top, ok = p, c, true
		}
	}
	return best, ok
}

func (b *bpe) merge(p pair) {
	for w := range b.holder[p] {
		b.tally(w, -1)
		b.parts[w] = join(b.parts[w], p)
		b.tally(w, +1)
	}
	delete(b.count, p)
	delete(b.holder, p)
}

func join(parts []string, p pair) (out []string) {
	for i := 0; i < len(parts); i++ {
		if i+1 < len(parts) && parts[i] == p[0] && parts[i+1] == p[1] {
			out = append(out, p[0]+p[1])
			i++
		} else {
			out = append(out, parts[i])
		}
	}
	return out
}
