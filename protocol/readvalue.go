package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxOpeners is how many brackets ReadValue tries, so that a reply made of them
// is read in linear time.
const maxOpeners = 40

// ReadValue finds the JSON that a model was asked for in what it wrote: the
// first object or list, by itself, in a fence or between prose, that accept
// takes. Thought in <think> is passed over. The value is read with the care that
// the arguments of a call are, and its repairs are returned; one that was cut is
// never completed. The error is a *ValueError about the value that could be read
// furthest, or says that there is none.
func ReadValue(text string, accept func(json.RawMessage) bool) (json.RawMessage, []Repair, error) {
	offset := 0
	if at := strings.LastIndex(text, thinkEnd); at >= 0 {
		offset = at + len(thinkEnd)
	}
	var furthest *ValueError
	for tries := 0; tries < maxOpeners; tries++ {
		at := strings.IndexAny(text[offset:], "{[")
		if at < 0 {
			break
		}
		offset += at
		r := reader{cursor: &cursor{src: text, pos: offset}, maxDepth: defaultDepth}
		var value json.RawMessage
		err := try(func() {
			r.value(atTop)
			value = r.json()
		})
		switch {
		case err == nil && accept(value):
			return value, r.repairs, nil
		case err != nil && (furthest == nil || err.Offset > furthest.Offset):
			furthest = err
		}
		offset++
	}
	if furthest == nil {
		furthest = &ValueError{Reason: BadJSON, Offset: len(text), Detail: "no JSON of the requested form"}
	}
	return nil, nil, furthest
}

// ValueError is the reason why a value could not be read.
type ValueError struct {
	Reason Reason // Truncated: the text ends in the middle of the value
	Offset int    // byte offset in the text
	Detail string
}

// Error describes the fault and its place.
func (e *ValueError) Error() string { return fmt.Sprintf("%s, at byte %d", e.Detail, e.Offset) }

// defaultDepth bounds how deep a value may be nested: far deeper than real values
// are.
const defaultDepth = 200

// thinkEnd closes a thought.
const thinkEnd = "</think>"
