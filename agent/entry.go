package agent

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// Entry is one line of a session's record. Entries are never changed.
type Entry struct {
	Session string
	Seq     int // from 1
	Time    time.Time
	Run     string
	Turn    int
	Payload EntryPayload
}

// EntryPayload is what an entry records: one of the types below.
type EntryPayload interface {
	// Kind is the name of the type in a record.
	Kind() EntryKind
}

// EntryKind names what an entry records.
type EntryKind string

// The kinds of entry.
const (
	EntryHistory    EntryKind = "history"
	EntryRun        EntryKind = "run"
	EntryPrompt     EntryKind = "prompt"
	EntryReply      EntryKind = "reply"
	EntryAuxiliary  EntryKind = "aside"
	EntryCall       EntryKind = "call"
	EntryResult     EntryKind = "result"
	EntryUser       EntryKind = "user"
	EntryCompaction EntryKind = "compaction"
	EntryEnd        EntryKind = "end"
)

type (
	// HistoryEntry is a message of an earlier conversation.
	HistoryEntry struct {
		Role providers.Role `json:"role,omitempty"`
		Text string         `json:"text,omitempty"`

		Images []Image `json:"images,omitempty"`
	}

	// RunEntry begins a run.
	RunEntry struct {
		System string          `json:"text,omitempty"` // the system prompt
		Setup  *Setup          `json:"setup,omitempty"`
		Name   string          `json:"name,omitempty"` // what carries it out; "": the agent
		Args   json.RawMessage `json:"args,omitempty"` // for what carries it out
	}

	// PromptEntry is what was asked.
	PromptEntry struct {
		Text   string  `json:"text,omitempty"`
		Images []Image `json:"images,omitempty"`
	}

	// ReplyEntry is what the model wrote in the conversation.
	ReplyEntry struct {
		Text string `json:"text,omitempty"` // as the model is shown it later
		Raw  string `json:"raw,omitempty"`  // as it was written, calls included
		// Native is the call that the server took out of the text, after Raw.
		Native          *providers.ServerCall `json:"server_call,omitempty"`
		SeparateThought string                `json:"aside,omitempty"`   // the thought that came beside Raw, not in it
		Thought         string                `json:"thought,omitempty"` // all of it
		Answer          string                `json:"answer,omitempty"`  // the part of Text that answers
		Whole           string                `json:"whole,omitempty"`   // the answer of a continued reply, if it is not the answers in a row
		Stop            providers.StopReason  `json:"stop,omitempty"`
		Usage           *providers.Usage      `json:"usage,omitempty"`
		State           *State                `json:"state,omitempty"` // of the run before the reply
		Error           string                `json:"error,omitempty"` // why it is not whole
		Purpose         Purpose               `json:"purpose,omitempty"`
	}

	// AuxiliaryEntry is a reply outside the conversation: a summary, a judgement.
	AuxiliaryEntry ReplyEntry

	// CallEntry is a call that is about to run.
	CallEntry struct {
		ID      string          `json:"call,omitempty"`
		Name    string          `json:"name,omitempty"`
		Args    json.RawMessage `json:"args,omitempty"`
		Effect  *tools.Effect   `json:"effect,omitempty"`
		Repairs []string        `json:"repairs,omitempty"` // codes of the repairs that made it readable
		// Refused is what the call had no permission for when it ran before. It
		// runs again with that permission.
		Refused []tools.Refusal `json:"refused,omitempty"`
	}

	// ResultEntry is what a call returned, or why it did not run.
	ResultEntry struct {
		Text      string          `json:"text,omitempty"`
		ID        string          `json:"call,omitempty"`
		Name      string          `json:"name,omitempty"`
		Args      json.RawMessage `json:"args,omitempty"`
		Success   bool            `json:"success,omitempty"`
		Error     string          `json:"error,omitempty"`
		Denied    bool            `json:"denied,omitempty"`
		Skipped   bool            `json:"skipped,omitempty"` // it repeats the call before it
		Unknown   bool            `json:"unknown,omitempty"` // whether the call took effect is unknown
		Origin    string          `json:"origin,omitempty"`
		Note      string          `json:"note,omitempty"`    // what the engine adds below it
		Refused   []tools.Refusal `json:"refused,omitempty"` // permissions it lacked and was not given
		Blocked   []tools.Refusal `json:"blocked,omitempty"` // what it was refused that nobody is asked about
		ExitCode  *int            `json:"exit_code,omitempty"`
		Truncated bool            `json:"truncated,omitempty"`
		Gap       bool            `json:"gap,omitempty"` // the text has the mark of one, see tools.Gap
		Duration  time.Duration   `json:"duration_ns,omitempty"`
		DryRun    bool            `json:"dry_run,omitempty"` // nothing was done
		Images    []Image         `json:"images,omitempty"`  // of a model that sees
	}

	// UserEntry is a message of the engine to the model: a correction, a nudge.
	UserEntry struct {
		Text string `json:"text,omitempty"`
	}

	// CompactionEntry: from here on earlier messages are not shown, or as a
	// summary.
	CompactionEntry struct {
		Text    string `json:"text,omitempty"`    // what is shown in their place
		Summary string `json:"answer,omitempty"`  // the summary in it
		Through int    `json:"through,omitempty"` // the last entry that is no longer shown
		Request int    `json:"request,omitempty"` // the prompt that stays shown
	}

	// EndEntry ends a run.
	EndEntry struct {
		State      *State     `json:"state,omitempty"` // what the run learned of the backend
		Error      string     `json:"error,omitempty"`
		StopReason StopReason `json:"stop_reason,omitempty"`
	}

	// CustomEntry is an entry of a package above this one, such as a plan, or of a
	// later version. The agent keeps it and does not read it.
	CustomEntry struct {
		Type    EntryKind       `json:"-"`
		Call    string          `json:"call,omitempty"`
		Name    string          `json:"name,omitempty"`
		Args    json.RawMessage `json:"args,omitempty"`
		Effect  *tools.Effect   `json:"effect,omitempty"`
		Error   string          `json:"error,omitempty"`
		Purpose Purpose         `json:"purpose,omitempty"`
	}
)

