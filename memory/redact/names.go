package redact

import (
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
	name = strings.TrimRight(name, "0123456789")
	if len(name) < 3 || !forms().endings[strings.ToLower(name[len(name)-3:])] {
		return "", false // most names, at little cost
	}
	plain := strings.ToLower(squeeze(name))
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
