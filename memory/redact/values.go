package redact

import (
	"regexp"
	"slices"
	"strings"
)

// maxValue is how far a value is looked at to tell whether it is a secret. One
// that is goes as a whole, however long.
const maxValue = 128

// assignment looks at the name before and the value after a sign: with = or :,
// quoted or not, in code, in JSON, in a shell, in a connection string.
func (r *redactor) assignment(at int) (next int) {
	if strings.HasPrefix(r.text[at:], "://") {
		return at + len("://")
	}
	next = at + 1
	raw, plain := r.nameBefore(at)
	kind, sure := secretKind(raw)
	if kind == "" {
		return next
	}
	start := next
	if start < len(r.text) && (r.text[start] == '=' || r.text[start] == '>') { // := => ==
		start++
	}
	unspaced := start
	for start < len(r.text) && start-unspaced < 64 && (r.text[start] == ' ' || r.text[start] == '\t') {
		start++
	}
	if raw == signature && (at < 4 || strings.IndexByte("?&", r.text[at-4]) < 0) { // of a URL of Azure's
		return next
	}
	value, quoted := r.value(start)
	v := given{text: r.text[value.start:value.end], quoted: quoted, tight: plain && start == unspaced && r.text[at] == '='}
	if end := r.token(value.start); end > 0 {
		return end // its form says more
	}
	if strings.EqualFold(raw, "pwd") && strings.HasPrefix(v.text, "/") || raw == "PASS" && r.text[at] == ':' { // where a shell is; a test
		return next
	}
	v.alone = r.text[at] == ':' && r.endsLine(value.end)
	v.inCall = value.end < len(r.text) && (r.text[value.end] == ')' || r.text[value.end] == ',')
	if strings.EqualFold(squeeze(v.text), squeeze(raw)) || !v.secret(kind, sure) {
		return next
	}
	end := value.end
	if !quoted {
		end = run(r.text, end, unquoted)
	}
	r.add(value.start, end, kind)
	return end
}

// given is a value and how it is given to its name.
type given struct {
	text   string
	quoted bool
	tight  bool // = without spaces, as in a shell or a URL
	alone  bool // after : and at the end of its line
	inCall bool // ) or , follows
}

// secret tells whether the value is a secret. Sure says that the name is one of
// the environment, such as API_KEY, and not some name in a program.
func (v given) secret(kind string, sure bool) bool {
	switch {
	case placeholder(v.text), !v.quoted && expression().MatchString(v.text):
		return false
	case kind == "password":
		if location().MatchString(v.text) {
			return false
		}
		if len(v.text) < 4 && !(sure && v.tight) {
			return false
		}
		said := slices.Contains(noPasswords, strings.ToLower(v.text))
		return v.quoted || !letters(v.text) || !v.inCall && !said && (v.tight || v.alone)
	}
	if strings.IndexByte("/~.", v.text[0]) >= 0 && strings.Contains(v.text, "/") && strings.Contains(v.text, ".") {
		return false // the path of a file that holds it; no base64 has a dot
	}
	return random(v.text) || sure && (v.tight || v.quoted) && likely(v.text, v.quoted && !v.tight)
}

// location matches where a shell is, which is the value of pwd, too.
var location = form(`^(?:/.*/|~/|.:\\)`)

// likely tells whether a value without digits is a secret behind a name that
// says so, in a shell or in a program.
func likely(s string, program bool) bool {
	if len(s) < 8 || strings.ContainsAny(s, " \t") || strings.IndexByte("/.~@", s[0]) >= 0 || strings.Contains(s, "://") ||
		slices.Contains(noPasswords, strings.ToLower(s)) {
		return false
	}
	if program { // there it may be the name of something: words, in lower case
		return strings.ToLower(s) != s
	}
	return strings.ContainsFunc(s, letterRune)
}

// maxName is how long the name of a secret may be.
const maxName = 64

