package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// reader reads one value as models write it and writes it down as JSON. Strict
// JSON it takes for what it is; beyond that it mends what has one reading, and
// says how. It never completes a string that was cut, never evaluates, and
// leaves the digits of a number as they are. It is linear in its input.
type reader struct {
	src      string
	pos      int
	maxDepth int
	strict   bool // src is JSON: every quote means what it says
	utf8     bool // src is UTF-8 throughout
	python   bool // in a call as Python writes it, literals of that language are at home
	closed   bool // src ends at a closing tag: nothing more can come

	depth   int
	out     []byte
	repairs []Repair
	missing int // closing brackets that were missing at the end
}

// mendedAtAll reports whether src is not strict JSON. What JSON leaves open, a
// key given twice or half a surrogate pair, does not count.
func (r *reader) mendedAtAll() bool {
	for _, m := range r.repairs {
		if m.Code != "duplicate_key" && m.Code != "lone_surrogate" && m.Code != "invalid_utf8" {
			return true
		}
	}
	return false
}

// readError is a value that cannot be read. cut says that it ran into the end
// of the source, where more text might have helped.
type readError struct {
	reason Reason
	pos    int
	detail string
	cut    bool
}

// context is where a value stands, which tells what may follow it.
type context uint8

const (
	atTop context = iota
	asKey
	inObject
	inList
	inTuple // or in the arguments of a call
)

func (r *reader) fail(detail string) *readError {
	return &readError{reason: BadJSON, pos: r.pos, detail: detail}
}

func (r *reader) cut() *readError {
	return &readError{reason: Truncated, pos: len(r.src), detail: "it ends in the middle of a value", cut: true}
}

func (r *reader) mend(code string) {
	if len(r.repairs) >= maxRepairs {
		return
	}
	r.repairs = append(r.repairs, Repair{Code: code, Offset: int64(r.pos)})
}

// end reports whether the source is used up.
func (r *reader) end() bool { return r.pos >= len(r.src) }

func (r *reader) peek() byte {
	if r.end() {
		return 0
	}
	return r.src[r.pos]
}

// space skips white space, invisible characters and comments.
func (r *reader) space() *readError {
	for !r.end() {
		rest := r.src[r.pos:]
		switch {
		case isSpace(rest[0]):
			r.pos++
		case rest[0] >= utf8.RuneSelf:
			c, n := utf8.DecodeRuneInString(rest)
			if c != 0xa0 && !invisible(c) {
				return nil
			}
			r.mend("invisible_character")
			r.pos += n
		case strings.HasPrefix(rest, "//"), rest[0] == '#':
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			if strings.Count(rest[:end], `"`)%2 == 1 { // it may as well be text behind an odd quote
				return r.fail("a quote inside the comment, or the string, has no other")
			}
			r.mend("comment")
			r.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return r.cut()
			}
			r.mend("comment")
			r.pos += end + len("/**/")
		default:
			return nil
		}
	}
	return nil
}

// value reads one value that stands in c.
func (r *reader) value(c context) *readError {
	if err := r.space(); err != nil {
		return err
	}
	if r.end() {
		return r.cut()
	}
	switch b := r.peek(); {
	case b == '{':
		return r.nest(r.object)
	case b == '[':
		return r.nest(func() *readError { return r.list(']', inList) })
	case b == '(':
		r.mendUnlessPython("tuple")
		return r.nest(func() *readError { return r.list(')', inTuple) })
	case b == '"' || b == '\'':
		return r.str(c)
	case strings.HasPrefix(r.src[r.pos:], "“"), strings.HasPrefix(r.src[r.pos:], "‘"):
		return r.curly()
	case b == '-' || b == '+' || b == '.' || isDigit(b):
		return r.number()
	}
	return r.word()
}

func (r *reader) mendUnlessPython(code string) {
	if !r.python {
		r.mend(code)
	}
}

func (r *reader) nest(read func() *readError) *readError {
	if r.depth++; r.depth > r.maxDepth {
		return &readError{reason: TooDeep, pos: r.pos, detail: fmt.Sprintf("nested deeper than %d", r.maxDepth)}
	}
	err := read()
	r.depth--
	return err
}

// list reads an array, or a tuple, which becomes one.
func (r *reader) list(closer byte, c context) *readError {
	start := r.pos
	r.pos++
	r.out = append(r.out, '[')
	more, err := r.begin(closer)
	n, comma := 0, false
	for ; more && err == nil; n++ {
		if n > 0 {
			r.out = append(r.out, ',')
		}
		if err = r.value(c); err == nil {
			more, comma, err = r.more(closer)
		}
	}
	if err != nil {
		return err
	}
	if closer == ')' && n == 1 && !comma {
		r.pos = start
		return r.fail("a value in parentheses is no list")
	}
	r.out = append(r.out, ']')
	return nil
}