// The kinds of the payloads.
func (HistoryEntry) Kind() EntryKind    { return EntryHistory }
func (RunEntry) Kind() EntryKind        { return EntryRun }
func (PromptEntry) Kind() EntryKind     { return EntryPrompt }
func (ReplyEntry) Kind() EntryKind      { return EntryReply }
func (AuxiliaryEntry) Kind() EntryKind  { return EntryAuxiliary }
func (CallEntry) Kind() EntryKind       { return EntryCall }
func (ResultEntry) Kind() EntryKind     { return EntryResult }
func (UserEntry) Kind() EntryKind       { return EntryUser }
func (CompactionEntry) Kind() EntryKind { return EntryCompaction }
func (EndEntry) Kind() EntryKind        { return EntryEnd }
func (c CustomEntry) Kind() EntryKind   { return c.Type }

func decode[P EntryPayload](b []byte) (EntryPayload, error) {
	var p P
	err := json.Unmarshal(b, &p)
	return p, err
}

// entryHead is what every entry has in JSON. Its payload's fields follow it in
// the same object.
type entryHead struct {
	Session string    `json:"session"`
	Seq     int       `json:"seq"`
	Time    time.Time `json:"time"`
	Run     string    `json:"run,omitempty"`
	Turn    int       `json:"turn,omitempty"`
	Kind    EntryKind `json:"kind"`
}

// MarshalJSON writes the entry as one flat object.
func (e Entry) MarshalJSON() ([]byte, error) {
	return flat(entryHead{e.Session, e.Seq, e.Time, e.Run, e.Turn, e.Kind()}, e.Payload)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var h entryHead
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	*e = Entry{Session: h.Session, Seq: h.Seq, Time: h.Time, Run: h.Run, Turn: h.Turn}
	var err error
	switch h.Kind {
	case EntryHistory:
		e.Payload, err = decode[HistoryEntry](b)
	case EntryRun:
		e.Payload, err = decode[RunEntry](b)
	case EntryPrompt:
		e.Payload, err = decode[PromptEntry](b)
	case EntryReply:
		e.Payload, err = decode[ReplyEntry](b)
	case EntryAuxiliary:
		e.Payload, err = decode[AuxiliaryEntry](b)
	case EntryCall:
		e.Payload, err = decode[CallEntry](b)
	case EntryResult:
		e.Payload, err = decode[ResultEntry](b)
	case EntryUser:
		e.Payload, err = decode[UserEntry](b)
	case EntryCompaction:
		e.Payload, err = decode[CompactionEntry](b)
	case EntryEnd:
		e.Payload, err = decode[EndEntry](b)
	default:
		custom := CustomEntry{Type: h.Kind}
		err = json.Unmarshal(b, &custom)
		e.Payload = custom
	}
	return err
}

// Kind is the kind of the payload, "" without one.
func (e *Entry) Kind() EntryKind {
	if e.Payload == nil {
		return ""
	}
	return e.Payload.Kind()
}

// flat writes two values as one object: the fields of the head come first.
// Nothing is escaped for HTML, since a person reads it.
func flat(head, body any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(head); err != nil {
		return nil, err
	}
	end := b.Len() - len("}\n")
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	text := bytes.TrimRight(b.Bytes(), "\n")
	rest := text[end+len("}\n"):]
	if len(rest) <= len("{}") || rest[0] != '{' {
		return text[:end+1], nil
	}
	text[end] = ','
	return append(text[:end+1], rest[1:]...), nil
}

