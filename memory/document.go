package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"mylm/memory/lexical"
	"mylm/memory/redact"
)

// MaxText is the largest text of a document in bytes.
const MaxText = 8 << 20

// Kind says what a document is.
type Kind string

// The kinds that there are.
const (
	Exchange Kind = "exchange" // something that was asked or answered
	Note     Kind = "note"     // something to be remembered, written for that
	Tool     Kind = "tool"     // a tool call and the head of its result
	Summary  Kind = "summary"  // what a longer conversation came to
)

// kinds in the order of their numbers in the index, which begin at 1.
var kinds = []Kind{Exchange, Note, Tool, Summary}

// Document is one text that is remembered, word for word.
type Document struct {
	// ID is unique, never changes and sorts by the time of recording. Add makes
	// one if it is empty.
	ID string `json:"id"`
	// Text is what was said. It is never empty, valid UTF-8 and without NUL.
	Text string `json:"text"`
	// Kind is Note if it is empty.
	Kind Kind `json:"kind"`
	// Role is who spoke in terms of the protocol: user, assistant or a tool.
	Role string `json:"role,omitempty"`
	// Speaker is who spoke by name, where that is known.
	Speaker string `json:"speaker,omitempty"`
	// Session is the conversation that the text belongs to. Documents of one
	// session are neighbours in the order in which they were added.
	Session string `json:"session,omitempty"`
	// Project is what the conversation was about, usually a directory.
	Project string `json:"project,omitempty"`
	// Time is when it was said, in UTC, to the microsecond, in the years 1 to
	// 9999. Add takes the present if it is zero.
	Time time.Time `json:"time"`
	// Source is where the text comes from: a command, a file, another program.
	Source string `json:"source,omitempty"`
	// Tags are words to find the document by.
	Tags []string `json:"tags,omitempty"`
	// Count is how often the same was recorded, at least 1.
	Count int `json:"count,omitempty"`
	// Last is when it was recorded last; Time if that was once.
	Last time.Time `json:"last,omitzero"`
	// SupersededBy is the ID of the document that corrects this one.
	SupersededBy string `json:"superseded_by,omitempty"`
}

// Redact takes secrets of known forms out of a text, see package redact. Add, Edit
// and Import do it to whatever they store.
func Redact(text string) (clean string, found []string) { return redact.Text(text) }

// Asks reports whether more of a text is in questions than in statements.
func Asks(text string) bool { return lexical.Analyse(text).Flags&lexical.Asks != 0 }

// ErrEmpty is returned for a document that has no text.
var ErrEmpty = errors.New("a memory needs a text, and this one is empty")

// clean makes a document fit to be stored, or says why it cannot be.
func (d Document) clean(now time.Time) (Document, error) {
	if d.Kind == "" {
		d.Kind = Note
	}
	if d.Kind.number() == 0 {
		return d, fmt.Errorf("unknown kind %q: a memory is one of %s, %s, %s, %s", d.Kind, Exchange, Note, Tool, Summary)
	}
	if len(d.Text) > MaxText {
		return d, fmt.Errorf("the text has %d bytes; a memory holds at most %d: split it", len(d.Text), MaxText)
	}
	d.Text, _ = redact.Text(valid(d.Text))
	if strings.TrimSpace(d.Text) == "" {
		return d, ErrEmpty
	}
	for _, field := range []*string{&d.ID, &d.Role, &d.Speaker, &d.Session, &d.Project, &d.Source} {
		redacted, found := redact.Text(valid(*field))
		if *field = redacted; field == &d.ID && len(found) > 0 {
			d.ID = "" // what is left of it names nothing
		}
		if len(*field) > 4096 {
			return d, fmt.Errorf("%.40q… has %d bytes: the name of a session, project, speaker, role or source, and an id, may have 4096", *field, len(*field))
		}
	}
	var tags []string
	for _, tag := range d.Tags {
		if tag, _ = redact.Text(strings.TrimSpace(valid(tag))); tag != "" {
			tags = append(tags, tag)
		}
	}
	d.Tags = tags
	if d.Time.IsZero() {
		d.Time = now
	}
	if d.Last.Before(d.Time) {
		d.Last = d.Time
	}
	if err := cmp.Or(checkTime(d.Time), checkTime(d.Last)); err != nil {
		return d, err
	}
	d.Time, d.Last = instant(d.Time.UnixMicro()), instant(d.Last.UnixMicro())
	d.Count = max(d.Count, 1)
	return d, nil
}

// valid replaces what is no text: bytes that are no UTF-8, and NUL, at which
// programs in C would end it.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// hash is equal for documents that say the same. It also tells whether a text
// that was read from a damaged file is the one that was written.
func (d Document) hash() []byte {
	h := sha256.New()
	for _, s := range []string{string(d.Kind), d.Role, d.Speaker, d.Project, d.Text} {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return h.Sum(nil)[:16]
}

// number is the kind's in the index, 0 for one that there is not.
func (k Kind) number() uint8 {
	for i, known := range kinds {
		if k == known {
			return uint8(i + 1)
		}
	}
	return 0
}
