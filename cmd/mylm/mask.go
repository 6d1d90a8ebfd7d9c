package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// mask stands for what is secret.
const mask = "********"

// commented is a setting that was taken out of use, but not out of the file.
var commented = pattern(`(#.*?\b)([\w-]+)(["']?[ \t]*=[ \t]*)(\S.*)`)

// maskComment masks the value of a secret in a comment.
func maskComment(line string) string {
	m := commented().FindStringSubmatch(line)
	name, value := m[2], m[4]
	secret := name != "key_env" && secretName().MatchString(name) || (name == "headers" || name == "settings") && secretName().MatchString(value) ||
		len(password(value)) > 0 || len(secretArgs(value)) > 0
	if !secret {
		return line
	}
	return m[1] + m[2] + m[3] + mask
}

// leastPlain is how long a secret has to be to be looked for without quotes: a
// short one would be found in the middle of words.
const leastPlain = 8

// longestFirst sorts secrets as they have to be looked for: one may hold
// another, as a header does a key.
func longestFirst(secrets []string) []string {
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return secrets
}

// masked is the text of a configuration without its secrets. It fails where
// they cannot be told from the rest.
func masked(text string, c *config) (string, error) {
	var secrets []string
	for _, h := range c.holders() {
		secrets = append(secrets, h.secrets...)
		for whole, shown := range h.shown {
			text = strings.ReplaceAll(text, whole, shown)
		}
	}
	for _, s := range longestFirst(secrets) {
		for _, quote := range []string{`"`, `'`} {
			text = strings.ReplaceAll(text, quote+s+quote, quote+mask+quote)
		}
		if len(s) >= leastPlain {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	text = commented().ReplaceAllStringFunc(text, maskComment)
	// Escapes and line ends within strings are spelled in many ways: whether
	// something is left shows in what the text now says.
	var after config
	if _, err := toml.Decode(text, &after); err != nil {
		return "", errors.New("the secrets in it cannot be masked: write them as plain strings, in quotes")
	}
	for _, h := range after.holders() {
		for _, s := range h.secrets {
			if s != mask {
				return "", fmt.Errorf("the secrets in %s cannot be masked: write them as plain strings, without escapes", h.where)
			}
		}
	}
	return text, nil
}
