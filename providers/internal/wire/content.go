package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// deepestPart bounds how far the text of a part is looked for. Each level is read once
// more, so that a server cannot choose it.
const deepestPart = 4

// Content adds the text of a field to the reply: a string, an object with a
// text, or a list of these. Parts that are thought are added to the thoughts. A
// value of another form would be lost, and is ErrOddContent.
func (r *Reply) Content(raw json.RawMessage) error { return r.content(raw, false, 0) }

// Thinking adds a field of thought, in the same forms. Others hold no thought.
func (r *Reply) Thinking(raw json.RawMessage) { _ = r.content(raw, true, 0) }

func (r *Reply) content(raw json.RawMessage, thought bool, depth int) error {
	if !Present(raw) {
		return nil
	}
	if depth > deepestPart {
		return ErrOddContent
	}
	switch raw[0] {
	case '"':
		if thought {
			r.Thought(r.thoughts.Text(raw))
		} else {
			r.Text(r.texts.Text(raw))
		}
		return nil
	case '[':
		var parts []json.RawMessage
		_ = json.Unmarshal(raw, &parts) // it was part of valid JSON
		for _, p := range parts {
			if err := r.content(p, thought, depth+1); err != nil {
				return err
			}
		}
		return nil
	case '{':
		var part struct {
			Type                  any
			Text, Value, Thinking json.RawMessage
			Content, Refusal      json.RawMessage
		}
		_ = json.Unmarshal(raw, &part)
		found := part.Type != nil // parts without a text are references, for instance
		for _, field := range []json.RawMessage{part.Thinking, part.Text, part.Value, part.Content, part.Refusal} {
			found = found || field != nil
		}
		if !found {
			return ErrOddContent
		}
		r.Thinking(part.Thinking)
		for _, field := range []json.RawMessage{part.Text, part.Value, part.Content, part.Refusal} {
			if err := r.content(field, thought, depth+1); err != nil {
				return err
			}
		}
		return nil
	case 't':
		return ErrOddContent
	}
	if !thought {
		r.Text(string(raw)) // a number that nobody put in quotes
	}
	return nil
}

// Joiner joins strings of JSON that may be cut within a character: between the
// two escapes of a surrogate pair, or between the bytes of UTF-8.
type Joiner struct{ half []byte }

// Text is the text of a string without the half of a character at its end, which
// comes before the next one. raw is valid JSON.
func (j *Joiner) Text(raw json.RawMessage) (s string) {
	n := len(raw) - 1
	half := n - len(halfCharacter(raw[1:n]))
	if len(j.half) == 0 && half == n {
		_ = json.Unmarshal(raw, &s)
		return s
	}
	whole := append(append([]byte{'"'}, j.half...), raw[1:half]...)
	j.half = bytes.Clone(raw[half:n])
	_ = json.Unmarshal(append(whole, '"'), &s)
	return s
}

// halfCharacter is the first half of a character at the end of the contents of a string.
func halfCharacter(b []byte) []byte {
	const escape = len(`\ud83d`)
	if at := len(b) - escape; at >= 0 && b[at] == '\\' && b[at+1] == 'u' {
		slashes := len(b[:at]) - len(bytes.TrimRight(b[:at], `\`))
		n, err := strconv.ParseUint(string(b[at+2:]), 16, 16)
		if err == nil && n >= 0xd800 && n < 0xdc00 && slashes%2 == 0 {
			return b[at:]
		}
	}
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if last := b[len(b)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return last
			}
			break
		}
	}
	return nil
}
