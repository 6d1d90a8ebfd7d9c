package protocol

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// stops marks the bytes of a string that are not copied as they are.
var stops = func() (m [256]bool) {
	for c := range 256 {
		m[c] = c < ' ' || c == '"' || c == '\'' || c == '\\'
	}
	return m
}()

// str reads a string that stands in c and writes it as JSON. Where the source
// is not strict JSON, a quote ends the string only if what follows it can stand
// behind a string there; other quotes are part of the text if they come in
// pairs, as in <a href="x">, or are apostrophes.
func (r *reader) str(c context) *readError {
	start := r.pos
	quote := r.src[start]
	if quote == '\'' {
		r.mendUnlessPython("single_quotes")
	}
	if triple := strings.Repeat(string(quote), 3); !r.strict && c != asKey && strings.HasPrefix(r.src[r.pos:], triple) {
		return r.triple(triple)
	}
	r.pos++
	r.out = append(r.out, '"')
	paired := false // inside a pair of unescaped quotes
	for {
		end := r.pos
		for end < len(r.src) && !stops[r.src[end]] && (r.src[end] < utf8.RuneSelf || r.utf8) {
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
			ends, err := r.endsString(c)
			if err != nil {
				return err
			}
			if ends {
				if paired {
					return r.fail("a quote inside the string is not escaped")
				}
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
		case b < ' ':
			r.control(b)
		default:
			r.foreign()
		}
	}
}

// triple reads a string in three quotes, which holds line ends and quotes as
// they are.
func (r *reader) triple(quotes string) *readError {
	r.mendUnlessPython("triple_quotes")
	r.pos += len(quotes)
	return r.upTo(quotes)
}

// curly reads a string in typographic quotes. It has none inside.
func (r *reader) curly() *readError {
	const open, double, single = len("“"), "”", "’"
	closer := double
	if strings.HasPrefix(r.src[r.pos:], "‘") {
		closer = single
	}
	r.mend("curly_quotes")
	r.pos += open
	return r.upTo(closer)
}

// upTo reads the rest of a string up to what closes it.
func (r *reader) upTo(closer string) *readError {
	r.out = append(r.out, '"')
	for start := r.pos; !r.end(); {
		switch {
		case r.peek() == '\\':
			r.plain(start)
			if err := r.escape(); err != nil {
				return err
			}
			start = r.pos
		case strings.HasPrefix(r.src[r.pos:], closer):
			r.plain(start)
			r.out = append(r.out, '"')
			r.pos += len(closer)
			return nil
		default:
			r.pos++
		}
	}
	return r.cut()
}

// plain writes the text from start up to pos, in which nothing is escaped.
func (r *reader) plain(start int) {
	quoted := quoteJSON(r.src[start:r.pos])
	r.out = append(r.out, quoted[1:len(quoted)-1]...)
}

// control writes a control character that stands in a string as it is.
func (r *reader) control(b byte) {
	if !r.mended("raw_control") {
		r.mend("raw_control")
	}
	switch b {
	case '\n':
		r.out = append(r.out, `\n`...)
	case '\r':
		r.out = append(r.out, `\r`...)
	case '\t':
		r.out = append(r.out, `\t`...)
	default:
		r.out = fmt.Appendf(r.out, `\u%04x`, b)
	}
	r.pos++
}

// mended reports whether the last repair was of this kind: one note is enough
// for a text full of them.
func (r *reader) mended(code string) bool {
	n := len(r.repairs)
	return n > 0 && r.repairs[n-1].Code == code
}

// foreign writes one character of a text that is not UTF-8 throughout.
func (r *reader) foreign() {
	c, n := utf8.DecodeRuneInString(r.src[r.pos:])
	if c == utf8.RuneError && n == 1 && !r.mended("invalid_utf8") {
		r.mend("invalid_utf8")
	}
	r.out = utf8.AppendRune(r.out, c)
	r.pos += n
}

// escape reads a backslash and what it escapes.
func (r *reader) escape() *readError {
	if r.pos+1 >= len(r.src) {
		return r.cut()
	}
	switch b := r.src[r.pos+1]; {
	case b == '/' && r.python:
		return r.backslash()
	case strings.IndexByte(`"\/bfnrt`, b) >= 0:
		r.out = append(r.out, '\\', b)
		r.pos += 2
	case b == 'u':
		return r.unicodeEscape()
	case b == '\'':
		r.mendUnlessPython("escape")
		r.out = append(r.out, '\'')
		r.pos += 2
	case b == '_': // as Markdown escapes it; *, [ and # are escaped in commands and patterns
		r.mend("markdown_escape")
		r.out = append(r.out, b)
		r.pos += 2
	case r.python && strings.IndexByte("xNUav01234567\r\n", b) < 0 && b < utf8.RuneSelf:
		return r.backslash()
	default:
		return r.fail(fmt.Sprintf(`\%s is no escape: write \\ for a backslash`, clip(r.src[r.pos+1:min(len(r.src), r.pos+2)])))
	}
	return nil
}

// backslash writes a backslash that Python takes for itself.
func (r *reader) backslash() *readError {
	r.out = append(r.out, '\\', '\\')
	r.pos++
	return nil
}

// unicodeEscape reads \u and four hexadecimal digits. One half of a surrogate pair stands for nothing.
func (r *reader) unicodeEscape() *readError {
	unit := func(at int) (n rune, cut, ok bool) {
		if at+6 > len(r.src) {
			return 0, strings.HasPrefix(`\u`, r.src[at:min(at+2, len(r.src))]), false
		}
		if r.src[at] != '\\' || r.src[at+1] != 'u' {
			return 0, false, false
		}
		for _, b := range []byte(r.src[at+2 : at+6]) {
			switch b = lower(b); {
			case isDigit(b):
				n = n<<4 | rune(b-'0')
			case 'a' <= b && b <= 'f':
				n = n<<4 | rune(b-'a'+10)
			default:
				return 0, false, false
			}
		}
		return n, false, true
	}
	n, cut, ok := unit(r.pos)
	switch {
	case cut:
		return r.cut()
	case !ok:
		return r.fail(`\u needs four hexadecimal digits`)
	case n < 0xd800 || n > 0xdfff:
		r.out = append(r.out, r.src[r.pos:r.pos+6]...)
		r.pos += 6
		return nil
	}
	if low, _, ok := unit(r.pos + 6); ok && n < 0xdc00 && 0xdc00 <= low && low <= 0xdfff {
		r.out = append(r.out, r.src[r.pos:r.pos+12]...)
		r.pos += 12
		return nil
	}
	r.mend("lone_surrogate")
	r.out = append(r.out, "\ufffd"...)
	r.pos += 6
	return nil
}

// endsString reports whether the quote at pos ends a string that stands in c.
func (r *reader) endsString(c context) (bool, *readError) {
	if r.strict {
		return true, nil
	}
	rest := r.src[r.pos+1:]
	trimmed := strings.TrimLeft(rest, " \t\r\n")
	if trimmed == "" {
		if !r.closed && r.depth > 0 {
			return false, r.cut()
		}
		return true, nil
	}
	if len(trimmed) < len(rest) && c != asKey && c != atTop {
		if trimmed = skipComments(trimmed); trimmed == "" {
			return true, nil
		}
	}
	newline := strings.IndexByte(rest[:len(rest)-len(trimmed)], '\n') >= 0
	next, after := trimmed[0], strings.TrimLeft(trimmed[1:], " \t\r\n")
	switch {
	case c == atTop:
		return true, nil
	case c == asKey:
		return next == ':', nil
	case c == inObject:
		return next == '}' || next == ',' && (after == "" || after[0] == '}' || looksLikeKey(after)) || newline && looksLikeKey(trimmed), nil
	case c == inList:
		return next == ']' || next == ',' && (after == "" || startsValue(after[0]) || after[0] == ']') || newline && startsValue(next), nil
	}
	return next == ')' || next == ',', nil
}

// maxComment is how far skipComments looks.
const maxComment = 1000

// skipComments skips the comments that s begins with, and white space.
func skipComments(s string) string {
	head := s[:min(len(s), maxComment)]
	for {
		closer := "\n"
		switch {
		case strings.HasPrefix(head, "#"), strings.HasPrefix(head, "//"):
		case strings.HasPrefix(head, "/*"):
			closer = "*/"
		default:
			return s[min(len(s), maxComment)-len(head):]
		}
		_, after, ok := strings.Cut(head, closer)
		if !ok {
			return s
		}
		head = strings.TrimLeft(after, " \t\r\n")
	}
}

// maxKey is how far looksLikeKey looks for the end of a key.
const maxKey = 200

// looksLikeKey reports whether s begins with a key and its colon, as far as it
// goes.
func looksLikeKey(s string) bool {
	if strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*") || strings.HasPrefix(s, "#") {
		return true
	}
	end := 0
	if q := s[0]; q == '"' || q == '\'' {
		end = strings.IndexByte(s[1:min(len(s), maxKey)], q) + 2
		if end == 1 {
			return len(s) < maxKey // not there yet
		}
	} else {
		for end < len(s) && end < maxKey && (isWord(s[end]) || s[end] == '-') {
			end++
		}
		if end == 0 {
			return false
		}
	}
	rest := strings.TrimLeft(s[end:], " \t\r\n")
	return rest == "" || rest[0] == ':'
}

