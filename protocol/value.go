package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON as models write it, in the tokens at the end of this file: reader takes what is JSON as
// it is, repairs what else has one reading, and records each repair. It
// neither completes what was cut nor evaluates anything, digits stay as they are,
// and it looks at a byte a bounded number of times.

// cursor is a place in a text that is read, with the repairs made up to there.
type cursor struct {
	src     string
	pos     int
	python  bool // in a call as Python writes it, its literals are no repairs
	repairs []Repair
}

// reader reads one value and writes it down as JSON.
type reader struct {
	*cursor
	maxDepth int
	closed   bool // src ends where the block ends: nothing more can come

	depth   int
	out     []byte
	missing int // closing brackets that were missing at the end
}

// member is one member of an object, or an element of a list, without a key.
type member struct {
	key   string
	value json.RawMessage
}

// place is where a value is, which decides what may follow it.
type place uint8

const (
	atTop place = iota
	asKey
	inObject
	inList
	inTuple // or in the arguments of a call
)

// fail refuses what has no one reading. It panics; try recovers.
func (c *cursor) fail(reason Reason, format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = clip(strings.TrimSpace(s))
		}
	}
	panic(&ValueError{Reason: reason, Offset: c.pos, Detail: fmt.Sprintf(format, args...)})
}

// cut decides B13 in a value or an element: what ends in its middle is not completed.
func (c *cursor) cut() {
	c.pos = len(c.src)
	c.fail(Truncated, "it ends in the middle")
}

// try calls read and returns what it failed with.
func try(read func()) (err *ValueError) {
	defer func() {
		if p := recover(); p != nil {
			err = p.(*ValueError)
		}
	}()
	read()
	return nil
}

// repair notes a repair at pos, each kind once. In a call of Python its own literals are no
// repairs (D14).
func (c *cursor) repair(code string, pos int) {
	known := func(r Repair) bool { return r.Code == code }
	if !(c.python && pythonic[code]) && !slices.ContainsFunc(c.repairs, known) {
		c.repairs = append(c.repairs, Repair{Code: code, Offset: int64(pos)})
	}
}

var pythonic = map[string]bool{"tuple": true, "trailing_comma": true, "python_literal": true, "single_quotes": true, "escape": true}

func (c *cursor) rest() string { return c.src[c.pos:] }

func (c *cursor) end() bool { return c.pos >= len(c.src) }

// peek is the next byte; without one, the text is cut.
func (c *cursor) peek() byte {
	if c.end() {
		c.cut()
	}
	return c.src[c.pos]
}

// skip moves past s and the white space behind it, if it comes next.
func (c *cursor) skip(s string) bool {
	after, ok := strings.CutPrefix(c.rest(), s)
	if ok {
		c.pos = len(c.src) - len(trimSpace(after))
	}
	return ok
}

// word moves past a name, which may hold the other bytes too.
func (r *reader) word(others string) string {
	start := r.pos
	for !r.end() && (isWord(r.src[r.pos]) || strings.IndexByte(others, r.src[r.pos]) >= 0) {
		r.pos++
	}
	if r.end() && !r.closed && r.depth > 0 {
		r.cut()
	}
	return r.src[start:r.pos]
}

// space decides V12: it skips white space and comments, and reports whether there was a comment.
func (r *reader) space() (commented bool) {
	for {
		rest := trimSpace(r.src[r.pos:])
		r.pos = len(r.src) - len(rest)
		n, _ := commentLen(rest)
		switch {
		case n == 0:
			return commented
		case !strings.HasPrefix(rest, "/*") && strings.Count(rest[:n], `"`)%2 == 1: // V12: perhaps text behind an odd quote
			r.fail(BadJSON, "a quote inside the comment, or the string, has no other")
		}
		r.repair("comment", r.pos)
		r.pos += n
		commented = true
	}
}

