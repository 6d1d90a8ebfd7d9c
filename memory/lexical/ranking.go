package lexical

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Ranking finds documents in two steps. BM25, in which documents lend their words
// to their neighbours, chooses candidates; a linear sum of Features orders them.
// It holds no state.
type Ranking struct {
	// K1 and B are those of BM25: how soon repeating a word stops to count, and
	// how much a long document is held back.
	K1, B float64
	// Lend are the shares of its words that a document lends to others of its session.
	Lend []Share
	// Lender is the number of words at which a document lends half of that: a
	// long one holds many words that its neighbours are not about.
	Lender float64
	// Name is how often a document is taken to hold its speaker's name.
	Name float64
	// Floor is the share of the query's words that a document and its neighbours must
	// hold for anything to be found at all.
	Floor float64
	// Similar is by how much the score of a document is lifted whose meaning is
	// that of the query, see Query.Similarities; one that is less near is lifted less.
	Similar float64
	// Weights are those of the features.
	Weights Features
}

// Share is the part of its words that a document lends to the one at a distance: 1 is
// the next one, -1 the one before. The part is above 0.
type Share struct {
	Distance int
	Part     float32
}

// learned are the weights that scripts/rank prints. Those of the last three are
// chosen by hand, see docs/decisions/memory.md.
var learned = Features{
	Around: 6, Terms: 3.4, TermsAround: 1.8, Next: 1.6, Speaker: 6.4, Date: 8.7, When: 4.6, Brief: -3.4, Assistant: -5.5, Tool: -7, Question: -7,
}

// Default is the ranking that was learned; docs/decisions/memory.md says on what.
func Default() Ranking {
	return Ranking{
		K1: 1, B: 0.3,
		Lend: []Share{{1, 1.2}, {2, 1}, {3, 0.75}, {4, 0.5}, {5, 0.25}, {-1, 0.75}, {-2, 0.5}, {-3, 0.25}}, Lender: 30,
		Name: 2, Floor: 0.42, Similar: 1, Weights: learned,
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
	s, err := r.search(ctx, index, query)
	if s == nil || err != nil {
		return nil, err
	}
	defer scratches.Put(s.scratch)
	return s.hits(ctx, k)
}

// search does all that does not depend on the weights. It returns nil if nothing
// is in scope, or nothing holds a word of the query.
func (r Ranking) search(ctx context.Context, index Index, query Query) (*search, error) {
	facts := index.Facts()
	facts.link()
	s := search{Ranking: r, index: index, facts: facts, query: query}
	s.read()
	s.narrow()
	if s.count == 0 {
		return nil, ctx.Err()
	}
	if err := s.lookUp(ctx); err != nil || len(s.terms) == 0 {
		return nil, err
	}
	s.scratch = scratches.Get().(*scratch)
	if n := len(facts.order); len(s.scores) != n {
		*s.scratch = scratch{make([]float32, n), make([]uint32, n), make([]score, n), make([]uint32, 0, n)}
	}
	clear(s.scores)
	s.reached = s.reached[:0]
	for i := range s.terms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.weigh(i)
	}
	return &s, nil
}

// search is one query on its way. Arrays are in the order of places.
type search struct {
	Ranking
	index Index
	facts *Facts
	query Query

	when    bool // the query asks for a time
	pasted  bool // it is longer than a question
	listed  bool // it is a list of words, without a function word of English
	foreign bool // it has function words of another language
	dropped int  // how many
	date    date
	named   []uint16 // speakers

	*scope
	err     error   // of the index
	terms   []term  // a bit each
	unknown int     // words of the query that nothing in scope holds
	total   float64 // of what terms are worth by their rarity
	kinds   uint32  // bits of the terms that name the kind of the answer

	*scratch
}

// scratch is what a search writes to. Searches use it one after another, since to
// get so much memory takes longer than to clear it.
type scratch struct {
	widened []float32 // how much of the current term each place holds
	at      []uint32  // room for the places where that is not 0
	scores  []score   // of places
	reached []uint32  // places with a score
}

