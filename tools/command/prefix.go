package command

import (
	"fmt"
	"slices"
	"strings"
)

// Prefix is the begin of the call that a rule can be made of: a program, or a
// program and what it is to do. It is nil where there is none.
func (c Call) Prefix() []string {
	_, n := offered(c.Words)
	if n == 0 {
		return nil
	}
	return c.Words[:n:n]
}

// Offered reports whether a prefix is one that Prefix returns. No other covers
// anything.
func Offered(prefix []string) bool {
	_, n := offered(prefix)
	return n > 0 && n == len(prefix)
}

func begins(words, with []string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// Covered reports whether the call is one that the prefix stands for: it is Offered, the call begins with its words, stays
// in the workspace and out of .git, starts the program that PATH has outside of it, is fed nothing by a pipe or a redirect, and
// has no words but those that are known to name no other program, settings, task or place to write.
// In which directory of the workspace it runs does not matter: a prefix holds in all of them.
func (c Call) Covered(prefix []string) bool {
	return Offered(prefix) && begins(c.Words, prefix) && c.excess(len(prefix)) == ""
}

// Exceeds says why a call that begins with the words of a prefix is not covered
// by it. It is "" for every other.
func (c Call) Exceeds(prefix []string) string {
	if !begins(c.Words, prefix) || len(prefix) == 0 {
		return ""
	}
	rule := "the rule " + strings.Join(prefix, " ")
	if !Offered(prefix) {
		return rule + " does not count: no such rule is made any more"
	}
	if why := c.excess(len(prefix)); why != "" {
		return rule + " does not count here: " + why
	}
	return ""
}

func (c Call) excess(n int) string {
	switch {
	case c.odd:
		return c.Why
	case c.fed:
		return "something is piped or redirected into it"
	case c.Outside:
		return "something in it leads out of the workspace, or into .git"
	}
	for _, w := range c.Words[n:] {
		if assignment(w) {
			return w + " sets a variable"
		}
	}
	o, _ := offered(c.Words)
	if w, ok := o.excess(c.Words[n:]); !ok {
		return fmt.Sprintf("%q is not among what it covers", quotedName(w))
	}
	return ""
}
