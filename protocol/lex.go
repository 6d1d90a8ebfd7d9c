package protocol

import "strings"

// The tokens of JSON-like text. They have two consumers: span looks for the end
// of a value while that arrives, and reader reads it (value.go). Whether a quote
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
	case k != escaped, strings.HasPrefix(s[1:], "<"): // a tag is one behind a backslash, too
		return k, 1
	case len(s) == 1:
		return k, 0
	}
	return k, 2
}

// commentLen is the length of the comment that s begins with, 0 if it begins
// with none.
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

// beginsKey reports whether s begins with a key and its colon, as far as it goes,
// or with a comment.
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