// nameBefore reads the name that ends before a sign, and tells whether nothing
// stands between them.
func (r *redactor) nameBefore(sign int) (name string, plain bool) {
	end := sign
	for end > 0 && sign-end < 3 && strings.IndexByte(" \t\"'`\\:", r.text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < maxName && dotted(r.text[start-1]) {
		start--
	}
	if start > 0 && start < end && r.text[start-1] == '\\' && strings.IndexByte("nrt", r.text[start]) >= 0 {
		start++ // a line's end in a string of JSON
	}
	return r.text[start:end], end == sign
}

// value finds a value in quotes, or up to where an unquoted one ends, but looks
// only so far for that.
func (r *redactor) value(at int) (span, bool) {
	quote := ""
	if at < len(r.text) && strings.IndexByte("\"'`", r.text[at]) >= 0 {
		quote = r.text[at : at+1]
	} else if strings.HasPrefix(r.text[at:], `\"`) {
		quote = `\"` // JSON in a string
	}
	if quote != "" {
		at += len(quote)
		text := r.text[at:min(len(r.text), at+8*maxValue)]
		if line := strings.IndexByte(text, '\n'); line >= 0 {
			text = text[:line]
		}
		if end := strings.Index(text, quote); end >= 0 {
			text = text[:end]
		}
		return span{start: at, end: at + len(text)}, true
	}
	end := at + run(r.text[at:min(len(r.text), at+maxValue)], 0, unquoted)
	for end > at && strings.IndexByte(".!?", r.text[end-1]) >= 0 { // of the sentence
		end--
	}
	return span{start: at, end: end}, false
}

func unquoted(c byte) bool { return c > ' ' && strings.IndexByte("\"'`,;&)]}", c) < 0 }

func (r *redactor) endsLine(at int) bool {
	rest := r.text[at:min(len(r.text), at+16)]
	rest = strings.TrimLeft(rest, " \t\r.,;\"'`}")
	return rest == "" || rest[0] == '\n'
}

// squeeze leaves out what joins words.
func squeeze(s string) string { return joints.Replace(s) }

var joints = strings.NewReplacer("_", "", "-", "", ".", "")

// random reports whether a value looks like a secret: long, of letters and digits,
// in one piece.
func random(s string) bool {
	return len(s) >= 8 && !strings.ContainsAny(s, " \t") && strings.ContainsFunc(s, digitRune) && strings.ContainsFunc(s, letterRune)
}

func letters(s string) bool {
	return run(s, 0, func(c byte) bool { return isLetter(c) || c == '_' || c == '.' }) == len(s)
}

// expression matches code that gives a value: a call, an element, a field, among
// others of what programs read settings from.
var expression = form(`[(\[]|^[A-Za-z_.]*\.[A-Za-z_.]*$|` +
	`^(?:process|os|env|import|config|conf|cfg|settings|secrets|vars|self|this|var|data|local|ctx|args|opts|options)\.[\w.-]*$`)

// placeholder reports whether a value is one: a variable, a form to be
// filled in, a row of stars, a marker of ours.
func placeholder(s string) bool {
	return s == "" || strings.Trim(s, s[:1]) == "" || strings.HasPrefix(s, "[redacted") || strings.IndexByte("$<%{", s[0]) >= 0
}

// Names whose values are secrets, without the signs that join words. Whatever
// is called a password is one; of the others only a value that looks random.
var (
	passwordNames = []string{"password", "passwd", "passphrase", "passwort", "kennwort", "pwd", "contrasena", "motdepasse", "wachtwoord", "sshpass", "becomepass",
		"smtppass", "mailpass", "ftppass"}
	secretNames = []string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "signingkey",
		"encryptionkey", "credential", "credentials", "accountkey", "subscriptionkey", "functionskey", "masterkey", "sharedkey", "storagekey",
		"licensekey", "sessionid", "sessid", "phpsessid", "jsessionid", "xamzsignature", "xgoogsignature"}
	shortNames = []string{"pass", "dbpass", "userpass", "pw"} // passwords, but not with anything before them
	// What is said about passwords, instead of one.
	noPasswords = []string{"required", "optional", "string", "str", "bytes", "true", "false", "null", "none", "nil", "undefined",
		"empty", "missing", "invalid", "wrong", "incorrect", "expired", "changed", "hidden", "yes", "no", "disabled", "enabled", "changeme"}
)

