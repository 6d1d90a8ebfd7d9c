package redact

import (
	"slices"
	"strings"
)

// Words of a sentence that states a password, and those that follow "my password
// is" when it does not.
var (
	stated   = []string{"password", "passwort", "passphrase", "passcode", "pin", "kennwort"}
	verbs    = []string{"is", "ist", "was"}
	owners   = []string{"my", "our", "mein", "unser"}
	remarked = []string{"a", "an", "the", "in", "on", "at", "not", "no", "now", "also", "always", "still", "too", "very", "so", "stored", "saved", "kept", "set",
		"safe", "weak", "strong", "long", "short", "secret", "known", "unknown", "good", "bad", "old", "new", "gone", "lost", "forgotten", "broken", "blank", "correct",
		"right", "different", "like", "what", "that", "this", "it", "my", "your", "their", "from", "for", "being", "probably", "never", "accepted", "rejected", "falsch", "nicht"}
)

// phrase handles a word that begins a form of several: a sentence that states a
// password, a header of cookies, a password that is piped into sudo. It returns
// 0 if nothing was taken.
func (r *redactor) phrase(at, end int) (next int) {
	if end-at > len("passphrase") || strings.IndexByte("pksce", r.text[at]|' ') < 0 { // most words
		return 0
	}
	switch word := strings.ToLower(r.text[at:end]); {
	case slices.Contains(stated, word):
		return r.statement(at, end)
	case (word == "cookie" || word == "set-cookie") && strings.HasPrefix(r.text[end:], ": "):
		return r.cookies(end + len(": "))
	case (word == "echo" || word == "printf") && strings.HasPrefix(r.text[end:], " "):
		return r.piped(end + 1)
	case word == "sudo" && strings.HasPrefix(r.text[end:], " "):
		return r.hereString(end)
	}
	return 0
}

// statement takes the password in "my password is X". Without an owner, and for
// a PIN, X must be more than letters.
func (r *redactor) statement(at, end int) (next int) {
	rest := strings.TrimLeft(r.text[end:min(len(r.text), end+8)], " ")
	verb, _, _ := strings.Cut(rest, " ")
	colon := strings.HasSuffix(verb, ":")
	if !slices.Contains(verbs, strings.TrimSuffix(verb, ":")) {
		return 0
	}
	start := end + strings.Index(r.text[end:], verb) + len(verb) + 1
	if start >= len(r.text) {
		return 0
	}
	value, quoted := r.value(start)
	if !quoted { // in prose it extends to the next space
		value.end = start + run(r.text[start:min(len(r.text), start+maxValue)], 0, func(c byte) bool { return c > ' ' })
		value.end -= len(r.text[start:value.end]) - len(strings.TrimRight(r.text[start:value.end], `.,;!?)"'`))
	}
	text := r.text[value.start:value.end]
	before := strings.Fields(r.text[max(0, at-16):at])
	owned := len(before) > 0 && slices.Contains(owners, strings.ToLower(before[len(before)-1]))
	digits := run(text, 0, isDigit) == len(text)
	pin := strings.EqualFold(r.text[at:end], "pin")
	switch said := strings.ToLower(strings.Trim(text, ".,;!?")); {
	case len(text) < 4 || placeholder(text) || slices.Contains(noPasswords, said) || slices.Contains(remarked, said):
		return 0
	case quoted || colon || pin && digits || !pin && !letters(text) && !digits && strings.IndexFunc(text, func(c rune) bool { return isDigit(byte(c)) }) >= 0:
	case owned && !pin && r.endsSentence(value.end):
	default:
		return 0
	}
	return r.password(value)
}

func (r *redactor) endsSentence(at int) bool {
	return at >= len(r.text) || strings.IndexByte(".,;!?\n", r.text[at]) >= 0
}

// cookies takes the values of a Cookie or Set-Cookie header that look random.
func (r *redactor) cookies(at int) (next int) {
	line := run(r.text, at, func(c byte) bool { return c >= ' ' && strings.IndexByte(`"'`, c) < 0 })
	for at < line {
		end := at + strings.IndexByte(r.text[at:line]+";", ';')
		if name, value, ok := strings.Cut(r.text[at:end], "="); ok && random(value) && !strings.EqualFold(strings.TrimSpace(name), "expires") {
			r.add(at+len(name)+1, end, "cookie")
			next = end
		}
		at = min(line, end+1)
	}
	return next
}

// piped takes what echo gives to sudo -S.
func (r *redactor) piped(at int) (next int) {
	value, quoted := r.value(at)
	if pipe := strings.IndexByte(r.text[value.start:value.end], '|'); pipe >= 0 && !quoted {
		value.end = value.start + pipe
	}
	end := value.end
	if quoted {
		end = min(len(r.text), end+1)
	}
	rest := strings.TrimLeft(r.text[end:min(len(r.text), end+maxValue)], " ")
	if !strings.HasPrefix(rest, "|") || !readsPassword(strings.TrimLeft(rest[1:], " ")) {
		return 0
	}
	return r.password(value)
}

