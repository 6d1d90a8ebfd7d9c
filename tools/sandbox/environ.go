package sandbox

import (
	"slices"
	"strings"
)

// secrets are parts of the names of environment variables that hold secrets.
var secrets = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"}

// Environ returns the environment without the variables that look like secrets
// by their names: those with KEY, TOKEN, SECRET, PASSWORD and the like in
// them, in capitals or not. Names in keep are passed on all the same.
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
	return slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(name, part) })
}
