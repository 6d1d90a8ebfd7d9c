package lexical

import (
	"slices"
	"strings"
	"sync"
)

// maxAsked is how many words a question has: what is longer is a text that was
// pasted, of which most words may be unknown.
const maxAsked = 32

// answered reports whether a candidate is about the query: whether it,
// together with its neighbours, holds enough of the rarity of its words.
// A word that nobody used counts as the rarest, and one that was taken for another, or
// that only names the kind of the answer, half. A query that names a speaker is about what they said.
func (s *search) answered(candidates []found) bool {
	if s.Floor <= 0 || s.named != nil || len(s.terms)+s.unknown > maxAsked {
		return true
	}
	total := (float64(s.unknown) - float64(s.unknownKinds)/2) * s.idf(0)
	var worth [len(s.rarity)]float64
	for i, t := range s.terms {
		if !asking()[t.text] {
			worth[i] = s.rarity[i]
		}
		if !t.corrected || i == 0 || s.terms[i-1].word != t.word { // the first of those that it may be
			total += worth[i]
		}
		if t.corrected {
			worth[i] /= 2
		}
	}
	floor := s.Floor
	if s.dropped > 0 { // more of its words are function words that the lists lack
		floor *= 0.75
	}
	return slices.ContainsFunc(candidates, func(c found) bool {
		score, share := &s.scores[s.facts.place[c.doc]], 0.0
		for i, w := range worth {
			share += w * float64(score.held>>i&1+score.reach>>i&1)
		}
		return share >= 2*floor*total
	})
}

// asking are the terms of words that say what kind of answer is wanted, and
// nothing of what it is about.
var asking = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields("name call number many much kind sort type colour color time day date year place thing person get say tell know find remember") {
		all[stemOf(w)] = true
	}
	return all
})
