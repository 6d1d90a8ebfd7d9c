package lexical

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxQueryTerms is how many terms of a query are looked for: a question has
// about ten. Of a page that was pasted those at the beginning and at the end
// count, where a question about it stands.
const maxQueryTerms = 32

// read takes the query apart.
func (s *search) read() {
	head := s.query.Text[:min(len(s.query.Text), maxDateText)]
	s.date, s.when = findDate(head), asksWhen(head)
	a := analysers.Get().(*analyser)
	defer a.release()
	a.query = true
	a.scan(s.query.Text)
	s.pasted = len(a.found) > maxQueryTerms
	kinds, dropped := s.functions(a)
	for i, t := range a.found {
		if dropped[t.Term] && len(dropped) < len(a.found) {
			s.dropped++
			first, _ := utf8.DecodeRuneInString(t.Term)
			s.foreign = s.foreign || kindOf(first) == wordKind
			continue
		}
		if maxQueryTerms/2 <= i && i < len(a.found)-maxQueryTerms/2 {
			continue
		}
		t := term{text: t.Term, word: strings.Clone(a.words[i]), kind: kinds[t.Term] || lexicon().kinds[t.Term] || strings.ContainsFunc(t.Term, functionCharacter)}
		s.nameSpeakers(&t)
		s.terms = append(s.terms, t)
	}
}

// nameSpeakers finds the speakers whose name has the term.
func (s *search) nameSpeakers(t *term) {
	t.speakers = s.facts.spoken[t.text]
	s.named = append(s.named, t.speakers...)
}

// lookUp gets the postings of the terms, and of others for those that the
// scope does not hold.
func (s *search) lookUp(ctx context.Context) error {
	for i := range s.terms {
		s.terms[i].postings = s.postings(ctx, s.terms[i].text)
	}
	s.tellNumbersApart(ctx)
	known := slices.DeleteFunc(slices.Clone(s.terms), term.lost)
	unknown := slices.DeleteFunc(s.terms, func(t term) bool { return !t.lost() })
	s.terms = known
	for _, t := range unknown {
		instead := s.instead(ctx, t)
		inKnown := slices.ContainsFunc(known, func(k term) bool { return k.word == t.word }) // llama3, of which llama is known
		if len(instead) == 0 && !inKnown && !lexicon().kinds[t.text] && !strings.Contains(s.date.text, t.word) && !strings.ContainsFunc(t.word, functionCharacter) {
			s.unknown++
		}
		for _, i := range instead {
			if len(s.terms) < maxQueryTerms && !slices.ContainsFunc(s.terms, func(t term) bool { return t.text == i.text }) {
				s.terms = append(s.terms, i)
			}
		}
	}
	return s.err
}

// postings gives those of a term that are in scope. After an error of the index, which
// lookUp returns, there are none.
func (s *search) postings(ctx context.Context, text string) []Posting {
	if s.err = cmp.Or(s.err, ctx.Err()); s.err != nil {
		return nil
	}
	all, err := s.index.Postings(ctx, text)
	if err != nil {
		s.err = fmt.Errorf("looking for %q in the memory: %w", text, err)
	}
	if slices.ContainsFunc(all, s.lacks) { // usually nothing is copied
		return slices.DeleteFunc(slices.Clone(all), s.lacks)
	}
	return all
}

// beginning calls f with the terms of the index that begin in the same way.
func (s *search) beginning(ctx context.Context, first string, f func(term string)) {
	if s.err = cmp.Or(s.err, ctx.Err()); s.err != nil {
		return
	}
	if err := s.index.Terms(ctx, first, f); err != nil {
		s.err = fmt.Errorf("looking for words like %q in the memory: %w", first, err)
	}
}

// lacks tells whether a posting is out of scope. Its document may have been added
// since the facts were read, and is then, too.
func (s *search) lacks(p Posting) bool {
	place := s.facts.place
	return p.Count == 0 || int(p.Doc) >= len(place) || place[p.Doc] == gone || !s.in[place[p.Doc]]
}
