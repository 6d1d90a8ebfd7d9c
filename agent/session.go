package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mylm/providers"
)

// Recorder keeps the entries of sessions as they are made; Entry.Session tells
// them apart. Append returns when the entry is safe; a call's entry is appended
// before the call runs. An error ends the run. It may be called by several runs
// at once.
type Recorder interface {
	Append(context.Context, Entry) error
}

// Session is the record of a conversation: it only grows. It may be read at
// any time and is used by one run at a time. The zero value is an empty one.
type Session struct {
	// ID names the session. NewSession, or else the first run, sets it; it may
	// be replaced before that run.
	ID string

	busy     atomic.Bool
	mu       sync.Mutex
	recorded int // entries that a recorder has, or that need none
	entries  []Entry
	result   *Result // of the last run here
}

// ErrSessionBusy is returned by a run on a session that another run is using.
var ErrSessionBusy = errors.New("the session is in use by another run")

// NewSession starts a session with the messages of an earlier conversation, in
// their order. They come between the system prompt and the first prompt.
func NewSession(history ...providers.Message) *Session {
	s := &Session{ID: newID()}
	now := time.Now()
	for _, m := range history {
		s.add(Entry{Time: now, Payload: HistoryEntry{m.Role, m.Text}})
	}
	return s
}

// Entries returns the record so far.
func (s *Session) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// all is Entries without a copy, for those who only look.
func (s *Session) all() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.entries)
}

// Messages returns the whole conversation, without the system prompt, also what
// a run no longer shows to the model.
func (s *Session) Messages() []providers.Message {
	var messages []providers.Message
	for _, e := range s.all() {
		if m, ok := e.message(0); ok {
			messages = append(messages, m)
		}
	}
	return messages
}

// unrecorded returns the entries that were there before there was a recorder.
func (s *Session) unrecorded() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.entries[s.recorded:])
}

// wrote notes that the entries up to one are recorded.
func (s *Session) wrote(seq int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = seq
}

func (s *Session) add(e Entry) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Session, e.Seq = s.ID, len(s.entries)+1
	s.entries = append(s.entries, e)
	return e
}

func (s *Session) last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// LoadSession makes a session of the entries that a Recorder kept. They are not
// recorded again. It is an error if one of them is missing, or refers to one that
// does not come before it.
func LoadSession(id string, entries []Entry) (*Session, error) {
	s := &Session{ID: id}
	for i, e := range entries {
		if e.Seq != i+1 {
			return nil, fmt.Errorf("entry %d of the session %s is missing: entry %d is in its place", i+1, id, e.Seq)
		}
		if !e.sound() {
			return nil, fmt.Errorf("entry %d of the session %s is damaged: it refers to an entry that does not exist", i+1, id)
		}
		s.add(e)
	}
	s.recorded = len(s.entries)
	return s, nil
}

// sound reports whether what the entry points to can be there.
func (e *Entry) sound() bool {
	before := func(seq int) bool { return 0 <= seq && seq < e.Seq }
	if p, ok := e.Payload.(CompactionEntry); ok {
		return before(p.Through) && before(p.Request)
	}
	s := e.state()
	return s == nil || 0 < s.First && before(s.First) && before(s.PromptCut) && before(s.Closing) && s.Counted >= 0 &&
		!slices.ContainsFunc(s.Continued, func(seq int) bool { return seq == 0 || !before(seq) })
}

// Unfinished reports whether Resume would go on with the session.
func (s *Session) Unfinished() bool { return s.Resumable() == nil }

// Resumable returns why Resume would not go on with the session: ErrComplete if
// its last question was answered, ErrNoQuestion if that is not recorded.
func (s *Session) Resumable() error {
	state := ErrNoQuestion
	for _, e := range s.all() {
		switch p := e.Payload.(type) {
		case RunEntry:
			if state == ErrComplete && p.Name == "" { // a question should follow
				state = ErrNoQuestion
			}
		case PromptEntry:
			state = nil
		case EndEntry:
			if state == nil && p.StopReason == StopComplete {
				state = ErrComplete
			}
		}
	}
	return state
}

// Result returns what the last run in this session came to, since the session
// was made or loaded; ok is false while there is none. It is there also for a
// consumer that left before the last event, or panicked.
func (s *Session) Result() (result Result, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.result == nil {
		return Result{}, false
	}
	return *s.result, true
}

func (s *Session) ended(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result = &r
}

// rewind takes the entries from index n on out of the session, for the run that
// goes through them again and puts them back.
func (s *Session) rewind(n int) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := slices.Clone(s.entries[n:])
	s.entries = s.entries[:n:n]
	return tail
}

// tainted reports whether strangers' words are among the results.
func tainted(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { p, ok := e.Payload.(ResultEntry); return ok && foreign(p.Origin) })
}