// value reads one value at p. With str, literal, list and object it decides V1 and V7: what is
// strict JSON is copied as it is, but for white space, and a tuple is a list.
func (r *reader) value(p place) {
	r.space()
	switch b := r.peek(); {
	case b == '{':
		r.nest(func() { r.object('}', ':', inObject) })
	case b == '[':
		r.nest(func() { r.list(']', inList) })
	case b == '(': // V7: a tuple
		r.repair("tuple", r.pos)
		r.nest(func() { r.list(')', inTuple) })
	case b == '"' || b == '\'':
		r.str(p)
	default:
		r.literal()
	}
}

// nest decides L2: how deep values may be nested.
func (r *reader) nest(read func()) {
	if r.depth++; r.depth > r.maxDepth {
		r.fail(TooDeep, "nested deeper than %d", r.maxDepth)
	}
	r.pos++
	read()
	r.depth--
}

// list reads an array, or a tuple, which becomes one.
func (r *reader) list(closer byte, p place) {
	start, n, comma := r.pos-1, 0, false
	r.out = append(r.out, '[')
	for more := r.next(closer, true); more; n++ {
		if n > 0 {
			r.out = append(r.out, ',')
		}
		r.value(p)
		more, comma = r.more(closer)
	}
	if closer == ')' && n == 1 && !comma { // V7
		r.pos = start
		r.fail(BadJSON, "a value in parentheses is not a list")
	}
	r.out = append(r.out, ']')
}

// object reads an object, or the keywords of a call: keys, sep and values at p, up to closer. It
// decides V3 and V4: a member that repeats an earlier one with the same value is left out; with
// another value it is an error.
func (r *reader) object(closer, sep byte, p place) {
	r.out = append(r.out, '{')
	seen := map[string][2]int{} // where in out the value of a key is
	for more := r.next(closer, true); more; more, _ = r.more(closer) {
		at, before := r.pos, len(r.out)
		if len(seen) > 0 {
			r.out = append(r.out, ',')
		}
		keyAt := len(r.out)
		r.key(sep)
		key := text(r.out[keyAt:])
		r.out = append(r.out, ':')
		valueAt := len(r.out)
		r.value(p)
		if old, dup := seen[key]; !dup {
			seen[key] = [2]int{valueAt, len(r.out)}
		} else if !bytes.Equal(r.out[old[0]:old[1]], r.out[valueAt:]) {
			r.pos = at
			r.fail(DuplicateKey, "%q is given twice with different values", key) // V4
		} else {
			r.repair("duplicate_key", at) // V3
			r.out = r.out[:before]
		}
	}
	r.out = append(r.out, '}')
}

// next moves to an element, or past the end. It decides V11: a comment in the place of all
// elements replaces something that was left out.
func (r *reader) next(closer byte, first bool) (more bool) {
	commented := r.space()
	if r.peek() != closer {
		return true
	}
	if commented && first {
		r.fail(BadJSON, "a comment stands where a value belongs")
	}
	r.pos++
	return false
}

// more moves from an element to the next one, or past the end. It decides V14, a comma behind
// the last, and V18, a missing comma. comma reports whether a comma was read.
func (r *reader) more(closer byte) (more, comma bool) {
	r.space()
	switch {
	case r.end() && r.closed: // V19, D5: a brace is missing, which object and fromJSON judge
		r.missing++
		return false, false
	case r.peek() == closer:
		r.pos++
		return false, false
	case r.peek() != ',': // V18
		r.fail(BadJSON, "expected a comma or %c", closer)
	}
	r.pos++
	if more = r.next(closer, false); !more && closer != ')' { // V14; in a tuple it makes a list of one value (V7)
		r.repair("trailing_comma", r.pos)
	}
	return more, true
}

