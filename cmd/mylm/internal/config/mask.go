package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/memory/redact"
	"mylm/providers/langchain"
)

// Mask stands for what is secret.
const Mask = "********"

// maskComment masks the value of a secret in a comment, whose parts are the text
// before the name, the name, the sign and the value.
func maskComment(line string, m []string) string {
	name, value := m[2], m[4]
	secret := name != "key_env" && secretName(name) || (name == "headers" || name == "settings") && secretName(value) ||
		len(password(value)) > 0 || len(redact.Arguments(value)) > 0
	if !secret {
		return line
	}
	return m[1] + m[2] + m[3] + Mask
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

// Masked is the text of the configuration file at path without its secrets. It
// fails where the file is wrong, or they cannot be told from the rest.
func Masked(path, text string) (string, error) {
	f, err := parseFile(path, text)
	if err != nil {
		return "", err
	}
	if text, err = f.masked(text); err != nil {
		return "", failure.Config(fmt.Errorf("%s: %w", path, err))
	}
	return text, nil
}

func (f *file) masked(text string) (string, error) {
	var secrets []string
	for _, h := range f.holders() {
		secrets = append(secrets, h.secrets...)
		for whole, shown := range h.shown {
			text = strings.ReplaceAll(text, whole, shown)
		}
	}
	for _, s := range longestFirst(secrets) {
		for _, quote := range []string{`"`, `'`} {
			text = strings.ReplaceAll(text, quote+s+quote, quote+Mask+quote)
		}
		if len(s) >= leastPlain {
			text = strings.ReplaceAll(text, s, Mask)
		}
	}
	// A setting that was taken out of use, but not out of the file.
	commented := regexp.MustCompile(`(#.*?\b)([\w-]+)(["']?[ \t]*=[ \t]*)(\S.*)`)
	text = commented.ReplaceAllStringFunc(text, func(line string) string { return maskComment(line, commented.FindStringSubmatch(line)) })
	// Escapes and line ends within strings are spelled in many ways: whether
	// something is left shows in what the text now says.
	after, err := decodeFile(text)
	if err != nil {
		return "", errors.New("the secrets in it cannot be masked: write them as plain strings, in quotes")
	}
	for _, h := range after.holders() {
		for _, s := range h.secrets {
			if s != Mask {
				return "", fmt.Errorf("the secrets in %s cannot be masked: write them as plain strings, without escapes", h.where)
			}
		}
	}
	return text, nil
}

// Secrets are those of the configuration of a model, the longest first: servers
// repeat what they were sent, and a key may also be in a header.
func Secrets(c langchain.Config) []string {
	found := Entry{Key: c.Key, Headers: c.Headers, Settings: c.Settings}.holder().secrets
	for name, v := range c.Headers {
		if redact.Name(name) { // "Bearer KEY" may come back without its first word
			found = append(found, strings.Fields(v)...)
		}
	}
	return slices.DeleteFunc(longestFirst(found), func(s string) bool { return len(s) < leastPlain })
}
