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
// the arguments of a call are, and what was mended is returned; one that was cut
// is never completed. The error is a *FormatError about the first value that
// could not be read, or says that there is none.
func ReadValue(text string, accept func(json.RawMessage) bool) (json.RawMessage, []Repair, error) {
	offset := 0
	if at := strings.LastIndex(text, thinkEnd); at >= 0 {
		offset = at + len(thinkEnd)
	}
	var furthest *readError
	for tries := 0; tries < maxOpeners; tries++ {
		at := strings.IndexAny(text[offset:], "{[")
		if at < 0 {
			break
		}
		offset += at
		r, err := read(reader{src: text, pos: offset, maxDepth: defaultDepth})
		if err == nil && r.missing > 0 {
			err = try(r.cut)
		}
		switch {
		case err == nil && accept(r.out):
			return r.out, r.repairs, nil
		case err != nil && (furthest == nil || err.pos > furthest.pos):
			furthest = err
		}
		offset++
	}
	if furthest == nil {
		return nil, nil, &ValueError{Offset: int64(len(text)), Detail: "the JSON that was asked for is not in it"}
	}
	return nil, nil, &ValueError{Offset: int64(furthest.pos), Detail: furthest.detail, Cut: furthest.cut}
}

// ValueError says why no value could be read.
type ValueError struct {
	Offset int64 // byte offset in the text
	Detail string
	Cut    bool // the text ends in the middle of a value
}

// Error says what is wrong, and where.
func (e *ValueError) Error() string { return fmt.Sprintf("%s, at byte %d", e.Detail, e.Offset) }

// defaultDepth bounds how deep a value may be nested: far deeper than anything
// that is meant.
const defaultDepth = 200

// thinkEnd closes a thought.
const thinkEnd = "</think>"
