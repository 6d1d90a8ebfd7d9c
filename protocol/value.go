package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON as models write it. Three read it: span, which looks for the end of a
// value while that arrives; reader in strict mode, which takes JSON for what it
// is (V1); and reader in tolerant mode, which repairs what has one reading and
// says how. They share what a string, a comment and a name is. None completes
// what was cut or evaluates anything, digits stay as they are, and each looks at
// a byte a bounded number of times.

// stopsString reports whether a byte of a string is not copied as it is.
func stopsString(c byte) bool { return c < ' ' || c == '"' || c == '\'' || c == '\\' }

// span finds the end of a value as it arrives, or that of a block around it.
type span struct {
	pos   int // next byte to look at
	depth int // open braces and brackets
	str   bool
	esc   bool
}

func (p *span) step(c byte) {
	switch {
	case p.esc:
		p.esc = false
	case p.str && c == '\\':
		p.esc = true
	case c == '"':
		p.str = !p.str && p.depth > 0
	case p.str:
	case c == '{' || c == '[':
		p.depth++
	case (c == '}' || c == ']') && p.depth > 0:
		p.depth--
	}
	p.pos++
}

// reader reads one value and writes it down as JSON.
type reader struct {
	src      string
	pos      int
	maxDepth int
	strict   bool // src is JSON: every quote means what it says
	python   bool // in a call as Python writes it, its literals are at home
	closed   bool // src ends where the block does: nothing more can come

	depth   int
	out     []byte
	repairs []Repair
	missing int       // closing brackets that were missing at the end
	parts   *[]member // where the members of the outermost object or list go
}

// member is one member of an object, or an element of a list, without a key.
type member struct {
	key   string
	value json.RawMessage
}

// maxRepairs bounds how many repairs are noted.
const maxRepairs = 1000

// readError is a value that cannot be read. cut says that it ran into the end
// of the source, where more text might have helped.
type readError struct {
	reason Reason
	pos    int
	detail string
	cut    bool
}

// place is where a value stands, which tells what may follow it.
type place uint8

const (
	atTop place = iota
	asKey
	inObject
	inList
	inTuple // or in the arguments of a call
)

// fail refuses what has no one reading (V18).
func (r *reader) fail(detail string) *readError {
	return &readError{reason: BadJSON, pos: r.pos, detail: detail}
}

func (r *reader) cut() *readError {
	return &readError{reason: Truncated, pos: len(r.src), detail: "it ends in the middle of a value", cut: true}
}

// repair notes a repair at pos, if it was needed by JSON and not at home in
// Python.
func (r *reader) repair(code string, pos int) {
	if len(r.repairs) < maxRepairs {
		r.repairs = append(r.repairs, Repair{Code: code, Offset: int64(pos)})
	}
}

func (r *reader) repairUnlessPython(code string) {
	if !r.python {
		r.repair(code, r.pos)
	}
}

// repaired reports whether src is not strict JSON. A key given twice does not
// count.
func (r *reader) repaired() bool {
	for _, m := range r.repairs {
		if m.Code != "duplicate_key" {
			return true
		}
	}
	return false
}

func (r *reader) end() bool { return r.pos >= len(r.src) }

func (r *reader) peek() byte {
	if r.end() {
		return 0
	}
	return r.src[r.pos]
}

// space skips white space and comments (V12), and says whether there was one.
func (r *reader) space() (commented bool, err *readError) {
	for !r.end() {
		if isSpace(r.src[r.pos]) {
			r.pos++
			continue
		}
		n, closed := commentLen(r.src[r.pos:])
		switch {
		case n == 0:
			return commented, nil
		case !closed:
			return false, r.cut()
		case !strings.HasPrefix(r.src[r.pos:], "/*") && strings.Count(r.src[r.pos:r.pos+n], `"`)%2 == 1: // it may as well be text behind an odd quote
			return false, r.fail("a quote inside the comment, or the string, has no other")
		}
		r.repair("comment", r.pos)
		r.pos += n
		commented = true
	}
	return commented, nil
}

// commentLen is the length of the comment that s begins with, 0 if it begins
// with none.
func commentLen(s string) (n int, closed bool) {
	switch {
	case strings.HasPrefix(s, "//"), strings.HasPrefix(s, "#"):
		if n = strings.IndexByte(s, '\n'); n < 0 {
			n = len(s)
		}
		return n, true
	case strings.HasPrefix(s, "/*"):
		if n = strings.Index(s[2:], "*/"); n < 0 {
			return len(s), false
		}
		return n + len("/**/"), true
	}
	return 0, true
}

