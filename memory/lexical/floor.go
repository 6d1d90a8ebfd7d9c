package lexical

import "slices"

// longQuestion is how many words count of a long question: no single document answers
// all that it says.
const longQuestion = 4

// anywhere are terms that any question and any text may have, though they are no function
// words. Seen in TestNothingBySlips: "The last port of the list is in use" is no answer to
// what happened last year.
var anywhere = map[string]bool{"use": true, "last": true, "next": true}

// answered reports whether a candidate is about the query: whether it, together with
// its neighbours, holds enough of its words. Rare words do not count for more: what is
// asked about again and again is not rare. What stands for a word that nobody used counts
// half; what any text may hold shows nothing. A query that names a speaker is about what they
// said, and of a text that was pasted most words may be unknown.
func (s *search) answered(candidates []found) bool {
	if s.Floor <= 0 || s.named != nil || s.pasted {
		return true
	}
	total := float64(s.unknown)
	var worth [maxQueryTerms]float64
	for i, t := range s.terms {
		if lexicon().kinds[t.text] {
			continue
		}
		switch {
		case anywhere[t.text]:
		case t.corrected || t.part:
			worth[i] = 0.5
		default:
			worth[i] = 1
		}
		if i == 0 || s.terms[i-1].word != t.word { // a name of several terms counts once
			total++
		}
	}
	floor := s.Floor
	if s.foreign || s.listed { // more are function words that the lists lack, or guesses
		floor /= 2
	}
	return slices.ContainsFunc(candidates, func(c found) bool {
		score, share, most := &s.scores[s.facts.place[c.doc]], 0.0, 0.0
		for i, t := range s.terms {
			if i > 0 && t.word != s.terms[i-1].word {
				share += most
				most = 0
			}
			most = max(most, worth[i]*float64(score.held>>i&1+score.reach>>i&1))
		}
		held := share + most
		if s.facts.Docs[c.doc].Speaker != 0 { // what people said to each other is asked about in words of another kind
			held *= 2
		}
		return held >= 2*floor*min(total, longQuestion)
	})
}

// kindTerms are the terms of words that say what kind of answer is wanted, and
// nothing of what it is about.
const kindTerms = "name call number mani much kind sort type colour color time day date year place thing person get say tell know find rememb"
