package memory

import (
	"slices"
	"strings"
)

// Redact takes secrets out of a text: blocks of private keys, keys and tokens
// that are known by their form, values that are given to a name such as
// password, tokens after Bearer, passwords in URLs. Each becomes a marker such
// as [redacted: password]. It returns the kinds of what was found.
//
// What looks random and has no such sign stays: hashes of commits, UUIDs,
// checksums. Add, Edit and Import call it; it is here for others that write.
func Redact(text string) (clean string, found []string) {
	r := redactor{text: text}
	r.blocks()
	r.tokens()
	r.webTokens()
	r.schemes()
	r.assignments()
	r.urls()
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
	text  string
	spans []span
}

func (r *redactor) add(start, end int, kind string) {
	r.spans = append(r.spans, span{start, end, kind})
}

// each calls f with where each occurrence of literal begins.
func (r *redactor) each(literal string, f func(at int)) {
	for at := 0; ; at += len(literal) {
		i := strings.Index(r.text[at:], literal)
		if i < 0 {
			return
		}
		at += i
		f(at)
	}
}

// blocks finds private keys in PEM and PGP armour. One without an end goes to
// the end of the text: it was cut.
func (r *redactor) blocks() {
	const begin, end = "-----BEGIN ", "-----END "
	r.each(begin, func(at int) {
		rest := r.text[at+len(begin):]
		label, body, ok := strings.Cut(rest, "-----")
		if !ok || len(label) > 64 || !strings.Contains(label, "PRIVATE KEY") {
			return
		}
		stop := len(r.text)
		if i := strings.Index(body, end+label+"-----"); i >= 0 {
			stop = len(r.text) - len(body) + i + len(end+label+"-----")
		}
		r.add(at, stop, "private key")
	})
}

// token is a form of secret that begins with something unmistakable.
type token struct {
	prefix, kind string
	alphabet     func(byte) bool
	least        int  // characters after the prefix
	mixed        bool // some of it must be an unbroken mix of letters and digits, as no name is
}

// The forms are those that the issuers document, and that scanners of
// repositories look for.
var tokens = []token{
	{"AKIA", "AWS key", upperDigit, 16, false},
	{"ASIA", "AWS key", upperDigit, 16, false},
	{"ABIA", "AWS key", upperDigit, 16, false},
	{"ACCA", "AWS key", upperDigit, 16, false},
	{"ghp_", "GitHub token", alnum, 36, false},
	{"gho_", "GitHub token", alnum, 36, false},
	{"ghu_", "GitHub token", alnum, 36, false},
	{"ghs_", "GitHub token", alnum, 36, false},
	{"ghr_", "GitHub token", alnum, 36, false},
	{"github_pat_", "GitHub token", wordy, 22, false},
	{"glpat-", "GitLab token", wordy, 20, false},
	{"xoxa-", "Slack token", wordy, 10, false},
	{"xoxb-", "Slack token", wordy, 10, false},
	{"xoxe-", "Slack token", wordy, 10, false},
	{"xoxp-", "Slack token", wordy, 10, false},
	{"xoxr-", "Slack token", wordy, 10, false},
	{"xoxs-", "Slack token", wordy, 10, false},
	{"xapp-", "Slack token", wordy, 10, false},
	{"hooks.slack.com/services/", "Slack token", pathy, 20, false},
	{"sk-", "API key", wordy, 20, true},
	{"gsk_", "API key", alnum, 20, true},
	{"xai-", "API key", alnum, 20, true},
	{"hf_", "API key", alnum, 30, true},
	{"AIza", "API key", wordy, 35, false},
	{"ya29.", "API key", wordy, 20, false},
	{"sk_live_", "API key", alnum, 16, false},
	{"sk_test_", "API key", alnum, 16, false},
	{"rk_live_", "API key", alnum, 16, false},
	{"whsec_", "API key", alnum, 16, false},
	{"npm_", "API key", alnum, 36, false},
	{"pypi-AgE", "API key", wordy, 50, false},
	{"dop_v1_", "API key", alnum, 64, false},
	{"SG.", "API key", pathy, 60, true},
}

func (r *redactor) tokens() {
	for _, t := range tokens {
		r.each(t.prefix, func(at int) {
			if at > 0 && wordy(r.text[at-1]) {
				return
			}
			start := at + len(t.prefix)
			end := run(r.text, start, t.alphabet)
			if end-start >= t.least && (!t.mixed || mixed(r.text[start:end], 16)) {
				r.add(at, end, t.kind)
			}
		})
	}
}

// webTokens finds JSON Web Tokens: two or three parts in base64, of which the
// first two are objects.
func (r *redactor) webTokens() {
	const object = "eyJ" // {" in base64
	r.each(object, func(at int) {
		if at > 0 && wordy(r.text[at-1]) {
			return
		}
		dot := run(r.text, at, wordy)
		if dot-at < 10 || !strings.HasPrefix(r.text[dot:], "."+object) {
			return
		}
		end := run(r.text, dot+1, wordy)
		if strings.HasPrefix(r.text[end:], ".") {
			end = run(r.text, end+1, wordy)
		}
		r.add(at, end, "JWT")
	})
}

// schemes finds what follows Bearer in a header.
func (r *redactor) schemes() {
	for _, word := range []string{"Bearer ", "bearer ", "BEARER "} {
		r.each(word, func(at int) {
			start := at + len(word)
			end := run(r.text, start, func(c byte) bool { return pathy(c) || strings.IndexByte("+~=", c) >= 0 })
			if end-start >= 16 && strings.ContainsAny(r.text[start:end], "0123456789") {
				r.add(start, end, "bearer token")
			}
		})
	}
}

// urls finds passwords in URLs: scheme://user:password@host.
func (r *redactor) urls() {
	r.each("://", func(at int) {
		start := at + len("://")
		end := run(r.text, start, func(c byte) bool { return c > ' ' && strings.IndexByte(`/?#"'<>`, c) < 0 })
		host := strings.LastIndexByte(r.text[start:end], '@')
		if host < 0 {
			return
		}
		user, password, ok := strings.Cut(r.text[start:start+host], ":")
		if ok && password != "" && !placeholder(password) {
			r.add(start+len(user)+1, start+host, "password")
		}
	})
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
