package sandbox

import (
	"slices"
	"strings"
)

// secrets are parts of the names of environment variables that hold secrets.
var secrets = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"}

// secretWords are such parts where they stand alone: PAT is not to be found in
// PATH, nor PWD to be the working directory.
var secretWords = []string{"PASS", "PWD", "PAT", "AUTH", "COOKIE"}

// Environ returns the variables of an environment that a command gets.
//
// In every mode those are left out that SecretEnv names, and those whose value
// is one of Secrets, or contains one that is long enough to be no coincidence. So are those that look like secrets by their names,
// unless Env names them: those with KEY, TOKEN, SECRET, PASSWORD and the like
// in them, in capitals or not, and those of several words, as X_PASS or X_PAT are,
// with PASS, PWD, PAT, AUTH or COOKIE among them. Names of sockets, which end in
// _SOCK, are passed on all the same.
//
// A Strict command gets only variables of a short list, whatever Env says: how to
// show text, and where toolchains are; and not if they hold a URL with a name or
// password, or what looks like a key.
func (p Policy) Environ(env []string) []string {
	p = p.Resolved()
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		keep := !secretName(name) || slices.Contains(p.Env, name)
		if p.strict() {
			keep = harmlessVariable(name, value)
		}
		if keep && !slices.Contains(p.SecretEnv, name) && !p.holdsSecret(value) {
			out = append(out, kv)
		}
	}
	if p.strict() {
		out = append(out, strictSettings...)
	}
	return out
}

// noCoincidence is how many bytes of a secret are not found in another value by
// chance, as a password of "local" would be.
const noCoincidence = 8

func (p Policy) holdsSecret(value string) bool {
	return slices.ContainsFunc(p.Secrets, func(s string) bool {
		return s != "" && (value == s || len(s) >= noCoincidence && strings.Contains(value, s))
	})
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	words := strings.Split(name, "_")
	return slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(name, part) }) ||
		len(words) > 1 && words[len(words)-1] != "SOCK" && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(secretWords, w) })
}