// key reads a key and the sep behind it. It decides V16.
func (r *reader) key(sep byte) {
	switch b := r.peek(); {
	case sep == '=' && b != sep:
		r.out = append(r.out, quoteJSON(strings.ReplaceAll(r.word("\\"), `\_`, "_"))...)
	case b == '"' || b == '\'':
		r.str(asKey)
	case isWord(b) && !isDigit(b) && b < utf8.RuneSelf: // V16: without quotes
		r.repair("unquoted_key", r.pos)
		r.out = append(append(append(r.out, '"'), r.word("-")...), '"')
	default:
		r.fail(BadJSON, "expected a key")
	}
	r.space()
	switch {
	case r.peek() != sep && sep == '=': // D14: positional arguments
		r.fail(BadJSON, "the arguments need their names: name(key=value)")
	case r.peek() != sep:
		r.fail(BadJSON, "expected a colon behind the key")
	}
	r.pos++
}

// literal reads a number, or true, false and null. It decides V2, V7, V17 and V18: a number is
// copied as it was written, the words may be in Python's spelling, a number that no program can
// hold is refused, and so is what is none of these.
func (r *reader) literal() {
	start := r.pos
	text := r.word("+-.")
	if word, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[text]; ok {
		r.repair("python_literal", start) // V7
		text = word
	}
	_, err := strconv.ParseFloat(text, 64)
	// V17 is about numbers that overflow, V18 about all that is no JSON.
	if !json.Valid([]byte(text)) || err != nil && strings.ContainsAny(text, ".eE") && isDigit(text[len(text)-1]) {
		r.pos = start
		r.fail(BadJSON, "%q is not a value", r.src[start:min(len(r.src), start+max(len(text), 1))])
	}
	r.out = append(r.out, text...) // V2
}

// str reads a string at p and writes it as JSON. It decides V5, V9 and V13: a quote ends the
// string only if what follows it can follow a string there; other quotes are part of the text
// if they come in pairs, as in <a href="x">, or are apostrophes.
func (r *reader) str(p place) {
	start := r.pos
	quote := r.src[start]
	if quote == '\'' { // V5: single quotes
		r.repair("single_quotes", start)
	}
	if strings.HasPrefix(r.rest(), strings.Repeat(string(quote), 3)) { // V18
		r.fail(BadJSON, "strings stand in one pair of quotes, with escapes")
	}
	r.pos++
	r.out = append(r.out, '"')
	paired := false // inside a pair of unescaped quotes
	for {
		b := r.peek()
		kind, n := lex(r.rest(), true)
		switch {
		case kind == escaped:
			r.escape()
			continue
		case b == quote && r.endsString(p): // V13
			if paired { // V13, V18: an odd quote
				r.fail(BadJSON, "a quote inside the string is not escaped")
			}
			r.pos++
			r.out = append(r.out, '"')
			return
		case b == quote:
			paired = r.innerQuote(start, paired)
		case kind == control && p == asKey: // V9
			r.fail(BadJSON, "a key has no control characters")
		case kind == control: // V9
			r.repair("raw_control", r.pos)
		}
		if b == '"' || kind == control {
			quoted := quoteJSON(string(b))
			r.out = append(r.out, quoted[1:len(quoted)-1]...)
		} else {
			r.out = append(r.out, r.src[r.pos:r.pos+n]...)
		}
		r.pos += n
	}
}

