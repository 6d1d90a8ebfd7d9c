package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Names whose values are secrets, without the signs that join words. Whatever
// is called a password is one; of the others only a value that looks random.
var (
	passwordNames = []string{"password", "passwd", "passphrase", "passwort", "kennwort", "pwd", "contrasena", "motdepasse", "wachtwoord"}
	secretNames   = []string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "signingkey",
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