func startsValue(c byte) bool {
	return strings.IndexByte(`"'{[(-+.tfnTFN/`, c) >= 0 || isDigit(c)
}

// innerQuote takes the quote at pos for a part of the text. Quotes in text come
// in pairs, the first before a word and the second behind one; a single quote
// between two letters is an apostrophe. Anything else, such as "a" + "b", has
// no one reading.
func (r *reader) innerQuote(start int, paired bool) (bool, *readError) {
	quote, prev, next := r.src[r.pos], r.src[r.pos-1], r.src[r.pos+1]
	ambiguous := r.fail("a comma or a brace is missing behind a string, or a quote inside it is not escaped")
	switch {
	case quote == '\'' && isWord(prev) && isWord(next) && r.pos-1 > start:
	case !paired && (r.pos-1 == start || strings.IndexByte(" \t\n=([{>,:", prev) >= 0) && !isSpace(next) && strings.IndexByte(",}]):", next) < 0:
		paired = true
	case paired && !isSpace(prev) && (next == quote || strings.IndexByte(" \t\n>.,;:!?)]}/<\\", next) >= 0):
		paired = false
	default:
		return false, ambiguous
	}
	if !r.mended("unescaped_quote") {
		r.mend("unescaped_quote")
	}
	if quote == '"' {
		r.out = append(r.out, '\\')
	}
	r.out = append(r.out, quote)
	r.pos++
	return paired, nil
}
