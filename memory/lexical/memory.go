package lexical

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is an index in memory: for tests, and for as many documents as one is
// ready to read again at every start. The zero value is empty. It is safe for
// concurrent use.
type Memory struct {
	mu       sync.RWMutex
	postings map[string][]Posting
	docs     []Fact
	facts    *Facts // nil after a change
	speakers []string
	numbers  map[string]uint32 // of projects and sessions
}

// Entry is a document to be added to a Memory.
type Entry struct {
	Text    string
	Project string
	Session string // neighbours are those before and after it in its session
	Speaker string // a name; empty for nobody, as is whoever comes after 65,535 others
	Flags   Flags  // FromAssistant or FromTool, besides what Analyse finds
	Kind    uint8
	Time    time.Time
}

// Add adds a document and returns its number.
func (m *Memory) Add(e Entry) uint32 {
	d := Analyse(e.Text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.postings == nil {
		m.postings, m.numbers, m.speakers = map[string][]Posting{}, map[string]uint32{}, []string{""}
	}
	doc := uint32(len(m.docs))
	for _, t := range d.Terms {
		m.postings[t.Term] = append(m.postings[t.Term], Posting{doc, t.Count})
	}
	speaker := slices.Index(m.speakers, e.Speaker)
	if speaker < 0 && len(m.speakers) <= math.MaxUint16 {
		speaker, m.speakers = len(m.speakers), append(m.speakers, e.Speaker)
	}
	m.docs = append(m.docs, Fact{Project: m.number(e.Project), Session: m.number(e.Session), Length: uint32(d.Length),
		Speaker: uint16(max(0, speaker)), Kind: e.Kind, Flags: d.Flags | e.Flags, Time: e.Time.Unix()})
	m.facts = nil
	return doc
}

func (m *Memory) number(name string) uint32 {
	n, ok := m.numbers[name]
	if !ok {
		n = uint32(len(m.numbers)) + 1
		m.numbers[name] = n
	}
	return n
}

// Mark sets flags of a document that Add has given: Deleted or Superseded.
func (m *Memory) Mark(doc uint32, flags Flags) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.docs = slices.Clone(m.docs) // the old ones may be in use
	m.docs[doc].Flags |= flags
	m.facts = nil
}

// Number returns the number of a project or a session, for Query.Projects and
// Query.Sessions.
func (m *Memory) Number(name string) (uint32, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, ok := m.numbers[name]
	return n, ok
}

// Postings implements Index.
func (m *Memory) Postings(_ context.Context, term string) ([]Posting, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.postings[term], nil
}

// Facts implements Index.
func (m *Memory) Facts(context.Context) (*Facts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		m.facts = &Facts{Docs: m.docs, Speakers: m.speakers}
	}
	return m.facts, nil
}

// Terms implements Index.
func (m *Memory) Terms(_ context.Context, first string, f func(term string)) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	stays := func(p Posting) bool { return m.docs[p.Doc].Flags&Deleted == 0 }
	for t, postings := range m.postings {
		if strings.HasPrefix(t, first) && slices.ContainsFunc(postings, stays) {
			f(t)
		}
	}
	return nil
}