// value reads one value that stands at p.
func (r *reader) value(p place) *readError {
	if _, err := r.space(); err != nil {
		return err
	}
	switch b := r.peek(); {
	case r.end():
		return r.cut()
	case b == '{':
		return r.nest(r.object)
	case b == '[':
		return r.nest(func() *readError { return r.list(']', inList) })
	case b == '(': // V7
		r.repairUnlessPython("tuple")
		return r.nest(func() *readError { return r.list(')', inTuple) })
	case b == '"' || b == '\'':
		return r.str(p)
	case b == '-' || isDigit(b):
		return r.number()
	}
	return r.word()
}

func (r *reader) nest(read func() *readError) *readError {
	if r.depth++; r.depth > r.maxDepth { // L2
		return &readError{reason: TooDeep, pos: r.pos, detail: fmt.Sprintf("nested deeper than %d", r.maxDepth)}
	}
	err := read()
	r.depth--
	return err
}

// list reads an array, or a tuple, which becomes one.
func (r *reader) list(closer byte, p place) *readError {
	start := r.pos
	r.pos++
	r.out = append(r.out, '[')
	more, err := r.next(closer, true)
	n, comma := 0, false
	for ; more && err == nil; n++ {
		if n > 0 {
			r.out = append(r.out, ',')
		}
		at := len(r.out)
		if err = r.value(p); err == nil {
			if r.parts != nil && r.depth == 1 {
				*r.parts = append(*r.parts, member{"", r.out[at:]})
			}
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
// value is left out (V3); with another value it is an error (V4).
func (r *reader) object() *readError {
	r.pos++
	r.out = append(r.out, '{')
	seen := map[string][2]int{} // where in out the value of a key stands
	more, err := r.next('}', true)
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
		if old, dup := seen[key]; !dup {
			seen[key] = [2]int{valueAt, len(r.out)}
			if r.parts != nil && r.depth == 1 {
				*r.parts = append(*r.parts, member{key, r.out[valueAt:]})
			}
		} else if !bytes.Equal(r.out[old[0]:old[1]], r.out[valueAt:]) {
			return &readError{reason: DuplicateKey, pos: at, detail: fmt.Sprintf("%q is given twice with different values", key)}
		} else {
			r.repair("duplicate_key", at)
			r.out = r.out[:before]
		}
		more, _, err = r.more('}')
	}
	r.out = append(r.out, '}')
	return err
}

// next moves to an element, or past the end. A comment in the place of all
// elements stands for something that was left out (V11).
func (r *reader) next(closer byte, first bool) (more bool, err *readError) {
	commented, err := r.space()
	switch {
	case err != nil:
		return false, err
	case r.end():
		return false, r.cut()
	case r.peek() != closer:
		return true, nil
	case commented && first:
		return false, r.fail("a comment stands where a value belongs")
	}
	r.pos++
	return false, nil
}

// more goes on behind an element to the next one, or past the end. comma says
// that a comma was read.
func (r *reader) more(closer byte) (more, comma bool, err *readError) {
	if _, err := r.space(); err != nil {
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
		more, err = r.next(closer, false)
		if err == nil && !more && closer != ')' { // V14; in a tuple it makes a list of one value
			r.repairUnlessPython("trailing_comma")
		}
		return more, true, err
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
	case isWord(b) && !isDigit(b): // V16
		start := r.pos
		for !r.end() && (isWord(r.peek()) || r.peek() == '-') {
			r.pos++
		}
		if r.end() && !r.closed {
			return r.cut()
		}
		if strings.ContainsAny(r.src[start:r.pos], "“”‘’") {
			return r.fail("keys stand in straight quotes")
		}
		r.repair("unquoted_key", start)
		r.out = append(append(append(r.out, '"'), r.src[start:r.pos]...), '"')
	default:
		return r.fail("expected a key")
	}
	if _, err := r.space(); err != nil {
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

// number copies a number as it was written (V2). One that no program can hold
// is refused (V17).
func (r *reader) number() *readError {
	start := r.pos
	for !r.end() && (isWord(r.peek()) || strings.IndexByte("+-.", r.peek()) >= 0) {
		r.pos++
	}
	if r.end() && !r.closed && r.depth > 0 {
		return r.cut()
	}
	text := r.src[start:r.pos]
	valid := json.Valid([]byte(text))
	if valid && strings.ContainsAny(text, ".eE") {
		_, err := strconv.ParseFloat(text, 64)
		valid = err == nil
	}
	if !valid {
		r.pos = start
		return r.fail(fmt.Sprintf("%q is no number", clip(text)))
	}
	r.out = append(r.out, text...)
	return nil
}

// word reads true, false and null, in JSON's spelling or Python's (V7).
func (r *reader) word() *readError {
	start := r.pos
	for !r.end() && isWord(r.peek()) {
		r.pos++
	}
	if r.end() && !r.closed && r.depth > 0 {
		return r.cut()
	}
	text := r.src[start:r.pos]
	switch text {
	case "true", "false", "null":
	case "True", "False", "None":
		if !r.python {
			r.repair("python_literal", start)
		}
		text = map[string]string{"True": "true", "False": "false", "None": "null"}[text]
	default:
		r.pos = start
		return r.fail(fmt.Sprintf("%q is no value", clip(r.src[start:min(len(r.src), start+max(len(text), 1))])))
	}
	r.out = append(r.out, text...)
	return nil
}

// str reads a string that stands at p and writes it as JSON. Where the source
// is not strict JSON, a quote ends the string only if what follows it can stand
// behind a string there; other quotes are part of the text if they come in
// pairs, as in <a href="x">, or are apostrophes (V13).
func (r *reader) str(p place) *readError {
	start := r.pos
	quote := r.src[start]
	if quote == '\'' { // V5
		r.repairUnlessPython("single_quotes")
	}
	if triple := strings.Repeat(string(quote), 3); !r.strict && strings.HasPrefix(r.src[start:], triple) {
		return r.fail("strings stand in one pair of quotes, with escapes")
	}
	r.pos++
	r.out = append(r.out, '"')
	paired := false // inside a pair of unescaped quotes
	for {
		end := r.pos
		for end < len(r.src) && !stopsString(r.src[end]) {
			end++
		}
		if end == len(r.src) {
			return r.cut()
		}
		r.out = append(r.out, r.src[r.pos:end]...)
		r.pos = end
		switch b := r.src[r.pos]; {
		case b == '\\':
			if err := r.escape(); err != nil {
				return err
			}
		case b == quote:
			ends, err := r.endsString(p)
			if err != nil {
				return err
			}
			if ends && paired {
				return r.fail("a quote inside the string is not escaped")
			}
			if ends {
				r.pos++
				r.out = append(r.out, '"')
				return nil
			}
			if paired, err = r.innerQuote(start, paired); err != nil {
				return err
			}
		case b == '"': // in single quotes
			r.out = append(r.out, '\\', '"')
			r.pos++
		case b == '\'':
			r.out = append(r.out, b)
			r.pos++
		default:
			r.control(b)
		}
	}
}

// control writes a control character that stands in a string as it is (V9). One
// note is enough for a text full of them.
func (r *reader) control(b byte) {
	r.repairOnce("raw_control")
	if i := strings.IndexByte("\n\r\t", b); i >= 0 {
		r.out = append(r.out, '\\', "nrt"[i])
	} else {
		r.out = fmt.Appendf(r.out, `\u%04x`, b)
	}
	r.pos++
}

func (r *reader) repairOnce(code string) {
	if n := len(r.repairs); n == 0 || r.repairs[n-1].Code != code {
		r.repair(code, r.pos)
	}
}

// escape reads a backslash and what it escapes (V8).
func (r *reader) escape() *readError {
	if r.pos+1 >= len(r.src) {
		return r.cut()
	}
	switch b := r.src[r.pos+1]; {
	case strings.IndexByte(`"\bfnrt`, b) >= 0, b == '/' && !r.python:
		r.out = append(r.out, '\\', b)
	case b == 'u':
		return r.unicodeEscape()
	case b == '\'':
		r.repairUnlessPython("escape")
		r.out = append(r.out, '\'')
	case b == '_': // as Markdown escapes it; *, [ and # are escaped in commands and patterns
		r.repair("markdown_escape", r.pos)
		r.out = append(r.out, b)
	case r.python && strings.IndexByte("xNUav01234567\r\n", b) < 0 && b < utf8.RuneSelf: // Python takes the backslash for itself
		r.out = append(r.out, '\\', '\\')
		r.pos--
	default:
		return r.fail(fmt.Sprintf(`\%s is no escape: write \\ for a backslash`, clip(r.src[r.pos+1:min(len(r.src), r.pos+2)])))
	}
	r.pos += 2
	return nil
}

// unicodeEscape reads \u and four hexadecimal digits. Half a surrogate pair
// stands for nothing and is refused (V10).
func (r *reader) unicodeEscape() *readError {
	unit := func(at int) (n uint64, ok bool) {
		if at+6 > len(r.src) || r.src[at:at+2] != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(r.src[at+2:at+6], 16, 16)
		return n, err == nil
	}
	n, ok := unit(r.pos)
	width := 6
	switch {
	case !ok && r.pos+6 > len(r.src):
		return r.cut()
	case !ok:
		return r.fail(`\u needs four hexadecimal digits`)
	case 0xd800 <= n && n <= 0xdfff:
		if low, ok := unit(r.pos + 6); !ok || n >= 0xdc00 || low < 0xdc00 || low > 0xdfff {
			return r.fail("half a surrogate pair is no character")
		}
		width = 12
	}
	r.out = append(r.out, r.src[r.pos:r.pos+width]...)
	r.pos += width
	return nil
}

// endsString reports whether the quote at pos ends a string that stands at p.
func (r *reader) endsString(p place) (bool, *readError) {
	if r.strict {
		return true, nil
	}
	rest := r.src[r.pos+1:]
	next := trimSpace(rest)
	for len(next) < len(rest) && p != asKey && p != atTop { // a comment needs white space before it (V12)
		n, closed := commentLen(next[:min(len(next), maxKey)])
		if n == 0 || !closed || n == maxKey {
			break
		}
		next = trimSpace(next[n:])
	}
	if next == "" {
		if !r.closed && r.depth > 0 {
			return false, r.cut()
		}
		return true, nil
	}
	after := trimSpace(next[1:])
	switch p {
	case atTop:
		return true, nil
	case asKey:
		return next[0] == ':', nil
	case inObject:
		return next[0] == '}' || next[0] == ',' && (after == "" || after[0] == '}' || looksLikeKey(after)), nil
	case inList:
		return next[0] == ']' || next[0] == ',' && (after == "" || after[0] == ']' || startsValue(after[0])), nil
	}
	return next[0] == ')' || next[0] == ',', nil
}

// maxKey is how far looksLikeKey looks for the end of a key.
const maxKey = 200

// looksLikeKey reports whether s begins with a key and its colon, as far as it
// goes.
func looksLikeKey(s string) bool {
	if n, _ := commentLen(s[:min(len(s), maxKey)]); n > 0 {
		return true
	}
	end := 0
	if q := s[0]; q == '"' || q == '\'' {
		end = strings.IndexByte(s[1:min(len(s), maxKey)], q) + 2
		if end == 1 {
			return len(s) < maxKey // not there yet
		}
	} else {
		for end < min(len(s), maxKey) && (isWord(s[end]) || s[end] == '-') {
			end++
		}
		if end == 0 {
			return false
		}
	}
	rest := trimSpace(s[end:])
	return rest == "" || rest[0] == ':'
}

func startsValue(c byte) bool {
	return strings.IndexByte(`"'{[(-tfnTFN/`, c) >= 0 || isDigit(c)
}

// innerQuote takes the quote at pos for a part of the text. Quotes in text come
// in pairs, the first before a word and the second behind one; a single quote
// between two letters is an apostrophe. Anything else, such as "a" + "b", has
// no one reading.
func (r *reader) innerQuote(start int, paired bool) (bool, *readError) {
	quote, prev, next := r.src[r.pos], r.src[r.pos-1], r.src[r.pos+1]
	switch {
	case quote == '\'' && isWord(prev) && isWord(next) && r.pos-1 > start:
	case !paired && (r.pos-1 == start || strings.IndexByte(" \t\n=([{>,:", prev) >= 0) && !isSpace(next) && strings.IndexByte(",}]):", next) < 0:
		paired = true
	case paired && !isSpace(prev) && (next == quote || strings.IndexByte(" \t\n>.,;:!?)]}/<\\", next) >= 0):
		paired = false
	default:
		return false, r.fail("a comma or a brace is missing behind a string, or a quote inside it is not escaped")
	}
	r.repairOnce("unescaped_quote")
	if quote == '"' {
		r.out = append(r.out, '\\')
	}
	r.out = append(r.out, quote)
	r.pos++
	return paired, nil
}

// read reads the value at pos: strict JSON first, and what models make of it
// only if that fails.
func read(r reader) (*reader, *readError) {
	strict := r
	strict.strict, strict.closed = true, false
	err := strict.value(atTop)
	last := &strict
	if err != nil && (!err.cut || r.closed || strict.repaired()) || err == nil && strict.repaired() {
		last = &r
		err = r.value(atTop)
	}
	if err == nil && !utf8.Valid(last.out) {
		return last, last.fail("it is not valid UTF-8")
	}
	return last, err
}

// split takes apart an object or a list that a reader wrote.
func split(value []byte) []member {
	var parts []member
	r := reader{src: string(value), strict: true, maxDepth: len(value), out: make([]byte, 0, len(value)), parts: &parts}
	_ = r.value(atTop) // it was written by a reader
	return parts
}

// join writes members as an object.
func join(ms []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoteJSON(m.key)...), ':'), m.value...)
	}
	return append(out, '}')
}

// text is the string that value is, "" if it is none.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return unquoteJSON(value)
}

func unquoteJSON(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it was written by str
	return s
}

// quoteJSON writes s as JSON. Tags stay readable.
func quoteJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether c may stand in a name: letters of any script count.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}

// clip shortens what is shown of a reply.
func clip(s string) string {
	if len(s) > 20 {
		s = strings.ToValidUTF8(s[:20], "") + "…"
	}
	return s
}