// score is what a place has of the terms so far.
type score struct {
	around      float32 // BM25 with what neighbours lend
	words       float32 // BM25 of the document alone
	held, reach uint32  // bits of the terms that a place holds, and that it or a neighbour holds
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// term is a word that is looked for.
type term struct {
	text, word string // as indexed, as written in the query
	postings   []Posting
	speakers   []uint16 // whose name has it
	corrected  bool     // it stands for a word that was written otherwise
	part       bool     // it is a character of a pair that the scope does not hold
	kind       bool     // it names the kind of the answer
}

// lost reports whether the scope does not hold the term, and nobody has it in their name.
func (t term) lost() bool { return len(t.postings) == 0 && t.speakers == nil }

// scope is what is in scope, and the statistics of it.
type scope struct {
	of    string    // what they depend on
	in    []bool    // whether each place is
	count int       // of documents in scope
	norm  []float32 // of each place: how many times it holds a word for half of what that is worth
	lent  []float32 // of each place: the part of its words that it may lend
}

// narrow finds the scope, which is usually that of the last search.
func (s *search) narrow() {
	f, q, n := s.facts, &s.query, len(s.facts.order)
	of := fmt.Sprint(s.K1, s.B, s.Lender, q.History, q.Projects, q.Sessions)
	if s.scope = f.scope.Load(); s.scope != nil && s.of == of {
		return
	}
	s.scope = &scope{of: of, in: make([]bool, n), norm: make([]float32, n), lent: make([]float32, n)}
	var total uint64
	for p, d := range f.order {
		length := f.Docs[d].Length
		s.norm[p] = float32(length)                             // exact: no text has 1<<24 words
		if f.session[p] != 0 && f.Docs[d].Flags&FromTool == 0 { // what a tool prints holds many words that the conversation is not about
			s.lent[p] = float32(s.Lender / (s.Lender + float64(length)))
		}
		if q.covers(f, d) {
			s.in[p] = true
			s.count++
			total += uint64(length)
		}
	}
	length := max(1, float64(total)) / max(1, float64(s.count))
	for p, words := range s.norm {
		s.norm[p] = float32(s.K1 * (1 - s.B + s.B*float64(words)/length))
	}
	f.scope.Store(s.scope)
}

// member tells whether v is in a set; an empty one holds everything.
func member[T comparable](set []T, v T) bool {
	return len(set) == 0 || slices.Contains(set, v)
}

// guessed is the part of its weight that a word has which was taken for another.
const guessed = 0.7

// commonWord is how many documents hold a word at least that is not lent, if they are
// more than a third of all: with neighbours it would reach them all, and say nothing.
const commonWord = 1000

// weigh adds what one term is worth to the scores of each place that it reaches.
func (s *search) weigh(i int) {
	t := &s.terms[i]
	share, lending := float64(len(t.postings))/float64(s.count), s.Lend
	common := len(t.postings) > commonWord && share > 1./3
	if common {
		lending = nil
	}
	at := s.widen(t, lending)
	// A word is as common as the documents that it reaches, since those are what
	// it scores. Counting its holders alone takes the name of somebody who is
	// addressed now and then for a rare word.
	reached := len(at)
	if common {
		reached = max(reached, int(float64(s.count)*(1-math.Pow(1-share, float64(1+len(s.Lend))))))
	}
	if t.kind {
		s.kinds |= 1 << i
	}
	n := float64(reached)
	idf := math.Log(1 + (float64(s.count)-n+0.5)/(n+0.5))
	if t.corrected {
		idf *= guessed
	}
	s.total += idf
	most := float32(idf * (s.K1 + 1))
	scores, norm := s.scores, s.norm
	for _, p := range at {
		tf := s.widened[p]
		s.widened[p] = 0
		score := &scores[p]
		if score.reach == 0 {
			s.reached = append(s.reached, p)
		}
		score.reach |= 1 << i
		score.around += most * tf / (tf + norm[p])
	}
	for _, posting := range t.postings {
		p := s.facts.place[posting.Doc]
		score, tf := &scores[p], float32(posting.Count)
		score.held |= 1 << i
		score.words += most * tf / (tf + norm[p])
	}
}

// widen finds how much of a term each place in scope holds or is lent, and returns
// the places where that is not 0.
func (s *search) widen(t *term, lending []Share) []uint32 {
	at, widened, n := s.at[:cap(s.at)], s.widened, 0
	if t.speakers != nil && s.Name > 0 {
		named := make([]bool, math.MaxUint16+1)
		for _, v := range t.speakers {
			named[v] = true
		}
		for p, d := range s.facts.order {
			if named[s.facts.Docs[d].Speaker] {
				at[n], widened[p] = uint32(p), float32(s.Name)
				n++
			}
		}
	}
	sessions := s.facts.session
	for _, posting := range t.postings {
		p, count := int(s.facts.place[posting.Doc]), float32(posting.Count)
		if widened[p] == 0 {
			at[n] = uint32(p)
			n++
		}
		widened[p] += count
		if count *= s.lent[p]; count == 0 {
			continue
		}
		for _, l := range lending {
			q := p + l.Distance
			if q < 0 || q >= len(sessions) || sessions[q] != sessions[p] {
				continue
			}
			if widened[q] == 0 {
				at[n] = uint32(q)
				n++
			}
			widened[q] += count * l.Part
		}
	}
	return slices.DeleteFunc(at[:n], func(p uint32) bool {
		if s.in[p] {
			return false
		}
		widened[p] = 0
		return true
	})
}

// speaks tells whether the query names who speaks.
func (s *search) speaks(d uint32) bool {
	return slices.Contains(s.named, s.facts.Docs[d].Speaker)
}
