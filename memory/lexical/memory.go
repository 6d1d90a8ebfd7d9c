package lexical

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Memory is an index in memory: for tests, and for as many documents as one is
// ready to read again at every start. The zero value is empty. It is safe for
// concurrent use.
type Memory struct {
	mu       sync.RWMutex
	postings map[string][]Posting
	letters  map[rune][]string // the terms by their first character
	facts    Facts             // grows; what is given out are copies
	given    *Facts
	speakers map[string]uint16
	sessions map[string]uint32
	projects map[string]uint32
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
		m.postings, m.letters = map[string][]Posting{}, map[rune][]string{}
		m.speakers = map[string]uint16{"": 0}
		m.sessions, m.projects = map[string]uint32{}, map[string]uint32{}
		m.facts.Speakers = []string{""}
	}
	f := &m.facts
	doc := uint32(len(f.Time))
	for _, t := range d.Terms {
		held := m.postings[t.Term]
		if held == nil {
			r, _ := utf8.DecodeRuneInString(t.Term)
			m.letters[r] = append(m.letters[r], t.Term)
		}
		m.postings[t.Term] = append(held, Posting{doc, t.Count})
	}
	speaker, ok := m.speakers[e.Speaker]
	if !ok && len(f.Speakers) < 1<<16 {
		speaker = uint16(len(f.Speakers))
		m.speakers[e.Speaker] = speaker
		f.Speakers = append(f.Speakers, e.Speaker)
	}
	f.Project = append(f.Project, number(m.projects, e.Project))
	f.Session = append(f.Session, number(m.sessions, e.Session))
	f.Speaker = append(f.Speaker, speaker)
	f.Kind = append(f.Kind, e.Kind)
	f.Time = append(f.Time, e.Time.Unix())
	f.Length = append(f.Length, uint32(d.Length))
	f.Flags = append(f.Flags, d.Flags|e.Flags)
	m.given = nil
	return doc
}

// Mark sets flags of a document that Add has given: Deleted or Superseded.
func (m *Memory) Mark(doc uint32, flags Flags) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.facts.Flags = slices.Clone(m.facts.Flags) // the old ones may be in use
	m.facts.Flags[doc] |= flags
	m.given = nil
}

// Project gives the number of a project, for Query.Projects.
func (m *Memory) Project(name string) (uint32, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, ok := m.projects[name]
	return n, ok
}

// Session gives the number of a session, for Query.Sessions.
func (m *Memory) Session(name string) (uint32, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, ok := m.sessions[name]
	return n, ok
}

func number(m map[string]uint32, name string) uint32 {
	n, ok := m[name]
	if !ok {
		n = uint32(len(m))
		m[name] = n
	}
	return n
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
	if m.given == nil {
		f := &m.facts
		m.given = &Facts{Project: f.Project, Session: f.Session, Kind: f.Kind, Speaker: f.Speaker,
			Time: f.Time, Length: f.Length, Flags: f.Flags, Speakers: f.Speakers}
	}
	return m.given, nil
}

// Terms implements Index.
func (m *Memory) Terms(_ context.Context, first string, minLen, maxLen int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r, _ := utf8.DecodeRuneInString(first)
		m.mu.RLock()
		terms := m.letters[r] // it only grows, so that no lock is held while others look at it
		m.mu.RUnlock()
		for _, t := range terms {
			n := utf8.RuneCountInString(t)
			if n >= minLen && n <= maxLen && strings.HasPrefix(t, first) && !yield(t, nil) {
				return
			}
		}
	}
}
