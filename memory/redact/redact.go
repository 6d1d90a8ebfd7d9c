package redact

import (
	"slices"
	"strings"
	"sync"
)

// Text replaces the secrets in a text with markers such as [redacted: password]
// and returns the kinds that it found, each once. It runs in time linear in the
// length of the text.
//
// A string that merely looks random is left alone: commit hashes, UUIDs,
// checksums.
func Text(text string) (clean string, found []string) {
	r := redactor{text: text, forms: forms()}
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
	text    string
	forms   *tables
	spans   []span
	command *command // the command of the current line, if it takes a password
}

// tables are the known forms, indexed for the scan.
type tables struct {
	classes  [256]class
	starts   [1 << 16]bool // the first two bytes of every token and command
	tokens   [256][]*token
	commands [256][]named
	endings  map[string]bool // the last three letters of every secret's name
}

// forms builds the tables on first use: most runs of a program redact nothing.
var forms = sync.OnceValue(func() *tables {
	t := &tables{endings: map[string]bool{signature: true}}
	for c := range t.classes {
		if alnum(byte(c)) || c == '_' {
			t.classes[c] = inWord
		}
	}
	t.classes['-'], t.classes['='], t.classes[':'], t.classes['>'] = dash, sign, sign, tag
	t.classes['\n'], t.classes['|'], t.classes['\\'] = newLine, newLine, escape
	for i := range tokens {
		one := &tokens[i]
		t.starts[pair(one.prefix)] = true
		t.tokens[one.prefix[0]] = append(t.tokens[one.prefix[0]], one)
	}
	for i := range commands {
		for name := range strings.SplitSeq(commands[i].names, ",") {
			t.starts[pair(name)] = true
			t.commands[name[0]] = append(t.commands[name[0]], named{name, &commands[i]})
		}
	}
	t.starts[pair("eyJ")] = true
	for second := range 256 { // of base64
		for _, first := range []byte("MNO") {
			t.starts[int(first)<<8|second] = true
		}
	}
	for _, name := range slices.Concat(passwordNames, secretNames, shortNames) {
		t.endings[name[len(name)-3:]] = true
	}
	return t
})

func (r *redactor) add(start, end int, kind string) {
	r.spans = append(r.spans, span{start, end, kind})
}

// password takes a value for a password, unless it stands for one: then it returns
// 0.
func (r *redactor) password(value span) (next int) {
	if placeholder(r.text[value.start:value.end]) {
		return 0
	}
	r.add(value.start, value.end, "password")
	return value.end
}

// class is what a byte may begin.
type class uint8

const (
	plain   class = iota
	inWord        // a token, the name of a command, Bearer
	dash          // an option
	sign          // a value
	tag           // a value in XML
	newLine       // or a pipe: another command
	escape        // an escaped line end in a JSON string
)

// scan reads the text once. Each rule returns where to continue: behind the
// secret that it took, else at the next byte or the end of the word. A rule looks
// at most maxValue bytes ahead, which keeps the scan linear.
func (r *redactor) scan() {
	for at := 0; at < len(r.text); {
		switch r.forms.classes[r.text[at]] {
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

// blocks finds private keys in PEM and PGP armour and in PuTTY files. A block
// without an end was cut, and extends to the end of the text.
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

// sign handles = and :, which are part of a Telegram token, a URL, or an
// assignment to a name.
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

// mixed reports whether s contains a run of at least that many letters and
// digits with some of both.
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
