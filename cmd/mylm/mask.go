package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// mask stands for what is secret.
const mask = "********"

// commentedKey is a key that was taken out of use, but not out of the file.
var commentedKey = regexp.MustCompile(`(?m)^([^\n"']*#.*\b["']?key["']?[ \t]*=[ \t]*)\S.*$`)

// leastPlain is how long a secret has to be to be looked for without quotes: a
// short one would be found in the middle of words.
const leastPlain = 8

// masked is the text of a configuration without its secrets. It fails where
// they cannot be told from the rest.
func masked(text string, c *config) (string, error) {
	var secrets []string
	for _, e := range c.Models {
		secrets = append(secrets, e.secrets()...)
	}
	// The longest first: a header may hold a key.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range secrets {
		for _, quote := range []string{`"`, `'`} {
			text = strings.ReplaceAll(text, quote+s+quote, quote+mask+quote)
		}
		if len(s) >= leastPlain {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	text = commentedKey.ReplaceAllString(text, "${1}"+mask)
	// Escapes and line ends within strings are spelled in many ways: whether
	// something is left shows in what the text now says.
	var after config
	if _, err := toml.Decode(text, &after); err != nil {
		return "", errors.New("the secrets in it cannot be masked: write them as plain strings, in quotes")
	}
	for name, e := range after.Models {
		for _, s := range e.secrets() {
			if s != mask {
				return "", fmt.Errorf("the secrets in [models.%s] cannot be masked: write them as plain strings, without escapes", name)
			}
		}
	}
	return text, nil
}
