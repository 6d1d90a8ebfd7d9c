package lexical

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Ranking says what counts for how much. A zero turns that part off; the zero
// Ranking finds what holds a word of the query, the one with most of the rare
// words first. It holds no state.
type Ranking struct {
	// K1 and B are those of BM25: how soon repeating a word stops to count, and
	// how much a long document is held back.
	K1, B float64
	// Before and After are the shares of its words that a document lends to
	// the one after it, the second after it, and so on, and to those before it.
	Before, After []float64
	// Name is how often a document is taken to hold its speaker's name, and
	// Speaker by what share it is lifted if the query names its speaker.
	Name, Speaker float64
	// When is by what share a document with time words is lifted when the query asks for a time.
	When float64
	// Ask is by what share a document that mostly asks is lowered.
	Ask float64
	// Brief is the number of words at which a document counts half for being
	// short: thanks, or a yes, is rarely what is looked for. One word alone may
	// come behind a longer neighbour that does not hold it.
	Brief float64
	// Date is by what share a document on a date in the query is lifted; one
	// near to it is lifted less.
	Date float64
	// Slips is how many slips in a word that the scope does not hold are
	// corrected: at most 2, and at most one in a word of less than 8 letters.
	Slips int
}

// Default is what was chosen on one half of LoCoMo, in round numbers. What each
// part is worth, and how the other half does, is in docs/decisions/memory.md.
func Default() Ranking {
	return Ranking{
		K1: 1, B: 0.2,
		Before: []float64{0.5, 0.4, 0.3, 0.2, 0.1}, After: []float64{0.3, 0.2, 0.1},
		Name: 2, Speaker: 0.6, When: 0.4, Ask: 0.2, Brief: 2, Date: 2, Slips: 2,
	}
}

// Rank returns the k best documents for a query, best first. Of equal scores
// the newer comes first, then the one that was added first. A query without a
// word that can be looked for finds nothing. Errors are those of the index and
// of ctx. It is safe for concurrent use.
func (r Ranking) Rank(ctx context.Context, index Index, query Query, k int) ([]Hit, error) {
	if k <= 0 || query.Text == "" {
		return nil, ctx.Err()
	}
	facts, err := index.Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the facts of the memory's documents: %w", err)
	}
	if err := facts.check(); err != nil {
		return nil, err
	}
	facts.link()
	s := search{Ranking: r, index: index, facts: facts, query: query}
	s.read()
	s.narrow()
	if s.count == 0 {
		return nil, ctx.Err()
	}
	if err := s.lookUp(ctx); err != nil {
		return nil, err
	}
	n := len(facts.order)
	s.widened, s.score, s.seen = make([]float32, n), make([]float32, n), make([]bool, n)
	for i := range s.terms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.weigh(&s.terms[i])
	}
	return s.hits(k), nil
}

// search is one query on its way. Arrays are in the order of places.
type search struct {
	Ranking
	index Index
	facts *Facts
	query Query

	when  bool // the query asks for a time
	date  date
	named []bool // speakers

	in     []bool // the scope
	count  int    // of documents in scope
	length float64

	terms     []term
	corrected []Correction

	widened []float32 // how much of the term at hand each place holds
	at      []uint32  // places where that is not 0
	score   []float32
	seen    []bool
	reached []uint32 // places with a score
}

// term is a word that is looked for.
type term struct {
	text, word string // as indexed, as written in the query
	postings   []Posting
	speakers   []bool // whose name has it
}

// narrow finds what is in scope, and the statistics of it.
func (s *search) narrow() {
	f := s.facts
	s.in = make([]bool, len(f.order))
	var total uint64
	for p, d := range f.order {
		if s.query.covers(f, d) {
			s.in[p] = true
			s.count++
			total += uint64(f.Length[d])
		}
	}
	s.length = max(1, float64(total)) / max(1, float64(s.count))
}

// member tells whether v is in a set; an empty one holds everything.
func member[T comparable](set []T, v T) bool {
	return len(set) == 0 || slices.Contains(set, v)
}

// weigh adds what one term is worth to the score of each place that it reaches.
func (s *search) weigh(t *term) {
	s.widen(t)
	// A word is as common as the documents that it reaches, since those are what
	// it scores. Counting its holders alone takes the name of somebody who is
	// addressed now and then for a rare word.
	holders := 0.0
	for _, p := range s.at {
		if s.in[p] {
			holders++
		}
	}
	idf := math.Log(1 + (float64(s.count)-holders+0.5)/(holders+0.5))
	for _, p := range s.at {
		tf := float64(s.widened[p])
		s.widened[p] = 0
		if !s.in[p] {
			continue
		}
		if !s.seen[p] {
			s.seen[p] = true
			s.reached = append(s.reached, p)
		}
		held := 1 - s.B + s.B*float64(s.facts.Length[s.facts.order[p]])/s.length
		s.score[p] += float32(idf * tf * (s.K1 + 1) / (tf + s.K1*held))
	}
}

// widen finds how much of a term each place holds or is lent.
func (s *search) widen(t *term) {
	s.at = s.at[:0]
	if t.speakers != nil {
		for p, d := range s.facts.order {
			if v := s.facts.Speaker[d]; s.in[p] && int(v) < len(t.speakers) && t.speakers[v] {
				s.put(uint32(p), float32(s.Name))
			}
		}
	}
	session := s.facts.session
	for _, posting := range t.postings {
		p, count := s.facts.place[posting.Doc], float32(posting.Count)
		s.put(p, count)
		for i, share := range s.Before {
			q := p + uint32(i) + 1
			if int(q) >= len(session) || session[q] != session[p] {
				break
			}
			s.put(q, count*float32(share))
		}
		for i, share := range s.After {
			q := p - uint32(i) - 1
			if q > p || session[q] != session[p] { // q > p: below the first place
				break
			}
			s.put(q, count*float32(share))
		}
	}
}

// put adds to what a place holds. A share of nothing would reach a place
// without a trace, and so again.
func (s *search) put(p uint32, share float32) {
	if share <= 0 {
		return
	}
	if s.widened[p] == 0 {
		s.at = append(s.at, p)
	}
	s.widened[p] += share
}

// cues changes the score of a place by what else the query says.
func (s *search) cues(p uint32) float64 {
	f, d := s.facts, s.facts.order[p]
	score := float64(s.score[p])
	if s.when && f.Flags[d]&TimeWords != 0 {
		score *= 1 + s.When
	}
	if f.Flags[d]&Asks != 0 {
		score *= 1 - s.Ask
	}
	if s.speaks(d) {
		score *= 1 + s.Speaker
	}
	if s.date.said() {
		score *= 1 + s.Date*s.date.near(utc(f.Time[d]))
	}
	if s.Brief > 0 {
		words := float64(f.Length[d])
		score *= words / (words + s.Brief)
	}
	return score
}

// speaks tells whether the query names who speaks.
func (s *search) speaks(d uint32) bool {
	v := s.facts.Speaker[d]
	return s.named != nil && int(v) < len(s.named) && s.named[v]
}
