package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// spelling looks for the terms that a misspelt word may be.
type spelling struct {
	word  []rune   // folded; its first letter is taken to be right
	limit int      // slips of the best so far
	near  []string // terms with that many

	before, last, row []int // of a table of slips
}

// newSpelling returns nil for what is not corrected. What is close to a function word
// is none of the others: thier must not become tier.
func newSpelling(t term) *spelling {
	a := analysers.Get().(*analyser)
	a.fold(t.word)
	s := &spelling{word: []rune(string(a.buf)), limit: 1}
	a.release()
	if len(s.word) < minCorrected || !plainWord(string(s.word)) || !plainWord(t.text) {
		return nil
	}
	size := len(s.word) + 1
	s.before, s.last, s.row = make([]int, size), make([]int, size), make([]int, size)
	for w := range lexicon().stop {
		if n := s.slips(w); len(w) >= minCorrected-1 && n != nil && n[size-1] <= 1 {
			return nil
		}
	}
	if len(s.word) >= longWord {
		s.limit = 2
	}
	return s
}

// plainWord tells whether a word is one that somebody may have misspelt.
func plainWord(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) || r >= utf8.RuneSelf && kindOf(r) != wordKind
	})
}

// look considers a term of the index. The slips are those in the word as it is
// written: one near the end changes what the stemmer cuts, and so the stem more than
// the word; the stem of touranment is touran. A term fits if it and the rest of the
// word are a word of that term: activ and the ity of actviity.
func (s *spelling) look(term string) {
	begins := []string{term}
	if begin, ok := strings.CutSuffix(term, "i"); ok { // of a y: famili
		begins = append(begins, begin+"y")
	} else if begin, ok := strings.CutSuffix(term, "e"); ok { // which endings replace: write
		begins = append(begins, begin)
	}
	for _, begin := range begins {
		for i, n := range s.slips(begin) {
			if i > 0 && n > 0 && n <= s.limit && stemOf(begin+string(s.word[i:])) == term {
				if n < s.limit {
					s.limit, s.near = n, s.near[:0]
				}
				s.near = append(s.near, term)
			}
		}
	}
}

// slips counts them between each beginning of the word and another one: a letter
// missing, one too many, a wrong one, or two neighbours swapped. It is nil if all have
// more than the limit.
func (s *spelling) slips(other string) []int {
	for j := range s.last {
		s.last[j] = j
	}
	size, before := 0, rune(0)
	for _, r := range other {
		size++
		s.row[0] = size
		least := size
		for j, c := range s.word {
			n := min(s.last[j+1], s.row[j], s.last[j]) + 1
			if c == r {
				n = min(n, s.last[j])
			}
			if size > 1 && j > 0 && c == before && s.word[j-1] == r {
				n = min(n, s.before[j-1]+1)
			}
			s.row[j+1] = n
			least = min(least, n)
		}
		if least > s.limit {
			return nil
		}
		s.before, s.last, s.row, before = s.last, s.row, s.before, r
	}
	return s.last
}