// Images are the pictures of the entry, whose content is kept beside it.
func (e *Entry) Images() []Image {
	switch p := e.Payload.(type) {
	case HistoryEntry:
		return p.Images
	case PromptEntry:
		return p.Images
	case ResultEntry:
		return p.Images
	}
	return nil
}

// CallID is the id of the call that the entry is about, or "".
func (e *Entry) CallID() string {
	switch p := e.Payload.(type) {
	case CallEntry:
		return p.ID
	case ResultEntry:
		return p.ID
	}
	return ""
}

// state is what the run knew at the entry, nil if that is not recorded.
func (e *Entry) state() *State {
	switch p := e.Payload.(type) {
	case ReplyEntry:
		return p.State
	case EndEntry:
		return p.State
	}
	return nil
}

// OnlyReads reports whether the call is known to change nothing.
func (c CallEntry) OnlyReads() bool { return c.Effect != nil && c.Effect.OnlyReads() }

// lastOf is the index of the last entry with a payload of a type, or -1. A run
// begins with a RunEntry.
func lastOf[P EntryPayload](entries []Entry) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if _, ok := entries[i].Payload.(P); ok {
			return i
		}
	}
	return -1
}

// isMessage reports whether the entry is a message of the conversation.
func (e *Entry) isMessage() bool {
	switch p := e.Payload.(type) {
	case HistoryEntry, PromptEntry, UserEntry, ResultEntry:
		return true
	case ReplyEntry: // some backends refuse an empty message
		return strings.TrimSpace(p.Text) != ""
	}
	return false
}

// message returns the entry as the model is shown it, with at most limit tokens
// of a tool's result if limit is not 0; ok is false for what it is not shown.
func (e *Entry) message(limit int) (m providers.Message, ok bool) {
	var images []Image
	switch p := e.Payload.(type) {
	case HistoryEntry:
		m, images = providers.Message{Role: p.Role, Text: p.Text}, p.Images
	case PromptEntry:
		m, images = providers.Message{Role: providers.User, Text: protocol.Neutralise(p.Text)}, p.Images
	case UserEntry:
		return providers.Message{Role: providers.User, Text: p.Text}, true
	case ReplyEntry:
		return providers.Message{Role: providers.Assistant, Text: p.Text}, e.isMessage()
	case ResultEntry:
		text := protocol.EncodeObservation(p.Name, p.Success, shortenResult(p.Outcome().Body(), limit, p.Gap))
		if p.Note != "" {
			text += "\n" + p.Note
		}
		m, images = providers.Message{Role: providers.User, Text: text}, p.Images
	default:
		return m, false
	}
	if len(images) > 0 {
		m = withImages(m, images)
	}
	return m, true
}

// Chunks are a reply as the backend may have sent it: they show how the engine
// interpreted the reply. One that broke off ends with an Interrupted error, one that
// fell silent with a Stalled one, and one that a limit ended with that.
func (p ReplyEntry) Chunks() iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if p.SeparateThought != "" && !yield(providers.Chunk{Thought: p.SeparateThought}, nil) || p.Raw != "" && !yield(providers.Chunk{Text: p.Raw}, nil) ||
			p.Native != nil && !yield(providers.Chunk{Call: p.Native}, nil) {
			return
		}
		if p.Error != "" && p.Stop == providers.StopReason(StopModelError) {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.Interrupted, Permanent: true, Message: p.Error})
			return
		}
		if p.Error != "" && p.Stop != "" {
			yield(providers.Chunk{}, &LimitError{Reason: StopReason(p.Stop), Message: p.Error})
			return
		}
		if p.Error != "" {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.Stalled, Message: p.Error})
			return
		}
		end := providers.Chunk{Stop: p.Stop}
		if end.Stop == "" { // the engine had enough, and left
			end.Stop = providers.StopEnd
		}
		if p.Usage != nil {
			end.Usage = *p.Usage
		}
		yield(end, nil)
	}
}

// Outcome describes how a call ended.
func (p ResultEntry) Outcome() tools.Outcome {
	var images [][]byte
	for _, i := range p.Images {
		images = append(images, i.Data)
	}
	return tools.Outcome{
		Result: tools.Result{Images: images, Text: p.Text, Origin: p.Origin, ExitCode: p.ExitCode, Truncated: p.Truncated, Gap: p.Gap, Refused: p.Refused, Blocked: p.Blocked},
		Error:  p.Error, Duration: p.Duration, Unknown: p.Unknown,
	}
}