// object reads an object. A member that repeats an earlier one with the same
// value is left out; with another value it is an error.
func (r *reader) object() *readError {
	r.pos++
	r.out = append(r.out, '{')
	seen := map[string][2]int{} // where in out the value of a key stands
	more, err := r.begin('}')
	for more && err == nil {
		at, before := r.pos, len(r.out)
		if len(seen) > 0 {
			r.out = append(r.out, ',')
		}
		keyAt := len(r.out)
		if err := r.key(); err != nil {
			return err
		}
		key := unquoteJSON(r.out[keyAt:])
		r.out = append(r.out, ':')
		valueAt := len(r.out)
		if err := r.value(inObject); err != nil {
			return err
		}
		if old, dup := seen[key]; dup {
			if !bytes.Equal(r.out[old[0]:old[1]], r.out[valueAt:]) {
				return &readError{reason: DuplicateKey, pos: at, detail: fmt.Sprintf("%q is given twice with different values", key)}
			}
			r.repairs = append(r.repairs, Repair{Code: "duplicate_key", Offset: int64(at)})
			r.out = r.out[:before]
		} else {
			seen[key] = [2]int{valueAt, len(r.out)}
		}
		more, _, err = r.more('}')
	}
	if err != nil {
		return err
	}
	r.out = append(r.out, '}')
	return nil
}

func unquoteJSON(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it was written by str
	return s
}

// begin looks for the first element of a list or object, or its end.
func (r *reader) begin(closer byte) (more bool, err *readError) {
	if err := r.space(); err != nil {
		return false, err
	}
	switch {
	case r.end():
		return false, r.cut()
	case r.peek() == closer:
		r.pos++
		return false, nil
	}
	return true, nil
}

// more goes on behind an element to the next one, or past the end. comma says
// that a comma was read.
func (r *reader) more(closer byte) (more, comma bool, err *readError) {
	start := r.pos
	if err := r.space(); err != nil {
		return false, false, err
	}
	switch {
	case r.end() && r.closed:
		r.missing++
		return false, false, nil
	case r.end():
		return false, false, r.cut()
	case r.peek() == closer:
		r.pos++
		return false, false, nil
	case r.peek() == ',':
		r.pos++
		if err := r.space(); err != nil {
			return false, true, err
		}
		switch {
		case r.end():
			return false, true, r.cut()
		case r.peek() == closer:
			if closer != ')' { // it makes a tuple of one value
				r.mendUnlessPython("trailing_comma")
			}
			r.pos++
			return false, true, nil
		}
		return true, true, nil
	case strings.IndexByte(r.src[start:r.pos], '\n') >= 0 && (closer != '}' || looksLikeKey(r.src[r.pos:])):
		r.mend("missing_comma")
		return true, false, nil
	}
	return false, false, r.fail("expected a comma or " + string(closer))
}

// key reads a key and the colon behind it.
func (r *reader) key() *readError {
	switch b := r.peek(); {
	case b == '"' || b == '\'':
		if err := r.str(asKey); err != nil {
			return err
		}
	case strings.HasPrefix(r.src[r.pos:], "“"), strings.HasPrefix(r.src[r.pos:], "‘"):
		if err := r.curly(); err != nil {
			return err
		}
	case isWord(b) && !isDigit(b):
		start := r.pos
		for !r.end() && (isWord(r.peek()) || r.peek() == '-') {
			r.pos++
		}
		if r.end() && !r.closed {
			return r.cut()
		}
		r.repairs = append(r.repairs, Repair{Code: "unquoted_key", Offset: int64(start)})
		r.out = append(append(append(r.out, '"'), r.src[start:r.pos]...), '"')
	default:
		return r.fail("expected a key")
	}
	if err := r.space(); err != nil {
		return err
	}
	switch {
	case r.end():
		return r.cut()
	case r.peek() != ':':
		return r.fail("expected a colon behind the key")
	}
	r.pos++
	return nil
}

// number copies a number as it was written.
func (r *reader) number() *readError {
	start := r.pos
	for !r.end() && (isWord(r.peek()) || strings.IndexByte("+-.", r.peek()) >= 0) {
		r.pos++
	}
	if r.end() && !r.closed && r.depth > 0 {
		return r.cut()
	}
	text := r.src[start:r.pos]
	fixed := strings.TrimPrefix(text, "+")
	sign := ""
	if strings.HasPrefix(fixed, "-") {
		sign, fixed = "-", fixed[1:]
	}
	if strings.HasPrefix(fixed, ".") {
		fixed = "0" + fixed
	}
	if strings.HasSuffix(fixed, ".") {
		fixed += "0"
	}
	fixed = sign + fixed
	if !json.Valid([]byte(fixed)) || !strings.ContainsAny(text, "0123456789") || strings.HasPrefix(text, "+-") {
		r.pos = start
		return r.fail(fmt.Sprintf("%q is no number", clip(text)))
	}
	if fixed != text {
		r.repairs = append(r.repairs, Repair{Code: "number_form", Offset: int64(start)})
	}
	r.out = append(r.out, fixed...)
	return nil
}

// word reads true, false and null, in JSON's spelling or Python's.
func (r *reader) word() *readError {
	start := r.pos
	for !r.end() && isWord(r.peek()) {
		r.pos++
	}
	if r.end() && !r.closed && r.depth > 0 {
		return r.cut()
	}
	switch text := r.src[start:r.pos]; text {
	case "true", "false", "null":
		r.out = append(r.out, text...)
	case "True", "False", "None":
		if !r.python {
			r.repairs = append(r.repairs, Repair{Code: "python_literal", Offset: int64(start)})
		}
		r.out = append(r.out, map[string]string{"True": "true", "False": "false", "None": "null"}[text]...)
	default:
		r.pos = start
		return r.fail(fmt.Sprintf("%q is no value", clip(r.src[start:min(len(r.src), start+max(len(text), 1))])))
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether c may stand in a name: letters of any script count.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}
