package redact

import (
	"slices"
	"strings"
)

// Text replaces the secrets in a text with markers such as [redacted: password]
// and returns the kinds that it found, each once. It runs in time linear in the
// length of the text.
//
// A string that merely looks random is left alone: commit hashes, UUIDs,
// checksums.
func Text(text string) (clean string, found []string) {
	r := redactor{text: text, tokens: byFirst()}
	r.scan()
	r.applyRules()
	if len(r.spans) == 0 {
		return text, nil
	}
	slices.SortStableFunc(r.spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, s := range r.spans {
		if s.start < at {
			at = max(at, s.end) // overlaps the span before it
			continue
		}
		b.WriteString(text[at:s.start])
		b.WriteString("[redacted: " + s.kind + "]")
		at = s.end
		if !slices.Contains(found, s.kind) {
			found = append(found, s.kind)
		}
	}
	b.WriteString(text[at:])
	return b.String(), found
}

// span is a secret in a text.
type span struct {
	start, end int
	kind       string
}

type redactor struct {
	text   string
	tokens [256][]prefixed // by their first byte
	spans  []span
}

func (r *redactor) add(start, end int, kind string) {
	r.spans = append(r.spans, span{start, end, kind})
}

// scan looks for tokens, card numbers and assignments. It continues behind a
// secret, else at the next byte or the end of the word. It looks at most maxValue
// bytes ahead, so that it is linear.
func (r *redactor) scan() {
	for at := 0; at < len(r.text); {
		switch c := r.text[at]; {
		case alnum(c) || c == '_':
			end := r.token(at)
			switch {
			case end == 0 && isDigit(c):
				end = r.card(at)
			case end == 0 && upperDigit(c):
				end = r.account(at)
			}
			at = max(end, run(r.text, at, wordy))
		case c == '=' || c == ':':
			at = r.assignment(at)
		case c == '\\' && at+1 < len(r.text) && strings.IndexByte("nrt", r.text[at+1]) >= 0: // in a JSON string
			at += 2
		default:
			at++
		}
	}
}

// run returns where the characters of an alphabet end.
func run(s string, at int, alphabet func(byte) bool) int {
	for at < len(s) && alphabet(s[at]) {
		at++
	}
	return at
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLetter(c byte) bool   { return 'a' <= c|' ' && c|' ' <= 'z' }
func upperDigit(c byte) bool { return 'A' <= c && c <= 'Z' || isDigit(c) }
func alnum(c byte) bool      { return isLetter(c) || isDigit(c) }
func wordy(c byte) bool      { return alnum(c) || c == '_' || c == '-' }
func pathy(c byte) bool      { return wordy(c) || c == '/' || c == '.' }

// mixed reports whether s contains an unbroken run of 16 letters and digits with
// some of both.
func mixed(s string) bool {
	for at := 0; at < len(s); at++ {
		end := run(s, at, alnum)
		if end-at >= 16 && strings.ContainsFunc(s[at:end], digitRune) && strings.ContainsFunc(s[at:end], letterRune) {
			return true
		}
		at = end
	}
	return false
}

func digitRune(c rune) bool  { return c < 128 && isDigit(byte(c)) }
func letterRune(c rune) bool { return c < 128 && isLetter(byte(c)) }
