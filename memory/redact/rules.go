package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// rule finds secrets whose form takes several words.
type rule struct {
	near   string // only texts that hold one of these words, in lower case, are searched
	kind   string // empty: the first group is a name that tells it
	form   func() *regexp.Regexp
	secret func(value string) bool // nil: every value is one
}

// form compiles an expression on first use: most runs of a program redact nothing.
// VALUE is a value in quotes or up to the next space. ARGS are arguments of a
// command before an option. STDIN is sudo with an option that has it read a
// password. STATED is the beginning of a sentence that states a password.
func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(fragments.Replace(expression)) })
}

var fragments = strings.NewReplacer(
	"VALUE", `(?:"([^"\n]+)|'([^'\n]+)|\x60([^\x60\n]+)|([^\s"'\x60,;&)\]}]+))`,
	"ARGS", ` (?:(?:[^\n|]|\\\n)*?\s)??`,
	"STDIN", `sudo(?: +-\S+)*? +(?:-\w*S\w*|--stdin)\b`,
	"STATED", `(?:password|passwort|passphrase|passcode|kennwort)`,
	"NAMED", `[\w-]*(?:key|token|secret|pass|auth|cookie|credential)[\w-]*`,
	"NUMBER", `(\.\d+)?`,
	"VERB", ` +(?:is|ist|was)`,
)

const statements = "passwor|passphrase|passcode|kennwort|pin "

var rules = sync.OnceValue(func() []rule {
	return []rule{
		{"-----begin ", "private key", form(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|.*))`), nil},
		{"private-lines: ", "private key", form(`Private-Lines: \d+[\r\n]*([A-Za-z0-9+/=\r\n]{16,}?)(?:\r?\nPrivate-MAC|[^A-Za-z0-9+/=\r\n]|$)`), nil},

		{"eyj", "JWT", form(`\b(eyJ[\w-]{7,}\.eyJ[\w-]*(?:\.[\w-]*)?)`), nil}, // two objects in base64, and a signature
		{"bearer ", "bearer token", form(`(?i)\bbearer ([\w/.+~=-]{16,})`), func(s string) bool { return strings.ContainsFunc(s, digitRune) }},
		{"basic ", "password", form(`(?i)\bbasic ([\w/.+~=-]{6,})`), basic},
		{"authorization: ", "secret", form(`(?i)authorization: (?:token|apikey) ([\w/.+~=-]+)`), random},
		{":aa", "API key", form(`(?:^|\D)(\d{8,10}:AA[\w-]{33})(?:[^\w-]|$)`), nil}, // of a Telegram bot
		{"://", "password", form(`://[^\s/?#"'<>:]*:([^\s/?#"'<>]+)@`), nil},
		{"://", "token", form(`://([^\s/?#"'<>:]+)(?::[^\s/?#"'<>]*)?@`), mixed},
		{"cookie: ", "cookie", form(`(?i)\b(?:set-)?cookie: ([^\n"']+)`), nil},
		{"--", "", form(`--([\w-]{3,62}) VALUE`), option},
		{"</", "", form(`<([\w-]{3,64})>([^<]+)</`), nil},

		{"machine ", "password", form(`machine\s+\S+\s+login\s+\S+\s+password\s+(\S+)`), nil}, // .netrc
		{"curl ", "password", form(`\bcurlARGS(?:-u ?|--user )(?:"[^":\n]*:([^"\n]+)|'[^':\n]*:([^'\n]+)|[^\s:"']*:([^\s"']+))`), option},
		{"mysql|mariadb|7z ", "password", form(`\b(?:mysql(?:dump|admin|import)?|mariadb(?:-dump)?|7z)ARGS-pVALUE`), option},
		{"sshpass ", "password", form(`\bsshpassARGS-p ?VALUE`), option},
		{"mongo|docker login|podman login", "password", form(`\b(?:mongo(?:sh|dump|restore)?|(?:docker|podman) login)ARGS-p VALUE`), option},
		{"redis-cli ", "password", form(`\bredis-cliARGS-a VALUE`), option},
		{"ldap", "password", form(`\bldap(?:search|modify)ARGS-w VALUE`), option},
		{"sqlcmd |zip ", "password", form(`\b(?:sqlcmd|(?:un)?zip)ARGS-P ?VALUE`), option},
		{"sudo ", "password", form(`\b(?:echo|printf) +(?:-n +)?(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|]+)) *\| *STDIN`), nil},
		{"<<<", "password", form(`\bSTDIN[^\n]*<<< *VALUE`), nil},

		// A password that a sentence states: in quotes, behind a colon, with a digit, or
		// at its end where it is somebody's.
		{statements, "password", form(`(?i)\b(?:STATED|pin)VERB:? +(?:"([^"\n]+)"|'([^'\n]+)'|\x60([^\x60\n]+)\x60)`), stated},
		{statements, "password", form(`(?i)\b(?:STATED|pin)VERB: +([^\s"'\x60]\S*?)[.,;!?)"']*(?:\s|$)`), stated},
		{statements, "password", form(`(?i)\bpinVERB +(\d{4,})\b`), nil},
		{statements, "password", form(`(?i)\bSTATEDVERB +([^\s"'\x60]*\d\S*?)[.,;!?)"']*(?:\s|$)`), func(s string) bool { return stated(s) && run(s, 0, isDigit) < len(s) }},
		{statements, "password", form(`(?i)\b(?:my|our|mein|unser) STATEDVERB +([^\s"'\x60.,;!?]+)(?:[.,;!?\n]|$)`), stated},
	}
})