// escape reads a backslash and what it escapes. It decides V8, V10 and E7: half a surrogate pair
// is refused, and a backslash of Neutralise's dropped.
func (r *reader) escape() {
	rest := r.src[r.pos:]
	if len(rest) > 1 && r.src[r.pos-1] == '<' && strings.IndexByte("bfnrt|", rest[1]) >= 0 && isGuarded(rest[1:]) { // E7
		r.repair("escape", r.pos)
		r.pos++
		return
	}
	if len(rest) < 2 || rest[1] == 'u' && len(rest) < 6 {
		r.cut()
	}
	n := 2
	switch b := rest[1]; {
	case strings.IndexByte(`"\/bfnrt`, b) >= 0:
	case b == 'u':
		unit, err := strconv.ParseUint(rest[2:6], 16, 16)
		if n = 6; unit>>11 == 0xd800>>11 && len(rest) >= 12 && rest[6:8] == `\u` && unit < 0xdc00 {
			var low uint64
			if low, err = strconv.ParseUint(rest[8:12], 16, 16); low>>10 == 0xdc00>>10 {
				n, unit = 12, 0
			}
		}
		if err != nil || unit>>11 == 0xd800>>11 { // V10
			r.fail(BadJSON, `\u needs four hexadecimal digits, or two halves of a pair`)
		}
	case b == '\'' || b == '_': // V8, as Markdown escapes it; *, [ and # are escaped in commands and patterns
		r.repair(map[byte]string{'\'': "escape", '_': "markdown_escape"}[b], r.pos)
		r.out = append(r.out, b)
		r.pos += 2
		return
	default: // V18
		r.fail(BadJSON, `\%s is no escape: write \\ for a backslash`, rest[1:2])
	}
	r.out = append(r.out, rest[:n]...)
	r.pos += n
}

// endsString decides V13: whether the quote at pos ends a string at p.
func (r *reader) endsString(p place) bool {
	rest := r.src[r.pos+1:]
	next := trimSpace(rest)
	for len(next) < len(rest) { // V12: a comment behind a string needs white space before it
		n, closed := commentLen(next[:min(len(next), maxComment)])
		if n == 0 || !closed {
			break
		}
		next = trimSpace(next[n:])
	}
	if next == "" || p == atTop {
		return true
	}
	after := trimSpace(next[1:])
	comma := next[0] == ','
	switch p {
	case asKey:
		return next[0] == ':'
	case inObject:
		return next[0] == '}' || comma && (after == "" || after[0] == '}' || beginsKey(after))
	case inList:
		return next[0] == ']' || comma && (after == "" || strings.IndexByte(`]"'{[(-tfnTFN/0123456789`, after[0]) >= 0)
	}
	return next[0] == ')' || comma
}

// innerQuote takes the quote at pos for a part of the text. It decides V5 and V13 there: quotes
// in text come in pairs, the first before a word and the second behind one; a single quote
// between two letters is an apostrophe. Anything else, such as "a" + "b", has no one reading.
func (r *reader) innerQuote(start int, paired bool) bool {
	quote, prev, next := r.src[r.pos], r.src[r.pos-1], r.src[r.pos+1]
	switch {
	case quote == '\'' && isWord(prev) && isWord(next) && r.pos-1 > start: // V5
	case !paired && (r.pos-1 == start || strings.IndexByte(" \t\n=([{>,:", prev) >= 0) && !isSpace(next) && strings.IndexByte(",}]):", next) < 0:
		paired = true
	case paired && !isSpace(prev) && (next == quote || strings.IndexByte(" \t\n>.,;:!?)]}/<\\", next) >= 0):
		paired = false
	default: // V18: joined strings, an odd quote
		r.fail(BadJSON, "a comma or a brace is missing behind a string, or a quote inside it is not escaped")
	}
	r.repair("unescaped_quote", r.pos)
	return paired
}

// json is what was read. It decides V10: a byte that is no UTF-8 is refused.
func (r *reader) json() json.RawMessage {
	if !utf8.Valid(r.out) {
		r.fail(BadJSON, "it is not valid UTF-8")
	}
	return r.out
}

