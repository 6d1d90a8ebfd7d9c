package lexical

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

// Memory is an index in memory: for tests, and for as many documents as one is
// ready to read again at every start. The zero value is empty. It may be searched by
// several at once, but not while something is added.
type Memory struct {
	postings map[string][]Posting
	docs     []Fact
	facts    *Facts
	speakers []string
}

// Entry is a document to be added to a Memory.
type Entry struct {
	Text             string
	Project, Session uint32 // numbers, see Fact
	Speaker          string // a name; empty for nobody, as is whoever comes after 65,535 others
	Flags            Flags  // besides what Analyse finds
	Kind             uint8
	Time             time.Time
}

// Add adds a document and returns its number.
func (m *Memory) Add(e Entry) uint32 {
	d := Analyse(e.Text)
	if m.postings == nil {
		m.postings, m.speakers = map[string][]Posting{}, []string{""}
	}
	doc := uint32(len(m.docs))
	if e.Flags&Deleted == 0 {
		for _, t := range d.Terms {
			m.postings[t.Term] = append(m.postings[t.Term], Posting{doc, t.Count})
		}
	}
	speaker := slices.Index(m.speakers, e.Speaker)
	if speaker < 0 && len(m.speakers) <= math.MaxUint16 {
		speaker, m.speakers = len(m.speakers), append(m.speakers, e.Speaker)
	}
	m.docs = append(m.docs, Fact{Project: e.Project, Session: e.Session, Length: uint32(d.Length),
		Speaker: uint16(max(0, speaker)), Kind: e.Kind, Flags: d.Flags | e.Flags, Time: e.Time.Unix()})
	m.facts = &Facts{Docs: m.docs, Speakers: m.speakers}
	return doc
}

// Postings implements Index.
func (m *Memory) Postings(_ context.Context, term string) ([]Posting, error) {
	return m.postings[term], nil
}

// Facts implements Index.
func (m *Memory) Facts() *Facts { return cmp.Or(m.facts, &Facts{}) }

// Terms implements Index.
func (m *Memory) Terms(_ context.Context, first string, f func(term string)) error {
	for t := range m.postings {
		if strings.HasPrefix(t, first) {
			f(t)
		}
	}
	return nil
}
