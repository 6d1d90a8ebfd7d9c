package lexical

import (
	"context"
	"math"
	"math/bits"
)

// Feature is a reason for a document to come before others. All are linear in a
// score that Weights multiply; most are in units of Around.
type Feature int

// The features. Each pays on at least one of the sets that the weights were
// learned on, or keeps order among what an assistant leaves behind; see
// docs/decisions/memory.md.
const (
	Around      Feature = iota // BM25 of the document, with the words that neighbours lend it
	Terms                      // share of the query's terms that it holds
	TermsAround                // share of the query's terms that it or a neighbour holds
	Next                       // BM25 of the document after it: an answer confirms what it answers
	Speaker                    // Around, if the query names who says it
	Date                       // Around, by how near it is to a date in the query
	When                       // Around, if the query asks for a time and it holds time words
	Brief                      // Around, less the longer it is: thanks, or a yes, is rarely what is looked for
	Assistant                  // 1 if an assistant says it, less to a question: people are asked about what they said
	Tool                       // 1 if a tool printed it
	Question                   // 1 if nobody named asks it, less the longer it is and the more else it holds: its answer is looked for
	NumFeatures
)

// Features are the values of the features, or their weights.
type Features [NumFeatures]float64

var featureNames = [NumFeatures]string{"Around", "Terms", "TermsAround", "Next", "Speaker", "Date", "When", "Brief", "Assistant", "Tool", "Question"}

// String returns the name of the feature.
func (f Feature) String() string { return featureNames[f] }

// Score is the linear sum of the features.
func (w *Features) Score(v *Features) (sum float64) {
	for i := range w {
		sum += w[i] * v[i]
	}
	return sum
}

// features computes what the weights are applied to.
func (s *search) features(p uint32) (v Features) {
	f, d := s.facts, s.facts.order[p]
	scale := 1 / (s.total * (s.K1 + 1))
	base := float64(s.scores[p].around) * scale
	v[Around] = base
	asked := float64(len(s.terms) + s.unknown)
	v[Terms] = float64(bits.OnesCount32(s.scores[p].held)) / asked
	v[TermsAround] = float64(bits.OnesCount32(s.scores[p].reach)) / asked
	if next, ok := f.neighbour(p, 1); ok {
		v[Next] = float64(s.scores[next].words) * scale
	}
	if s.speaks(d) {
		v[Speaker] = base
	}
	v[Date] = base * s.date.near(f.Docs[d].Time)
	flags, words := f.Docs[d].Flags, float64(f.Docs[d].Length)
	if s.when && flags&TimeWords != 0 {
		v[When] = base
	}
	v[Brief] = base * 2 / (words + 2)
	if flags&FromAssistant != 0 {
		v[Assistant] = 1
		if s.answers(p) {
			v[Assistant] = 0.58
		}
	}
	if flags&FromTool != 0 {
		v[Tool] = 1
	}
	if f.Docs[d].Speaker == 0 && s.asks(p) { // people among themselves answer by asking
		repeated := bits.OnesCount32(s.scores[p].held) + s.dropped
		short, others := math.Pow(words/8, 4), max(0, 1-float64(repeated)/max(1, words))
		v[Question] = 1 / (1 + short*short*others*others)
	}
	return v
}

// answers reports whether a question was asked right before, and perhaps tools ran.
func (s *search) answers(p uint32) bool {
	p, ok := s.facts.neighbour(p, -1)
	for ok && s.flags(p)&FromTool != 0 {
		p, ok = s.facts.neighbour(p, -1)
	}
	return ok && s.flags(p)&Asks != 0
}

func (s *search) flags(p uint32) Flags { return s.facts.Docs[s.facts.order[p]].Flags }

// asks reports whether a text only asks for something.
func (s *search) asks(p uint32) bool {
	return s.flags(p)&Asks != 0 || s.idle(p)
}

// written reports whether an assistant wrote a text on request: it had been asked
// nothing and looked nothing up.
func (s *search) written(p uint32) bool {
	before, ok := s.facts.neighbour(p, -1)
	return ok && s.flags(p)&FromAssistant != 0 && s.flags(before)&(Asks|FromTool) == 0
}

// idle reports whether what a user says to an assistant only asks for something,
// though not in a question: a longer answer takes up all words of the query that it
// holds, and it answers nothing that was asked.
func (s *search) idle(p uint32) bool {
	next, ok := s.facts.neighbour(p, 1)
	if !ok || s.flags(p)&(FromAssistant|FromTool) != 0 || s.flags(next)&(FromAssistant|FromTool) == 0 || s.answers(p) {
		return false
	}
	longer := s.facts.Docs[s.facts.order[next]].Length > s.facts.Docs[s.facts.order[p]].Length // than what confirms a statement
	return longer && s.scores[p].held&^s.scores[next].held == 0
}

// Candidate is a document that the first step chose.
type Candidate struct {
	Doc      uint32
	Features Features
}

// Candidates returns the k best documents of the first step with their features,
// in no order: it is for programs that learn weights.
func (r Ranking) Candidates(ctx context.Context, index Index, query Query, k int) ([]Candidate, error) {
	s, err := r.search(ctx, index, query)
	if s == nil || err != nil {
		return nil, err
	}
	var all []Candidate
	for _, f := range s.candidates(k) {
		all = append(all, Candidate{f.doc, s.features(s.facts.place[f.doc])})
	}
	return all, nil
}
