package lexical

import (
	"cmp"
	"container/heap"
	"slices"
)

// hits gives the k best of what was reached.
func (s *search) hits(k int) []Hit {
	best := top{k: k, time: s.facts.Time}
	for _, p := range s.reached {
		if d := s.facts.order[p]; s.query.wants(s.facts, d) {
			best.offer(found{d, s.cues(p)})
		}
	}
	slices.SortFunc(best.found, best.compare)
	if len(best.found) == 0 {
		return nil
	}
	hits := make([]Hit, len(best.found))
	for i, f := range best.found {
		hits[i] = s.explain(f)
	}
	return hits
}

// explain says why a document was found.
func (s *search) explain(f found) Hit {
	h := Hit{Doc: f.doc, Score: f.score}
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
		h.Speaker = s.facts.Speakers[s.facts.Speaker[f.doc]]
	}
	if s.date.said() && s.date.near(utc(s.facts.Time[f.doc])) > 0 {
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

// top keeps the k best in a heap with the worst of them on top.
type top struct {
	k     int
	time  []int64
	found []found
}

// compare puts the better first.
func (t *top) compare(a, b found) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(t.time[b.doc], t.time[a.doc]), cmp.Compare(a.doc, b.doc))
}

func (t *top) offer(f found) {
	switch {
	case len(t.found) < t.k:
		heap.Push(t, f)
	case t.compare(f, t.found[0]) < 0:
		t.found[0] = f
		heap.Fix(t, 0)
	}
}

func (t *top) Len() int           { return len(t.found) }
func (t *top) Less(i, j int) bool { return t.compare(t.found[i], t.found[j]) > 0 }
func (t *top) Swap(i, j int)      { t.found[i], t.found[j] = t.found[j], t.found[i] }

// Push implements heap.Interface.
func (t *top) Push(v any) { t.found = append(t.found, v.(found)) }

// Pop implements heap.Interface; nothing is taken out.
func (t *top) Pop() any {
	v := t.found[len(t.found)-1]
	t.found = t.found[:len(t.found)-1]
	return v
}
