package lexical

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	minCorrected = 5  // letters: shorter words are one slip from too many others
	longWord     = 10 // letters from which two slips are corrected
	maxNearest   = 16 // terms at the same distance that are looked at
	maxInstead   = 3  // of which this many are looked for: those that most documents hold
)

// instead gives what to look for in place of a term that the scope does not
// hold: the terms nearest to it in spelling, or the characters of a pair.
func (s *search) instead(ctx context.Context, t term) []term {
	first, size := utf8.DecodeRuneInString(t.text)
	if kindOf(first) == han && len(t.text) > size {
		var found []term
		for _, r := range t.text {
			if !functionCharacter(r) {
				found = append(found, term{text: string(r), word: t.text, part: true})
			}
		}
		return s.present(ctx, found)
	}
	sp := newSpelling(t)
	if sp == nil {
		return nil
	}
	var found []term
	for _, text := range s.nearest(ctx, sp) {
		c := term{text: text, word: t.word, corrected: true}
		s.nameSpeakers(&c)
		found = append(found, c)
	}
	if found = s.present(ctx, found); len(found) == 0 {
		return s.parts(ctx, string(sp.word), t.word)
	}
	slices.SortStableFunc(found, func(a, b term) int { return cmp.Compare(len(b.postings), len(a.postings)) })
	return found[:min(len(found), maxInstead)]
}

// minPart is how many bytes a part of a compound has at least.
const minPart = 4

// parts gives the two words that a compound is written of, if the scope holds both:
// Lagerschlüssel finds the Schlüssel of the Lager.
func (s *search) parts(ctx context.Context, word, written string) []term {
	for i := minPart; i <= len(word)-minPart; i++ {
		if !utf8.RuneStart(word[i]) {
			continue
		}
		var parts []term
		for _, part := range []string{word[:i], word[i:]} {
			parts = append(parts, term{text: stemOf(part), word: written, corrected: true})
		}
		if parts = s.present(ctx, parts); len(parts) == 2 {
			return parts
		}
	}
	return nil
}

// present gives those of some terms that the scope holds, or the name of somebody.
func (s *search) present(ctx context.Context, terms []term) []term {
	for i, t := range terms {
		terms[i].postings = s.postings(ctx, t.text)
	}
	return slices.DeleteFunc(terms, term.lost)
}

// nearest gives the terms of the index with the fewest slips to a word.
func (s *search) nearest(ctx context.Context, sp *spelling) []string {
	first, most := string(sp.word[0]), len(sp.word)+sp.limit
	for t := range s.facts.spoken {
		if strings.HasPrefix(t, first) {
			sp.look(t)
		}
	}
	s.beginning(ctx, first, func(t string) {
		if n := utf8.RuneCountInString(t); n >= minCorrected-2 && n <= most {
			sp.look(t)
		}
	})
	slices.Sort(sp.near)
	near := slices.Compact(sp.near)
	return near[:min(len(near), maxNearest)]
}
