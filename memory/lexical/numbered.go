package lexical

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
)

const (
	maxOthers = 256 // names with other numbers that are looked at
	fewDigits = 2   // numbers of so many digits mean nothing without their name
)

var (
	numberedName = regexp.MustCompile(`^(?i)([a-z]+)[-_.]?([0-9]+)$`)
	otherNumber  = regexp.MustCompile(`^(?:[0-9]+$|[-_.][0-9])`)
)

// tellNumbersApart takes from the parts of a name with a number, such as db03, the
// documents that hold them in other names only: db in db02, and 03 anywhere.
func (s *search) tellNumbersApart(ctx context.Context) {
	for i := range s.terms {
		t := &s.terms[i]
		m := numberedName.FindStringSubmatch(t.word)
		if m == nil {
			continue
		}
		a := Analyse(m[1]).Terms // of the name alone
		if len(a) != 1 || t.text != a[0].Term && t.text != m[2] {
			continue
		}
		name, number := s.postings(ctx, a[0].Term), s.postings(ctx, m[2])
		if t.text == m[2] {
			if len(m[2]) <= fewDigits {
				t.postings = slices.DeleteFunc(slices.Clone(t.postings), func(p Posting) bool { return !holds(name, p.Doc) })
			}
			continue
		}
		others := s.numbered(ctx, strings.ToLower(m[1]))
		t.postings = slices.DeleteFunc(slices.Clone(t.postings), func(p Posting) bool {
			return int(p.Count) <= others[p.Doc] && !holds(number, p.Doc)
		})
	}
}

func holds(postings []Posting, doc uint32) bool {
	_, ok := slices.BinarySearchFunc(postings, doc, func(p Posting, d uint32) int { return cmp.Compare(p.Doc, d) })
	return ok
}

// numbered counts how often documents hold a name with a number behind it.
func (s *search) numbered(ctx context.Context, name string) map[uint32]int {
	var terms []string
	s.beginning(ctx, name, func(t string) {
		if otherNumber.MatchString(t[len(name):]) && len(terms) < maxOthers {
			terms = append(terms, t)
		}
	})
	counts := map[uint32]int{}
	for _, t := range terms {
		for _, p := range s.postings(ctx, t) {
			counts[p.Doc] += int(p.Count)
		}
	}
	return counts
}
