package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
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

	EntryAside      EntryKind = "aside"      // a reply of the model outside the conversation: a summary, a judgement
	EntryCompaction EntryKind = "compaction" // from here on earlier messages are not shown, or as a summary
)

// Entry is one line of a session's record. Entries are never changed.
type Entry struct {
	Session string    `json:"session"`
	Seq     int       `json:"seq"` // from 1
	Time    time.Time `json:"time"`
	Run     string    `json:"run,omitempty"`
	Turn    int       `json:"turn,omitempty"`
	Kind    EntryKind `json:"kind"`

	Role    providers.Role       `json:"role,omitempty"`    // history
	Text    string               `json:"text,omitempty"`    // the message as it came; the output of a result
	Raw     string               `json:"raw,omitempty"`     // reply, aside: what the model wrote, calls and all
	Aside   string               `json:"aside,omitempty"`   // reply, aside: the thought that came beside Raw, not in it
	Thought string               `json:"thought,omitempty"` // reply, aside: all of it
	Answer  string               `json:"answer,omitempty"`  // reply: the part of Text that answers; compaction: the summary in it
	Stop    providers.StopReason `json:"stop,omitempty"`    // reply, aside
	Usage   *providers.Usage     `json:"usage,omitempty"`   // reply, aside
	State   *State               `json:"state,omitempty"`   // reply: what the run knew before it; end: what it learned of the backend
	Setup   *Setup               `json:"setup,omitempty"`   // run

	Call    string          `json:"call,omitempty"` // call, result: the call's id
	Name    string          `json:"name,omitempty"` // call, result: the tool; run: what carries it out, "" is the agent
	Args    json.RawMessage `json:"args,omitempty"`
	Effect  *tools.Effect   `json:"effect,omitempty"`
	Success bool            `json:"success,omitempty"`
	Repairs []string        `json:"repairs,omitempty"` // call: what was mended to read it
	Error   string          `json:"error,omitempty"`   // result, end: what went wrong; reply: why it is not whole
	Denied  bool            `json:"denied,omitempty"`
	Skipped bool            `json:"skipped,omitempty"`
	Unknown bool            `json:"unknown,omitempty"` // result: nobody knows what the call did
	Origin  string          `json:"origin,omitempty"`
	Note    string          `json:"note,omitempty"` // result: what the engine adds below it

	// Refused is what the call had no permission for when it ran before. A call
	// with it runs again with that permission; in a result it was not given.
	Refused []tools.Refusal `json:"refused,omitempty"`

	ExitCode  *int          `json:"exit_code,omitempty"` // result
	Truncated bool          `json:"truncated,omitempty"` // result
	Duration  time.Duration `json:"duration_ns,omitempty"`

	StopReason StopReason `json:"stop_reason,omitempty"` // end

	Purpose Purpose `json:"purpose,omitempty"` // aside, and reply: what the model was asked for, if not for the next turn
	DryRun  bool    `json:"dry_run,omitempty"` // result: nothing was done
	Through int     `json:"through,omitempty"` // compaction: the last entry that is no longer shown
	Request int     `json:"request,omitempty"` // compaction: the prompt that stays shown
}

// shown reports whether the entry is a message of the conversation.
func (e *Entry) shown() bool {
	switch e.Kind {
	case EntryHistory, EntryPrompt, EntryUser, EntryResult:
		return true
	case EntryReply: // some backends refuse an empty message
		return strings.TrimSpace(e.Text) != ""
	}
	return false
}

// message returns the entry as the model is shown it, with at most limit tokens
// of a tool's result if limit is not 0; ok is false for what it is not shown.
func (e *Entry) message(limit int) (m providers.Message, ok bool) {
	switch e.Kind {
	case EntryHistory:
		return providers.Message{Role: e.Role, Text: e.Text}, true
	case EntryPrompt:
		return providers.Message{Role: providers.User, Text: protocol.Neutralise(e.Text)}, true
	case EntryUser:
		return providers.Message{Role: providers.User, Text: e.Text}, true
	case EntryReply:
		return providers.Message{Role: providers.Assistant, Text: e.Text}, e.shown()
	case EntryResult:
		body := tools.Outcome{Result: tools.Result{Text: e.Text}, Error: e.Error}.Body()
		text := protocol.EncodeObservation(e.Name, e.Success, shorten(body, limit))
		if e.Note != "" {
			text += "\n" + e.Note
		}
		return providers.Message{Role: providers.User, Text: text}, true
	}
	return m, false
}

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
		s.add(Entry{Kind: EntryHistory, Time: now, Role: m.Role, Text: m.Text})
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
