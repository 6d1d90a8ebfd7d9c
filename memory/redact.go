package memory

import (
	"slices"
	"strings"
)

// Redact takes secrets out of a text: blocks of private keys, keys and tokens
// that are known by their form, values that are given to a name such as
// password or API_KEY, what follows Bearer and Basic in headers, passwords and
// tokens in URLs, and passwords that are options of well-known commands. Each
// becomes a marker such as [redacted: password]. It returns the kinds of what
// was found. The time that it takes grows with the length of the text.
//
// What looks random and has no such sign stays: hashes of commits, UUIDs,
// checksums. Add, Edit and Import call it; it is here for others that write.
func Redact(text string) (clean string, found []string) {
	r := redactor{text: text}
	r.blocks()
	r.scan()
	if len(r.spans) == 0 {
		return text, nil
	}
	slices.SortStableFunc(r.spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, s := range r.spans {
		if s.start < at {
			at = max(at, s.end) // part of what is gone already
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
	text    string
	spans   []span
	command *command // of the line that is looked at
}

func (r *redactor) add(start, end int, kind string) {
	r.spans = append(r.spans, span{start, end, kind})
}

// class says what a byte may begin.
type class uint8

const (
	plain   class = iota
	inWord        // a token, the name of a command, Bearer
	dash          // an option
	sign          // a value
	tag           // a value in XML
	newLine       // or a pipe: another command
	escape        // of a line's end, in a string of JSON
)

var classes = func() (t [256]class) {
	for c := range t {
		if alnum(byte(c)) || c == '_' {
			t[c] = inWord
		}
	}
	t['-'], t['='], t[':'], t['>'], t['\n'], t['|'], t['\\'] = dash, sign, sign, tag, newLine, newLine, escape
	return t
}()

// scan goes through the text once. Whatever looks at a place says where to go
// on: behind what it took, else at the next byte or the end of the word. What is
// not taken is not looked at farther than maxValue ahead, so that no text takes
// more than its length deserves.
func (r *redactor) scan() {
	for at := 0; at < len(r.text); {
		switch classes[r.text[at]] {
		case inWord:
			at = r.word(at)
		case dash:
			at = r.flag(at)
		case sign:
			at = r.sign(at)
		case tag:
			at = r.element(at)
		case newLine:
			if at == 0 || r.text[at-1] != '\\' {
				r.command = nil
			}
			at++
		case escape:
			at++
			if at < len(r.text) && strings.IndexByte("nrt", r.text[at]) >= 0 {
				at++
			}
		default:
			at++
		}
	}
}

// blocks finds private keys in PEM and PGP armour, and those of PuTTY. One
// without an end goes to the end of the text: it was cut.
func (r *redactor) blocks() {
	const begin, end, lines = "-----BEGIN ", "-----END ", "Private-Lines: "
	for at := 0; ; {
		i := strings.Index(r.text[at:], begin)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(begin)
		label, _, ok := strings.Cut(r.text[at:min(len(r.text), at+70)], "-----")
		if !ok || !strings.Contains(label, "PRIVATE KEY") {
			continue
		}
		stop := len(r.text)
		if i := strings.Index(r.text[at:], end+label+"-----"); i >= 0 {
			stop = at + i + len(end+label+"-----")
		}
		r.add(start, stop, "private key")
		at = stop
	}
	for at := 0; ; {
		i := strings.Index(r.text[at:], lines)
		if i < 0 {
			return
		}
		start := run(r.text, at+i+len(lines), isDigit)
		at = run(r.text, start, func(c byte) bool { return alnum(c) || strings.IndexByte("+/=\r\n", c) >= 0 })
		if next := strings.LastIndexByte(r.text[start:at], '\n'); next > 0 && strings.HasPrefix(r.text[at:], "-MAC") {
			at = start + next // the word Private of the line behind
		}
		if body := start + len(r.text[start:at]) - len(strings.TrimLeft(r.text[start:at], "\r\n")); at-body >= 16 {
			r.add(body, at, "private key")
		}
	}
}

// sign looks at what = or : is part of: a token of Telegram's, a URL, or a
// value that is given to a name.
func (r *redactor) sign(at int) (next int) {
	if strings.HasPrefix(r.text[at:], "://") {
		return r.url(at + len("://"))
	}
	if end := r.telegram(at); end > 0 {
		return end
	}
	return r.assignment(at)
}

// url finds secrets in scheme://user:password@host, and in https://token@host.
func (r *redactor) url(start int) (next int) {
	end := run(r.text, start, func(c byte) bool { return c > ' ' && strings.IndexByte(`/?#"'<>`, c) < 0 })
	host := strings.LastIndexByte(r.text[start:end], '@')
	if host < 0 {
		return start
	}
	user, password, ok := strings.Cut(r.text[start:start+host], ":")
	if r.token(start) == 0 && mixed(user, 16) {
		r.add(start, start+len(user), "token")
	}
	if ok && password != "" && !placeholder(password) {
		r.add(start+len(user)+1, start+host, "password")
	}
	return start + host
}

// run is where the characters of an alphabet end.
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

// mixed tells whether s holds so many letters and digits in a row, both kinds.
func mixed(s string, least int) bool {
	for at := 0; at < len(s); at++ {
		end := run(s, at, alnum)
		if end-at >= least && strings.IndexFunc(s[at:end], func(c rune) bool { return isDigit(byte(c)) }) >= 0 &&
			strings.IndexFunc(s[at:end], func(c rune) bool { return isLetter(byte(c)) }) >= 0 {
			return true
		}
		at = end
	}
	return false
}
