package lexical

import (
	"cmp"
	"context"
	"fmt"
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
func (s *search) tellNumbersApart(ctx context.Context) error {
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
		name, number := term{text: a[0].Term}, term{text: m[2]}
		for _, part := range []*term{&name, &number} {
			if err := s.fetch(ctx, part); err != nil {
				return err
			}
		}
		if t.text == m[2] {
			if len(m[2]) <= fewDigits {
				t.postings = slices.DeleteFunc(slices.Clone(t.postings), func(p Posting) bool { return !holds(name.postings, p.Doc) })
			}
			continue
		}
		others, err := s.numbered(ctx, strings.ToLower(m[1]))
		if err != nil {
			return err
		}
		t.postings = slices.DeleteFunc(slices.Clone(t.postings), func(p Posting) bool {
			return int(p.Count) <= others[p.Doc] && !holds(number.postings, p.Doc)
		})
	}
	return nil
}

func holds(postings []Posting, doc uint32) bool {
	_, ok := slices.BinarySearchFunc(postings, doc, func(p Posting, d uint32) int { return cmp.Compare(p.Doc, d) })
	return ok
}

// numbered counts how often documents hold a name with a number behind it.
func (s *search) numbered(ctx context.Context, name string) (map[uint32]int, error) {
	var terms []string
	err := s.index.Terms(ctx, name, func(t string) {
		if otherNumber.MatchString(t[len(name):]) && len(terms) < maxOthers {
			terms = append(terms, t)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("looking for names like %q in the memory: %w", name, err)
	}
	counts := map[uint32]int{}
	for _, t := range terms {
		other := term{text: t}
		if err := s.fetch(ctx, &other); err != nil {
			return nil, err
		}
		for _, p := range other.postings {
			counts[p.Doc] += int(p.Count)
		}
	}
	return counts, nil
}