// environment has the names of variables, in upper case, in which the word that
// says it may stand anywhere; the first that matches counts. An empty kind is no
// secret: SECRET and TOKEN before some words name something else, and so does KEY
// behind some. A number at the end does not count.
var environment = []struct {
	kind string
	form func() *regexp.Regexp
}{
	{"", form(`^(OLD)?PWD$`)}, // where a shell is
	{"password", form(`(PASSWORD|PASSWD|PASSPHRASE|\bPWD|\bPASS)NUMBER$`)},
	{"secret", form(`(TOKEN|SECRET|APIKEY)NUMBER$`)},
	{"", form(`(^|\b(ARROW|ATTRIBUTE|CACHE|COLUMN|COMPOSITE|CONTEXT|CUSTOM|DICT|EVENT|FIELD|FOREIGN|FUNCTION|GROUP|HASH|HOT|I18N|INDEX|ITEM|KEYBOARD|` +
		`LOCALE|LOOKUP|MAP|MESSAGE|METADATA|OBJECT|ORDER|PARTITION|PRIMARY|PUBLIC|QUERY|QUEUE|RANGE|REDIS|REGISTRY|ROUTING|ROW|SHORTCUT|SORT|STATE|` +
		`STORAGE|THEME|TOKEN|TRANSLATION|UNIQUE)\.)KEYNUMBER$`)},
	{"secret", form(`\bKEYNUMBER$`)},
	{"", form(`\b(ALG|ALGORITHM|ARN|BACKEND|CLASS|COLUMN|COUNT|DIR|ENABLED|ENDPOINT|ENGINE|ENV|EXPIRATION|EXPIRES|EXPIRY|FIELD|FILE|FORMAT|HEADER|HINT|` +
		`HOST|ID|INDEX|ISSUER|LABEL|LEN|LENGTH|LIFETIME|LIMIT|MANAGER|MAX|MIN|MODE|NAME|PATH|PATTERN|POLICY|PORT|PREFIX|PROVIDER|REGEX|REGION|REF|` +
		`REQUIRED|ROTATION|SCOPE|SERVICE|SIZE|STORE|TIMEOUT|TTL|TYPE|URI|URL|VAR|VERSION)NUMBER$`)},
	{"password", form(`\bPASSWORD\b`)},
	{"secret", form(`\b(SECRET|TOKEN|APIKEY)\b`)},
}

// signature is the parameter of a URL that is one in Azure's.
const signature = "sig"

// secretKind tells what is given to a name, "" if it is no secret. Sure says
// that the name is one of the environment: then more is one.
func secretKind(name string) (kind string, sure bool) {
	if len(name) < 2 {
		return "", false
	}
	if name == strings.ToUpper(name) {
		dotted := strings.NewReplacer("_", ".", "-", ".").Replace(name)
		for _, e := range environment {
			if e.form().MatchString(dotted) {
				return e.kind, e.kind != ""
			}
		}
	}
	plain := strings.ToLower(squeeze(strings.TrimRight(name, "0123456789")))
	ends := func(end string) bool { return strings.HasSuffix(plain, end) }
	switch {
	case slices.ContainsFunc(passwordNames, ends), slices.Contains(shortNames, plain):
		return "password", false
	case slices.ContainsFunc(secretNames, ends), plain == signature:
		return "secret", false
	}
	return "", false
}

var secretName = form(`(?i)key|secret|password|passwd|passphrase|auth|cookie|credential|token([^s]|$)`)

// Name reports whether a setting, a header or a variable with this name may hold
// a secret. A count of tokens is none.
func Name(name string) bool { return secretName().MatchString(name) }

var credentials = form(`^(?:.*?://)?[^:]*:((?:[^/]|/[^/]).*)@`)

// Password returns where the password of an address is; ok is false if it has
// none. The address need not be valid: a slash in the password does not end it.
func Password(address string) (start, end int, ok bool) {
	m := credentials().FindStringSubmatchIndex(address)
	if m == nil {
		return 0, 0, false
	}
	return m[2], m[3], true
}

// argument is an argument whose name may be that of a secret: --api-key VALUE,
// API_KEY=VALUE, Authorization: Bearer VALUE. Name has the last word.
var argument = form(`(?i)(--?NAMED(?:=|\s+)|NAMED(?:=|:\s*))(?:(?:bearer|basic)\s+)?["']?([^\s"']+)`)

// Arguments returns where the secrets in the arguments of a program are, as
// pairs of start and end.
func Arguments(args string) (found [][2]int) {
	for _, m := range argument().FindAllStringSubmatchIndex(args, -1) {
		if Name(args[m[2]:m[3]]) {
			found = append(found, [2]int{m[4], m[5]})
		}
	}
	return found
}