// split takes apart an object or a list that a reader wrote.
func split(value json.RawMessage) (parts []member) {
	d := json.NewDecoder(bytes.NewReader(value))
	bracket, _ := d.Token()
	for d.More() {
		var m member
		if bracket == json.Delim('{') {
			key, _ := d.Token()
			m.key, _ = key.(string)
		}
		if d.Decode(&m.value) != nil {
			break
		}
		parts = append(parts, m)
	}
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
func text(value []byte) (s string) {
	if value[0] == '"' {
		_ = json.Unmarshal(value, &s) // it was written by a reader
	}
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

// isWord reports whether a name may hold c: letters of any script are allowed.
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

// The tokens of JSON-like text. They have two consumers: span looks for the end
// of a value while that arrives, and reader reads it. Whether a quote
// ends its string is for the consumer to say.

// kind is what a token is.
type kind uint8

const (
	run     kind = iota // text without a meaning
	opens               // { or [
	closes              // } or ]
	markup              // <
	quote               // " or '
	escaped             // a backslash and what is behind it
	control             // a control character
)

// kinds are those of bytes. The first 32 are control characters.
var kinds = [256]kind{
	control, control, control, control, control, control, control, control, control, control, control,
	control, control, control, control, control, control, control, control, control, control, control,
	control, control, control, control, control, control, control, control, control, control,
	'{': opens, '[': opens, '}': closes, ']': closes, '<': markup, '"': quote, '\'': quote, '\\': escaped,
}

// lex returns the token that s begins with, and its length. Brackets mean nothing
// inside a string, escapes and control characters nothing outside. An escape that
// is not there yet has no length.
func lex(s string, inString bool) (k kind, n int) {
	for inString && n < len(s) && kinds[s[n]] < markup {
		n++
	}
	for !inString && n < len(s) && (kinds[s[n]] < opens || kinds[s[n]] > quote) {
		n++
	}
	if n > 0 || s == "" {
		return run, n
	}
	switch k = kinds[s[0]]; {
	case k != escaped:
		return k, 1
	case len(s) == 1:
		return k, 0
	}
	return k, 2
}

// commentLen is the length of the comment that s begins with, 0 if it begins with none: what V12
// takes for one.
func commentLen(s string) (n int, closed bool) {
	switch {
	case strings.HasPrefix(s, "/*"):
		if n = strings.Index(s[2:], "*/"); n < 0 {
			return len(s), false
		}
		return n + len("/**/"), true
	case strings.HasPrefix(s, "//"), strings.HasPrefix(s, "#"):
		if n = strings.IndexByte(s, '\n'); n < 0 {
			n = len(s)
		}
	}
	return n, true
}

// maxComment is how far the end of a comment behind a string is looked for.
const maxComment = 200

// beginsKey reports whether s begins with a key and its colon, as far as it goes, or with a
// comment: what by V13 follows a string and a comma. In a key that ends with an escaped quote
// the string goes on.
func beginsKey(s string) bool {
	end := 0
	switch n, _ := commentLen(s[:min(len(s), maxComment)]); {
	case n > 0:
		return true
	case kinds[s[0]] == quote:
		for end = 1; end < len(s) && s[end] != s[0]; {
			k, n := lex(s[end:], true)
			switch {
			case k == control: // whatever it is, it is not part of the string before
				return true
			case n == 2 && s[end+1] == s[0] && strings.HasPrefix(s[end+2:], s[:1]): // a key in quotes
				return false
			}
			end += max(n, 1)
		}
		end++
	default:
		for end < len(s) && (isWord(s[end]) || s[end] == '-') {
			end++
		}
	}
	rest := trimSpace(s[min(end, len(s)):])
	return rest == "" || rest[0] == ':'
}

// span finds the end of a value as it arrives, or that of a block around it.
type span struct {
	pos   int // next byte to look at
	depth int // open braces and brackets
	str   bool
}

// valueEnd is where the value ends that s begins with; its end, if it does not.
func valueEnd(s string) int {
	for p := (span{}); p.pos < len(s); {
		k, n := lex(s[p.pos:], p.str)
		if p.step(k, s[p.pos], max(n, 1)); p.depth == 0 {
			return min(p.pos, len(s))
		}
	}
	return len(s)
}

// step moves past a token that begins with c.
func (p *span) step(k kind, c byte, n int) {
	switch {
	case c == '"' && k == quote:
		p.str = !p.str && p.depth > 0
	case k == opens:
		p.depth++
	case k == closes && p.depth > 0:
		p.depth--
	}
	p.pos += n
}