// applyRules searches the text by each rule that may find something.
func (r *redactor) applyRules() {
	lower := strings.ToLower(r.text)
	for _, rule := range rules() {
		if !slices.ContainsFunc(strings.Split(rule.near, "|"), func(word string) bool { return strings.Contains(lower, word) }) {
			continue
		}
		for _, m := range rule.form().FindAllStringSubmatchIndex(r.text, -1) {
			kind, groups := rule.kind, m[2:]
			if kind == "" {
				kind, _ = secretKind(r.text[m[2]:m[3]])
				groups = m[4:]
			}
			for groups[0] < 0 {
				groups = groups[2:]
			}
			start, end := groups[0], groups[1]
			switch value := r.text[start:end]; {
			case kind == "cookie":
				r.cookies(start, end)
			case kind != "" && !placeholder(value) && (rule.secret == nil || rule.secret(value)) && (rule.kind != "" || kind == "password" || random(value)):
				r.add(start, end, kind)
			}
		}
	}
}

// option reports whether an argument can be the value of an option.
func option(s string) bool { return !strings.HasPrefix(s, "-") }

// basic reports whether s, or its head if it was cut, is a name and a password in
// base64, as RFC 7617 defines.
func basic(s string) bool {
	s = strings.TrimRight(s[:min(len(s), maxValue)], "=")
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil && strings.Contains(string(plain), ":") && utf8.Valid(plain) && !strings.ContainsFunc(string(plain), unicode.IsControl)
}

// stated reports whether what follows "the password is" may be one. Remarked are
// words that are none.
func stated(s string) bool {
	said := strings.ToLower(strings.Trim(s, ".,;!?"))
	return len(s) >= 4 && !slices.Contains(noPasswords, said) && !slices.Contains(remarked, said)
}

var remarked = strings.Fields(`also always still very stored saved kept safe weak strong long short secret known unknown good gone lost forgotten
	broken blank correct right different like what that this your their from being probably never accepted rejected falsch nicht`)

// cookies takes the values of a Cookie or Set-Cookie header that look random.
func (r *redactor) cookies(at, end int) {
	for part := range strings.SplitAfterSeq(r.text[at:end], ";") {
		name, value, _ := strings.Cut(strings.TrimSuffix(part, ";"), "=")
		if random(value) && !strings.EqualFold(strings.TrimSpace(name), "expires") {
			r.add(at+len(name)+1, at+len(name)+1+len(value), "cookie")
		}
		at += len(part)
	}
}
