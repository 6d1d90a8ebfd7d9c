package memory

import (
	"slices"
	"strings"
)

// Names whose values are secrets, without the signs that join words. Whatever
// is called a password is one; of the others only a value that looks random.
var (
	passwordNames = []string{"password", "passwd", "passphrase", "passwort", "kennwort", "pwd"}
	secretNames   = []string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "signingkey",
		"encryptionkey", "credential", "credentials", "accountkey"}
	// What is said about passwords, instead of one.
	noPasswords = []string{"required", "optional", "string", "str", "bytes", "true", "false", "null", "none", "nil", "undefined",
		"empty", "missing", "invalid", "wrong", "incorrect", "expired", "changed", "hidden", "yes", "no"}
)

// assignments finds values that are given to a name: with = or :, quoted or
// not, in code, in JSON, in a shell, in a connection string; and to a flag.
func (r *redactor) assignments() {
	for at := 0; at < len(r.text); at++ {
		i := strings.IndexAny(r.text[at:], "=:-")
		if i < 0 {
			return
		}
		at += i
		if r.text[at] == '-' {
			at = r.flag(at)
			continue
		}
		at = r.assignment(at)
	}
}

// assignment looks at the name before and the value after a sign.
func (r *redactor) assignment(sign int) (last int) {
	name, plain := r.nameBefore(sign)
	kind := secretKind(name)
	if kind == "" {
		return sign
	}
	start := sign + 1
	if start < len(r.text) && (r.text[start] == '=' || r.text[start] == '>') { // := => ==
		start++
	}
	unspaced := start
	for start < len(r.text) && (r.text[start] == ' ' || r.text[start] == '\t') {
		start++
	}
	value, quoted := r.value(start)
	start, end := value.start, value.end
	given := r.text[start:end]
	tight := plain && start == unspaced && r.text[sign] == '='
	alone := r.text[sign] == ':' && r.endsLine(end)
	switch {
	case placeholder(given), strings.EqualFold(squeeze(given), name):
	case kind == "password" && !quoted && letters(given) && (!tight && !alone || r.inCall(end) || slices.Contains(noPasswords, strings.ToLower(given))):
	case kind == "password" && len(given) < 4:
	case kind != "password" && !random(given):
	case !quoted && expression(given):
	default:
		r.add(start, end, kind)
		return end - 1
	}
	return sign
}

// flag looks at --password VALUE; with a sign between them it is an assignment.
func (r *redactor) flag(at int) (last int) {
	if !strings.HasPrefix(r.text[at:], "--") || at > 0 && r.text[at-1] > ' ' {
		return at
	}
	end := run(r.text, at+2, wordy)
	kind := secretKind(squeeze(r.text[at+2 : end]))
	if kind == "" || end >= len(r.text) || r.text[end] != ' ' {
		return at + 1
	}
	value, _ := r.value(end + 1)
	given := r.text[value.start:value.end]
	if strings.HasPrefix(given, "-") || placeholder(given) || kind != "password" && !random(given) || len(given) < 4 {
		return at + 1
	}
	r.add(value.start, value.end, kind)
	return value.end - 1
}

// nameBefore reads the name that ends before a sign, lower case and squeezed,
// and tells whether nothing stands between them.
func (r *redactor) nameBefore(sign int) (name string, plain bool) {
	end := sign
	for end > 0 && sign-end < 3 && strings.IndexByte(" \t\"'`\\:", r.text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < 64 && (wordy(r.text[start-1]) || r.text[start-1] == '.') {
		start--
	}
	return strings.ToLower(squeeze(r.text[start:end])), end == sign
}

// value finds a value in quotes, or up to where an unquoted one ends.
func (r *redactor) value(at int) (span, bool) {
	quote := ""
	if at < len(r.text) && strings.IndexByte("\"'`", r.text[at]) >= 0 {
		quote = r.text[at : at+1]
	} else if strings.HasPrefix(r.text[at:], `\"`) {
		quote = `\"` // JSON in a string
	}
	if quote != "" {
		at += len(quote)
		end := strings.Index(r.text[at:], quote)
		if line := strings.IndexByte(r.text[at:], '\n'); end < 0 || line >= 0 && line < end {
			end = line
		}
		if end < 0 {
			end = len(r.text) - at
		}
		return span{start: at, end: at + end}, true
	}
	end := run(r.text, at, func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`,;&)]}", c) < 0 })
	for end > at && strings.IndexByte(".!?", r.text[end-1]) >= 0 { // of the sentence
		end--
	}
	return span{start: at, end: end}, false
}

func (r *redactor) endsLine(at int) bool {
	rest, _, _ := strings.Cut(r.text[at:], "\n")
	return strings.Trim(rest, " \t\r.,;\"'`}") == ""
}

func (r *redactor) inCall(at int) bool {
	return at < len(r.text) && (r.text[at] == ')' || r.text[at] == ',')
}

func secretKind(name string) string {
	is := func(end string) bool { return strings.HasSuffix(name, end) }
	switch {
	case name == "":
		return ""
	case slices.ContainsFunc(passwordNames, is), name == "pass", name == "dbpass", name == "userpass":
		return "password"
	case slices.ContainsFunc(secretNames, is):
		return "secret"
	}
	return ""
}

// squeeze leaves out what joins words.
func squeeze(s string) string { return joints.Replace(s) }

var joints = strings.NewReplacer("_", "", "-", "", ".", "")

// random tells whether a value looks like a secret: long, of letters and
// digits, in one piece.
func random(s string) bool {
	return len(s) >= 8 && !strings.ContainsAny(s, " \t") && strings.ContainsAny(s, "0123456789") && strings.IndexFunc(s, func(r rune) bool {
		return r < 128 && isLetter(byte(r))
	}) >= 0
}

func letters(s string) bool {
	return run(s, 0, func(c byte) bool { return isLetter(c) || c == '_' || c == '.' }) == len(s)
}

// expression tells whether a value without quotes is code that gives it.
func expression(s string) bool {
	return strings.ContainsAny(s, "([") || letters(s) && strings.Contains(s, ".")
}

// placeholder tells whether a value stands for one: a variable, a form to be
// filled in, a row of stars, a marker of ours.
func placeholder(s string) bool {
	if s == "" || strings.Trim(s, s[:1]) == "" {
		return true
	}
	if strings.HasPrefix(s, "[redacted") {
		return true
	}
	return strings.IndexByte("$<%", s[0]) >= 0 || strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "{")
}
