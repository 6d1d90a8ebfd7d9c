package lexical

import (
	"cmp"
	"context"
	"fmt"
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
func (s *search) instead(ctx context.Context, t term) ([]term, error) {
	var found []term
	first, size := utf8.DecodeRuneInString(t.text)
	if kindOf(first) == han && len(t.text) > size {
		for _, r := range t.text {
			if functionCharacter(r) {
				continue
			}
			found = append(found, term{text: string(r), word: t.text, part: true})
		}
		return s.present(ctx, found)
	}
	sp := newSpelling(t)
	if sp == nil {
		return nil, nil
	}
	near, err := s.nearest(ctx, sp)
	if err != nil {
		return nil, err
	}
	for _, text := range near {
		c := term{text: text, word: t.word}
		s.nameSpeakers(&c)
		found = append(found, c)
	}
	if found, err = s.present(ctx, found); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		if found, err = s.parts(ctx, string(sp.word), t.word); len(found) > 0 || err != nil {
			return found, err
		}
	}
	slices.SortStableFunc(found, func(a, b term) int { return cmp.Compare(len(b.postings), len(a.postings)) })
	found = found[:min(len(found), maxInstead)]
	for i, c := range found {
		found[i].corrected = true
		s.corrected = append(s.corrected, Correction{t.word, c.text})
	}
	return found, nil
}

// minPart is how many bytes a part of a compound has at least.
const minPart = 4

// parts gives the two words that a compound is written of, if the scope holds both:
// Lagerschlüssel finds the Schlüssel of the Lager.
func (s *search) parts(ctx context.Context, word, written string) ([]term, error) {
	for i := minPart; i <= len(word)-minPart; i++ {
		if !utf8.RuneStart(word[i]) {
			continue
		}
		var parts []term
		for _, part := range []string{word[:i], word[i:]} {
			if text := stemOf(part); text != "" {
				parts = append(parts, term{text: text, word: written, corrected: true})
			}
		}
		parts, err := s.present(ctx, parts)
		if len(parts) == 2 || err != nil {
			return parts, err
		}
	}
	return nil, nil
}

// present gives those of some terms that the scope holds, or the name of somebody.
func (s *search) present(ctx context.Context, terms []term) (found []term, err error) {
	for _, t := range terms {
		if err := s.fetch(ctx, &t); err != nil {
			return nil, err
		}
		if len(t.postings) > 0 || t.speakers != nil {
			found = append(found, t)
		}
	}
	return found, nil
}

// nearest gives the terms of the index with the fewest slips to a word.
func (s *search) nearest(ctx context.Context, sp *spelling) ([]string, error) {
	first, most := string(sp.word[0]), len(sp.word)+sp.limit
	for t := range s.facts.spoken {
		if strings.HasPrefix(t, first) {
			sp.look(t)
		}
	}
	err := s.index.Terms(ctx, first, func(t string) {
		if n := utf8.RuneCountInString(t); n >= minCorrected-2 && n <= most {
			sp.look(t)
		}
	})
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("looking for words like %q in the memory: %w", string(sp.word), err)
	}
	slices.Sort(sp.near)
	near := slices.Compact(sp.near)
	return near[:min(len(near), maxNearest)], nil
}
