package redact

import (
	"regexp"
	"strings"
	"sync"
)

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
