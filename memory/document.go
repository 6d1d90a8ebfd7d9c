package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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

// ForeignTag marks a memory of a conversation that had read text from outside the
// workspace, of another program, or whose tags were lost. What shows it is such text, too.
const ForeignTag = "foreign"

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
	var err error
	if d.Text, err = cleanText(d.Text); err != nil {
		return d, err
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
	for _, t := range []time.Time{d.Time, d.Last} { // others could be stored, and not be written as text
		if year := t.UTC().Year(); year < 1 || year > 9999 {
			return d, fmt.Errorf("the time %d since 1970 is in the year %d; a memory is of the years 1 to 9999", t.Unix(), year)
		}
	}
	d.Time, d.Last = instant(d.Time.UnixMicro()), instant(d.Last.UnixMicro())
	d.Count = min(max(d.Count, 1), 1<<30) // so that sums of them fit an int
	return d, nil
}

// cleanText makes a text fit to be stored, or says why it cannot be.
func cleanText(text string) (string, error) {
	if len(text) > MaxText {
		return "", fmt.Errorf("the text has %d bytes; a memory holds at most %d: split it", len(text), MaxText)
	}
	if text, _ = redact.Text(valid(text)); strings.TrimSpace(text) == "" {
		return "", ErrEmpty
	}
	return text, nil
}

// valid replaces what is no text: bytes that are no UTF-8, and NUL, at which
// programs in C would end it.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// hashSize is the size of what Document.hash returns.
const hashSize = 16

// hash is equal for documents that say the same, whatever their IDs.
func (d Document) hash() []byte {
	h := sha256.New()
	for _, s := range []string{string(d.Kind), d.Role, d.Speaker, d.Project, d.Text} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return h.Sum(nil)[:hashSize]
}

// checksum is stored with a document: the hash, and four bytes for the ID.
func (d Document) checksum() []byte {
	id := sha256.Sum256([]byte(d.ID))
	return append(d.hash(), id[:4]...)
}

// intact reports whether text and ID are those that the checksum was made for.
// Earlier versions stored the hash alone.
func (d Document) intact(checksum []byte) bool {
	want := d.checksum()
	return bytes.Equal(checksum, want) || bytes.Equal(checksum, want[:hashSize])
}

// repeats is the condition for documents that say the same and that no other
// corrects. Make expressions of other columns, so that SQLite uses the index of hashes.
const repeats = "hash BETWEEN ? AND ? AND superseded_by IS NULL"

// asRepeats are the arguments of repeats.
func (d Document) asRepeats() []any {
	least := d.hash()[:hashSize:hashSize]
	return []any{least, append(least, 0xff, 0xff, 0xff, 0xff)}
}

// number is the kind's in the index, 0 for one that there is not.
func (k Kind) number() uint8 { return uint8(slices.Index(kinds, k) + 1) }

// An ID is short, because models copy it: nine characters for the milliseconds
// since 1970, which last until the year 2527, and four at random. The alphabet
// is Crockford's, without letters that are mistaken for digits, and in
// ascending order, so that IDs sort as they were made.
const (
	alphabet   = "0123456789abcdefghjkmnpqrstvwxyz"
	timeChars  = 9
	randChars  = 4
	randomBits = 5 * randChars
)

// astray is how far ahead of the clock an ID may be and still be followed: no
// clock is wrong by more, and so it is none of ours.
const astray = 10 * 365 * 24 * time.Hour

// nextID makes an ID that sorts after last, also where the clock went back. A
// last that is not one of ours, or is far in the future, does not count.
func nextID(now time.Time, last string) string {
	n := idNumber(now) | rand.Uint64N(1<<randomBits)
	before, ours := uint64(0), len(last) == timeChars+randChars
	for _, c := range []byte(last) {
		digit := strings.IndexByte(alphabet, c)
		before, ours = before*32+uint64(digit), ours && digit >= 0
	}
	if ours && n <= before && before <= idNumber(now.Add(astray)) {
		n = before + 1
	}
	id := make([]byte, timeChars+randChars)
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = alphabet[n%32]
		n /= 32
	}
	return string(id)
}

// idNumber is what an ID made at a time begins with.
func idNumber(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) << randomBits }

// derivedID makes an ID of a hash. It begins with a letter that is not in the
// alphabet, so that nobody takes it for a time, and has 75 bits: among a million
// documents the odds that two have the same are one in 10¹⁰.
func derivedID(hash [32]byte) string {
	id := []byte{'i'}
	for _, chars := range []int{7, 8} {
		n := binary.LittleEndian.Uint64(hash[len(id)&8:])
		for range chars {
			id = append(id, alphabet[n%32])
			n /= 32
		}
	}
	return string(id)
}

// The times that a document may have, in microseconds since 1970: the years 1
// to 9999, which RFC 3339 can write. The first instant of them is what a time
// that is not set is.
var (
	firstTime = time.Time{}.UnixMicro() + 1
	lastTime  = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
)

// timeForms are the forms of time that are found in files, and that people and
// models write. Where there are seconds there may be a fraction of them.
var timeForms = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -0700 MST",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04",
	time.DateOnly, "20060102", "2006-01", "2006",
}

// ParseTime reads a date or a time: as in RFC 3339, with a space or a T between
// date and time, to the day, minute or second or finer, in loc where it names
// no zone; or since 1970, as a number of at least nine digits. Whether those
// are seconds, or thousandths, millionths or thousand-millionths of them, its
// size says.
func ParseTime(s string, loc *time.Location) (time.Time, error) {
	s = strings.TrimSpace(s)
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, s, loc); err == nil {
			return t, nil
		}
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(n) >= 1e8 && strings.Trim(s, "0123456789.-+eE") == "" {
		return unixTime(n)
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time: write it like 2026-01-31 or 2026-01-31T14:00:00Z", s)
}

// unixTime is the time of a number. As seconds, 1e11 is in the year 5138; as
// milliseconds, in 1973.
func unixTime(n float64) (time.Time, error) {
	seconds := n
	for limit := 1e11; math.Abs(n) >= limit && limit <= 1e17; limit *= 1e3 {
		seconds /= 1e3
	}
	if micro := math.Round(seconds * 1e6); float64(firstTime) <= micro && micro <= float64(lastTime) {
		return time.UnixMicro(int64(micro)).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%g is not a time since 1970 in the years 1 to 9999", n) // nor is NaN
}

// timeOf reads a field of a record as a time, zero if it is not there. A number
// that is none in text is since 1970, however small.
func timeOf(record map[string]any, field string) (time.Time, error) {
	if n, ok := record[field].(json.Number); ok {
		f, err := n.Float64()
		if err != nil {
			return time.Time{}, fmt.Errorf("%.40q is not a time: the number is too large", n)
		}
		return unixTime(f)
	}
	if s := str(record, field); s != "" {
		return ParseTime(s, time.UTC)
	}
	return time.Time{}, nil
}

// instant is a time as it is stored. A file may hold one that no document may
// have: milliseconds that were taken for seconds. A thousandth of any is one
// that it may.
func instant(micro int64) time.Time {
	if micro < firstTime || micro > lastTime {
		micro /= 1000
	}
	return time.UnixMicro(micro).UTC()
}
