package lexical

import (
	"cmp"
	"context"
	"slices"
)

// candidates gives the places that the first step chose, about k of them.
func (s *search) candidates(k int) []found {
	best, least := top{k: k, docs: s.facts.Docs}, 0.0
	all := s.query.wantsAll()
	for _, p := range s.reached {
		score := float64(s.scores[p].around + s.scores[p].words)
		if score < least {
			continue // most
		}
		if d := s.facts.order[p]; all || s.query.wants(s.facts, d) {
			best.offer(found{d, score})
		}
		if len(best.found) == k {
			least = best.found[k-1].score
		}
	}
	return best.found
}

// minCandidates is how many documents the second step looks at, at least.
const minCandidates = 200

// hits gives the k best of what was reached.
func (s *search) hits(ctx context.Context, k int) ([]Hit, error) {
	best := top{k: k, docs: s.facts.Docs, found: s.candidates(max(minCandidates, 2*k))}
	if !s.answered(best.found) {
		return nil, nil
	}
	var near map[uint32]float32
	if s.query.Similarities != nil {
		docs := make([]uint32, len(best.found))
		for i, f := range best.found {
			docs[i] = f.doc
		}
		slices.Sort(docs) // what is stored together is read together
		var err error
		if near, err = s.query.Similarities(ctx, docs); err != nil {
			return nil, err
		}
	}
	for i, f := range best.found {
		features := s.features(s.facts.place[f.doc])
		score := s.Weights.Score(&features)
		if score > 0 {
			score *= 1 + s.Similar*float64(near[f.doc])
		}
		best.found[i].score = score
	}
	slices.SortFunc(best.found, best.compare)
	hits := make([]Hit, min(k, len(best.found)))
	for i := range hits {
		hits[i] = s.explain(best.found[i])
		hits[i].Similarity = near[hits[i].Doc]
	}
	return hits, nil
}

// explain says why a document was found.
func (s *search) explain(f found) Hit {
	place := s.facts.place[f.doc]
	held := s.scores[place].held
	h := Hit{Doc: f.doc, Score: f.score, Held: cmp.Or(held&^s.kinds, held), Asks: s.asks(place)}
	for _, t := range s.terms {
		switch {
		case holds(t.postings, f.doc):
			h.Terms = appendNew(h.Terms, t.word)
		case s.near(t.postings, f.doc):
			h.Nearby = appendNew(h.Nearby, t.word)
		default:
			continue
		}
		for _, c := range s.corrected {
			if c.Term == t.text {
				h.Corrected = append(h.Corrected, c)
			}
		}
	}
	h.Nearby = slices.DeleteFunc(h.Nearby, func(w string) bool { return slices.Contains(h.Terms, w) })
	if s.speaks(f.doc) {
		h.Speaker = s.facts.Speakers[s.facts.Docs[f.doc].Speaker]
	}
	if s.date.said() && s.date.near(utc(s.facts.Docs[f.doc].Time)) > 0 {
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

func holds(postings []Posting, doc uint32) bool {
	_, ok := slices.BinarySearchFunc(postings, doc, func(p Posting, d uint32) int { return cmp.Compare(p.Doc, d) })
	return ok
}

// near tells whether a neighbour lends a term to a document.
func (s *search) near(postings []Posting, doc uint32) bool {
	f := s.facts
	place := int(f.place[doc])
	for q := max(0, place-len(s.Before)); q <= place+len(s.After) && q < len(f.order); q++ {
		if f.session[q] == f.session[place] && holds(postings, f.order[q]) {
			return true
		}
	}
	return false
}

// found is a document and its score.
type found struct {
	doc   uint32
	score float64
}

// top keeps the k best in order. Few of many are inserted: the best come at
// random.
type top struct {
	k     int
	docs  []Fact
	found []found
}

// compare puts the better first.
func (t *top) compare(a, b found) int {
	if a.score != b.score { // almost always
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Or(cmp.Compare(t.docs[b.doc].Time, t.docs[a.doc].Time), cmp.Compare(a.doc, b.doc))
}

func (t *top) offer(f found) {
	at, _ := slices.BinarySearchFunc(t.found, f, t.compare)
	if len(t.found) == t.k {
		if at == t.k {
			return
		}
		t.found = t.found[:t.k-1]
	}
	t.found = slices.Insert(t.found, at, f)
}
