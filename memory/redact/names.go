package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Names whose values are secrets, without the signs that join words. Whatever
// is called a password is one; of the others only a value that looks random.
var (
	passwordNames = []string{"password", "passwd", "passphrase", "passwort", "kennwort", "pwd", "contrasena", "motdepasse", "wachtwoord"}
	secretNames   = []string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "signingkey",
		"encryptionkey", "credential", "credentials", "accountkey", "subscriptionkey", "functionskey", "masterkey", "sharedkey", "storagekey",
		"licensekey", "sessionid", "sessid", "phpsessid", "jsessionid", "xamzsignature", "xgoogsignature"}
	shortNames = []string{"pass", "dbpass", "userpass"} // passwords, but not with anything before them
	// What is said about passwords, instead of one.
	noPasswords = []string{"required", "optional", "string", "str", "bytes", "true", "false", "null", "none", "nil", "undefined",
		"empty", "missing", "invalid", "wrong", "incorrect", "expired", "changed", "hidden", "yes", "no", "disabled", "enabled", "changeme"}
	// Words that make of SECRET or TOKEN, before them, the name of something
	// else, and those that make another key of KEY, behind them.
	harmless = []string{"ALG", "ALGORITHM", "ARN", "BACKEND", "CLASS", "COLUMN", "COUNT", "DIR", "ENABLED", "ENDPOINT", "ENGINE", "ENV", "EXPIRATION", "EXPIRES",
		"EXPIRY", "FIELD", "FILE", "FORMAT", "HEADER", "HINT", "HOST", "ID", "INDEX", "ISSUER", "LABEL", "LEN", "LENGTH", "LIFETIME", "LIMIT", "MANAGER", "MAX",
		"MIN", "MODE", "NAME", "PATH", "PATTERN", "POLICY", "PORT", "PREFIX", "PROVIDER", "REGEX", "REGION", "REF", "REQUIRED", "ROTATION", "SCOPE", "SERVICE",
		"SIZE", "STORE", "TIMEOUT", "TTL", "TYPE", "URI", "URL", "VAR", "VERSION"}
	otherKeys = []string{"ARROW", "ATTRIBUTE", "CACHE", "COLUMN", "COMPOSITE", "CONTEXT", "CUSTOM", "DICT", "EVENT", "FIELD", "FOREIGN", "FUNCTION", "GROUP", "HASH",
		"HOT", "I18N", "INDEX", "ITEM", "KEYBOARD", "LOCALE", "LOOKUP", "MAP", "MESSAGE", "METADATA", "OBJECT", "ORDER", "PARTITION", "PRIMARY", "PUBLIC",
		"QUERY", "QUEUE", "RANGE", "REDIS", "REGISTRY", "ROUTING", "ROW", "SHORTCUT", "SORT", "STATE", "STORAGE", "THEME", "TOKEN", "TRANSLATION", "UNIQUE"}
)

// signature is the parameter of a URL that is one in Azure's.
const signature = "sig"

// secretKind tells what is given to a name, "" if it is no secret. Sure says
// that the name is one of the environment: then more is one.
func secretKind(name string) (kind string, sure bool) {
	if len(name) < 3 {
		return "", false
	}
	if name == strings.ToUpper(name) {
		if kind, known := environmentKind(name); known {
			return kind, kind != ""
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

// environmentKind is secretKind of a name in upper case, in which the word that
// says it may stand anywhere. It does not know every name.
func environmentKind(name string) (kind string, known bool) {
	words := strings.FieldsFunc(name, func(c rune) bool { return c == '_' || c == '-' || c == '.' })
	if n := len(words); n > 1 && strings.Trim(words[n-1], "0123456789") == "" {
		words = words[:n-1] // the second of several
	}
	if len(words) == 0 {
		return "", false
	}
	last := words[len(words)-1]
	ends := func(end string) bool { return strings.HasSuffix(last, end) }
	switch {
	case name == "PWD", name == "OLDPWD": // where a shell is
		return "", true
	case ends("PASSWORD"), ends("PASSWD"), ends("PASSPHRASE"), last == "PWD", last == "PASS":
		return "password", true
	case ends("TOKEN"), ends("SECRET"), ends("APIKEY"):
		return "secret", true
	case last == "KEY":
		if len(words) == 1 || slices.Contains(otherKeys, words[len(words)-2]) {
			return "", true
		}
		return "secret", true
	case slices.Contains(harmless, last):
		return "", true
	case slices.Contains(words, "PASSWORD"):
		return "password", true
	case slices.Contains(words, "SECRET"), slices.Contains(words, "TOKEN"), slices.Contains(words, "APIKEY"):
		return "secret", true
	}
	return "", false
}

// secretWords mark a setting as secret wherever they are in its name.
var secretWords = []string{"key", "secret", "password", "passwd", "passphrase", "auth", "cookie", "credential"}

// Name reports whether a setting, a header or a variable with this name may hold
// a secret. A count of tokens is none.
func Name(name string) bool {
	name = strings.ToLower(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	for {
		_, rest, found := strings.Cut(name, "token")
		if !found {
			return false
		}
		if !strings.HasPrefix(rest, "s") {
			return true
		}
		name = rest
	}
}

// Password returns where the password of an address is; ok is false if it has
// none. The address need not be valid: a slash in the password does not end it.
func Password(address string) (start, end int, ok bool) {
	from, to := 0, strings.LastIndexByte(address, '@')
	if i := strings.Index(address, "://"); i >= 0 {
		from = i + len("://")
	}
	if to < from {
		return 0, 0, false
	}
	user, password, _ := strings.Cut(address[from:to], ":")
	if password == "" {
		return 0, 0, false
	}
	return from + len(user) + 1, to, true
}

// argument is an argument whose name may be that of a secret: --api-key VALUE,
// API_KEY=VALUE, Authorization: Bearer VALUE. Name has the last word.
var argument = sync.OnceValue(func() *regexp.Regexp {
	const name = `[\w-]*(?:key|token|secret|pass|auth|cookie|credential)[\w-]*`
	return regexp.MustCompile(`(?i)(--?` + name + `(?:=|\s+)|` + name + `(?:=|:\s*))(?:(?:bearer|basic)\s+)?["']?([^\s"']+)`)
})

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
