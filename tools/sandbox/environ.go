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

// Environ returns the environment without the variables that look like secrets
// by their names: those with KEY, TOKEN, SECRET, PASSWORD and the like in
// them, in capitals or not, and those of several words, as X_PASS or X_PAT are,
// with PASS, PWD, PAT, AUTH or COOKIE among them. Names of sockets, which end in
// _SOCK, and names in keep are passed on all the same.
func Environ(env, keep []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(keep, name) || !secret(name) {
			out = append(out, kv)
		}
	}
	return out
}

func secret(name string) bool {
	name = strings.ToUpper(name)
	words := strings.Split(name, "_")
	return slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(name, part) }) ||
		len(words) > 1 && words[len(words)-1] != "SOCK" && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(secretWords, w) })
}
