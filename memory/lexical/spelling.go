package lexical

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// spelling looks for the terms that a misspelt word may be.
type spelling struct {
	word  string // folded
	first string // its first letter, which is taken to be right
	raw   *distance
	stem  *distance
	limit int      // slips of the best so far
	near  []string // terms with that many
}

// newSpelling returns nil for what is not corrected.
func newSpelling(t term, slips int) *spelling {
	a := analysers.Get().(*analyser)
	a.fold(t.word)
	word := string(a.buf)
	a.release()
	limit := min(slips, 2)
	if utf8.RuneCountInString(word) < longWord {
		limit = min(limit, 1)
	}
	if utf8.RuneCountInString(t.text) < minCorrected || limit <= 0 || !plainWord(word) || !plainWord(t.text) {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(word)
	return &spelling{word: word, first: string(r), raw: newDistance(word), stem: newDistance(t.text), limit: limit}
}

// plainWord tells whether a word is one that somebody may have misspelt.
func plainWord(word string) bool {
	for _, r := range word {
		if !unicode.IsLetter(r) || r >= utf8.RuneSelf && kindOf(r) != wordKind {
			return false
		}
	}
	return true
}

// forms looks among the words that are not in the index as they are written.
// It is nil if there is none, and empty for a stop word: wuold must not become
// world, and bougth is a form of buy.
func (s *spelling) forms() []string {
	l := lexicon()
	for w := range l.stop {
		if len(w) >= minCorrected && s.raw.to(w, 1) == 1 {
			return []string{}
		}
	}
	var near []string
	for form, base := range l.irregular {
		if len(form) >= minCorrected && s.raw.to(form, 1) == 1 {
			near = append(near, stemOf(base))
		}
	}
	slices.Sort(near)
	return slices.Compact(near)
}

// look considers a term of the index.
func (s *spelling) look(t string) {
	n := s.written(t)
	if near := s.stem.to(t, s.limit); near < n && (near < 2 || len(s.stem.word) >= longWord) {
		n = near // two slips in a short stem are another word: index is not indent
	}
	switch {
	case n > s.limit || n == 0:
	case n < s.limit:
		s.limit, s.near = n, append(s.near[:0], t)
	default:
		s.near = append(s.near, t)
	}
}

// written counts the slips in the word as it is written. A slip near the end
// changes what the stemmer cuts, and so the stem more than the word: the stem
// of touranment is touran. A term fits if it and the rest of the word are a
// word of that term: activ and the ity of actviity.
func (s *spelling) written(term string) int {
	best := s.limit + 1
	last := len(term) - 1
	best = min(best, s.begins(term, term))
	switch term[last] {
	case 'i': // of a y: famili
		best = min(best, s.begins(term, term[:last]+"y"))
	case 'e': // which endings replace: write
		best = min(best, s.begins(term, term[:last]))
	}
	return best
}

// begins counts the slips in the beginning of the word that stands for begin,
// where begin and the rest are a word of the term.
func (s *spelling) begins(term, begin string) int {
	s.raw.fill(begin, s.limit)
	best := s.limit + 1
	for i := len(s.raw.word); i > 0; i-- {
		if s.raw.ends[i] < best && stemOf(begin+string(s.raw.word[i:])) == term {
			best = s.raw.ends[i]
		}
	}
	return best
}