// hereString takes the password of sudo -S COMMAND <<< PASSWORD.
func (r *redactor) hereString(end int) (next int) {
	line, _, _ := strings.Cut(r.text[end:min(len(r.text), end+maxValue)], "\n")
	at := strings.Index(line, "<<<")
	if at < 0 || !readsPassword("sudo"+line) {
		return 0
	}
	start := end + at + len("<<<")
	value, _ := r.value(run(r.text, start, func(c byte) bool { return c == ' ' }))
	return r.password(value)
}

// readsPassword reports whether a command line is a sudo that reads its password
// from its input.
func readsPassword(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "sudo" {
		return false
	}
	for _, w := range words[1:] {
		switch {
		case w == "--stdin", strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "S"):
			return true
		case !strings.HasPrefix(w, "-"):
			return false
		}
	}
	return false
}

// card takes a card number that begins at a place: 15 or 16 digits of a known
// issuer, with spaces or dashes between groups or none, and a valid check digit.
// It returns 0 if there is none.
func (r *redactor) card(at int) (end int) {
	if at > 0 && (alnum(r.text[at-1]) || strings.IndexByte("-._", r.text[at-1]) >= 0) || strings.IndexByte("3456", r.text[at]) < 0 {
		return 0
	}
	var digits []byte
	joint := byte(0)
	for end = at; end < len(r.text) && len(digits) <= 16; end++ {
		c := r.text[end]
		if isDigit(c) {
			digits = append(digits, c-'0')
			continue
		}
		if (c != ' ' && c != '-') || joint != 0 && c != joint || len(digits) < 4 || end+1 >= len(r.text) || !isDigit(r.text[end+1]) {
			break
		}
		joint = c
	}
	if end < len(r.text) && (alnum(r.text[end]) || r.text[end] == '_') || !issued(digits) {
		return 0
	}
	sum := 0
	for i, d := range digits {
		n := int(d)
		if (len(digits)-i)%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	if sum%10 != 0 {
		return 0
	}
	r.add(at, end, "card number")
	return end
}

// issued reports whether the first digits and the length are those of American
// Express, Visa, Mastercard or Discover.
func issued(d []byte) bool {
	switch {
	case len(d) == 15:
		return d[0] == 3 && (d[1] == 4 || d[1] == 7)
	case len(d) == 16:
		return d[0] == 4 || d[0] == 5 && d[1] >= 1 && d[1] <= 5 || d[0] == 6 && (d[1] == 0 && d[2] == 1 || d[1] == 5)
	}
	return false
}

// command is a program that takes a password as an option on its command line.
type command struct {
	names  string // with commas
	option string // of one letter
	joined bool   // the password follows the option without a space
	apart  bool   // it is the next argument
	user   bool   // it is behind the colon of user:password
}

var commands = []command{
	{names: "curl", option: "-u", joined: true, apart: true, user: true},
	{names: "mysql,mysqldump,mysqladmin,mysqlimport,mariadb,mariadb-dump,7z", option: "-p", joined: true},
	{names: "sshpass", option: "-p", joined: true, apart: true},
	{names: "mongo,mongosh,mongodump,mongorestore,docker login,podman login", option: "-p", apart: true},
	{names: "redis-cli", option: "-a", apart: true},
	{names: "ldapsearch,ldapmodify", option: "-w", apart: true},
	{names: "sqlcmd,zip,unzip", option: "-P", joined: true, apart: true},
}

// named is a command by one of its names.
type named struct {
	name string
	*command
}

// commandAt remembers the command that begins at a place.
func (r *redactor) commandAt(at int) {
	for _, c := range r.forms.commands[r.text[at]] {
		if strings.HasPrefix(r.text[at:], c.name) && strings.HasPrefix(r.text[at+len(c.name):], " ") {
			r.command = c.command
			return
		}
	}
}

// option takes the password in an option of the command; it returns 0 if there
// is none.
func (r *redactor) option(at int) (next int) {
	c := r.command
	if c == nil {
		return 0
	}
	start, long := at+len(c.option), c.user && strings.HasPrefix(r.text[at:], "--user ")
	switch {
	case long:
		start = at + len("--user ")
	case !strings.HasPrefix(r.text[at:], c.option):
		return 0
	case strings.HasPrefix(r.text[start:], " "):
		if !c.apart {
			return 0 // the program asks for it
		}
		start++
	case !c.joined:
		return 0
	}
	value, _ := r.value(start)
	if c.user {
		user, _, ok := strings.Cut(r.text[value.start:value.end], ":")
		if !ok {
			return 0
		}
		value.start += len(user) + 1
	}
	if given := r.text[value.start:value.end]; placeholder(given) && len(given) != 1 || strings.HasPrefix(given, "-") {
		return 0
	}
	r.add(value.start, value.end, "password")
	return value.end
}
