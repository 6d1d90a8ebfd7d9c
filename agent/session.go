package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// EntryKind says what a session entry records.
type EntryKind string

// The kinds of entry.
const (
	EntryHistory EntryKind = "history" // a message of an earlier conversation
	EntryRun     EntryKind = "run"     // a run begins: its system prompt
	EntryPrompt  EntryKind = "prompt"  // what was asked
	EntryReply   EntryKind = "reply"   // what the model wrote
	EntryCall    EntryKind = "call"    // a call that is about to run
	EntryResult  EntryKind = "result"  // what the call gave back, or why it did not run
	EntryUser    EntryKind = "user"    // what the engine told the model: a correction, a nudge
	EntryEnd     EntryKind = "end"     // a run ends
)

// Entry is one line of a session's record. Entries are never changed.
type Entry struct {
	Seq  int       `json:"seq"` // from 1
	Time time.Time `json:"time"`
	Run  string    `json:"run,omitempty"`
	Turn int       `json:"turn,omitempty"`
	Kind EntryKind `json:"kind"`

	Role    providers.Role       `json:"role,omitempty"`    // history
	Text    string               `json:"text,omitempty"`    // the message, or the body of a result
	Thought string               `json:"thought,omitempty"` // reply
	Answer  string               `json:"answer,omitempty"`  // reply: the part of Text that answers
	Stop    providers.StopReason `json:"stop,omitempty"`    // reply
	Usage   *providers.Usage     `json:"usage,omitempty"`   // reply

	Call    string          `json:"call,omitempty"` // call, result: the call's id
	Name    string          `json:"name,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Effect  *tools.Effect   `json:"effect,omitempty"`
	Success bool            `json:"success,omitempty"`
	Denied  bool            `json:"denied,omitempty"`
	Skipped bool            `json:"skipped,omitempty"`
	Origin  string          `json:"origin,omitempty"`
	Note    string          `json:"note,omitempty"` // result: what the engine adds below it

	StopReason StopReason `json:"stop_reason,omitempty"` // end
}

// message returns the entry as the model is shown it; ok is false for what it
// is not shown.
func (e *Entry) message() (m providers.Message, ok bool) {
	switch e.Kind {
	case EntryHistory:
		return providers.Message{Role: e.Role, Text: e.Text}, true
	case EntryPrompt, EntryUser:
		return providers.Message{Role: providers.User, Text: e.Text}, true
	case EntryReply:
		return providers.Message{Role: providers.Assistant, Text: e.Text}, true
	case EntryResult:
		text := protocol.EncodeObservation(e.Name, e.Success, e.Text)
		if e.Note != "" {
			text += "\n" + e.Note
		}
		return providers.Message{Role: providers.User, Text: text}, true
	}
	return m, false
}

// Recorder keeps the entries of a session as they are made. Append returns
// when the entry is safe; a call's entry is appended before the call runs. An
// error ends the run.
type Recorder interface {
	Append(context.Context, Entry) error
}

// Session is the record of a conversation: it only grows. It may be read at
// any time and is used by one run at a time.
type Session struct {
	// ID names the session. It is set by NewSession and may be replaced before
	// the first run.
	ID string

	busy     atomic.Bool
	mu       sync.Mutex
	entries  []Entry
	messages []providers.Message // what the model is shown, one slot kept for the system prompt
}

// ErrSessionBusy is returned by a run on a session that another run is using.
var ErrSessionBusy = errors.New("the session is in use by another run")

// NewSession starts a session with the messages of an earlier conversation, in
// their order. They come between the system prompt and the first prompt.
func NewSession(history ...providers.Message) *Session {
	s := &Session{ID: newID(), messages: make([]providers.Message, 1, 16)}
	now := time.Now()
	for _, m := range history {
		s.add(Entry{Kind: EntryHistory, Time: now, Role: m.Role, Text: m.Text})
	}
	return s
}

// Entries returns the record so far.
func (s *Session) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.entries)
}

// Messages returns the conversation as the model is shown it, without the
// system prompt.
func (s *Session) Messages() []providers.Message { return s.view()[1:] }

// view is the conversation behind the system prompt. It shares memory with the
// session, which never changes what it has handed out.
func (s *Session) view() []providers.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.messages)
}

func (s *Session) add(e Entry) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Seq = len(s.entries) + 1
	s.entries = append(s.entries, e)
	if m, ok := e.message(); ok {
		s.messages = append(s.messages, m)
	}
	if e.Kind == EntryRun {
		s.messages = append([]providers.Message{{Role: providers.System, Text: e.Text}}, s.messages[1:]...)
	}
	return e
}

func (s *Session) last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}
