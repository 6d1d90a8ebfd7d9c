package lexical

import (
	"cmp"
	"context"
	"slices"
)

// candidates gives the k best documents of the first step, best first.
func (s *search) candidates(k int) (best []found) {
	least := 0.0
	for _, p := range s.reached {
		score := float64(s.scores[p].around + s.scores[p].words)
		if score < least {
			continue // most
		}
		if d := s.facts.order[p]; s.query.wants(s.facts, d) {
			best = append(best, found{d, score})
		}
		if len(best) == 2*k {
			slices.SortFunc(best, s.compare)
			best = best[:k]
			least = best[k-1].score
		}
	}
	slices.SortFunc(best, s.compare)
	return best[:min(k, len(best))]
}

// minCandidates is how many documents the second step looks at, at least.
const minCandidates = 200

// hits gives the k best of what was reached.
func (s *search) hits(ctx context.Context, k int) ([]Hit, error) {
	best := s.candidates(max(minCandidates, 2*k))
	if !s.answered(best) {
		return nil, nil
	}
	var near map[uint32]float32
	if s.query.Similarities != nil {
		docs := make([]uint32, len(best))
		for i, f := range best {
			docs[i] = f.doc
		}
		slices.Sort(docs) // what is stored together is read together
		var err error
		if near, err = s.query.Similarities(ctx, docs); err != nil {
			return nil, err
		}
	}
	for i, f := range best {
		features := s.features(s.facts.place[f.doc])
		if best[i].score = s.Weights.Score(&features); best[i].score > 0 {
			best[i].score *= 1 + s.Similar*float64(near[f.doc])
		}
	}
	slices.SortFunc(best, s.compare)
	hits := make([]Hit, min(k, len(best)))
	for i := range hits {
		hits[i] = s.explain(best[i])
		hits[i].Similarity = near[hits[i].Doc]
	}
	return hits, nil
}

// explain says why a document was found.
func (s *search) explain(f found) Hit {
	place := s.facts.place[f.doc]
	held, reach := s.scores[place].held, s.scores[place].reach
	h := Hit{Doc: f.doc, Score: f.score, Held: cmp.Or(held&^s.kinds, held), Asks: s.asks(place) || s.written(place)}
	for i, t := range s.terms {
		switch {
		case held>>i&1 != 0:
			h.Terms = appendNew(h.Terms, t.word)
		case reach>>i&1 != 0 && t.speakers == nil: // else it may be only the name
			h.Nearby = appendNew(h.Nearby, t.word)
		default:
			continue
		}
		if t.corrected {
			h.Corrected = append(h.Corrected, Correction{t.word, t.text})
		}
	}
	h.Nearby = slices.DeleteFunc(h.Nearby, func(w string) bool { return slices.Contains(h.Terms, w) })
	if s.speaks(f.doc) {
		h.Speaker = s.facts.Speakers[s.facts.Docs[f.doc].Speaker]
	}
	if s.date.near(s.facts.Docs[f.doc].Time) > 0 {
		h.Date = s.date.text
	}
	return h
}

func appendNew(words []string, w string) []string {
	if slices.Contains(words, w) {
		return words
	}
	return append(words, w)
}

// found is a document and its score.
type found struct {
	doc   uint32
	score float64
}

// compare puts the better first.
func (s *search) compare(a, b found) int {
	if a.score != b.score { // almost always
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Or(cmp.Compare(s.facts.Docs[b.doc].Time, s.facts.Docs[a.doc].Time), cmp.Compare(a.doc, b.doc))
}
