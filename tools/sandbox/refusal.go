package sandbox

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// Kind is what a Refusal is about.
type Kind string

// The kinds of refusals.
const (
	Write    Kind = "write"    // creating, changing, renaming or removing a file
	Read     Kind = "read"     // reading a file or directory
	Secret   Kind = "secret"   // reading a file of the workspace that looks like a key
	Execute  Kind = "execute"  // starting a program that is not the system's
	Network  Kind = "network"  // a socket
	Signal   Kind = "signal"   // a signal to a process outside
	Metadata Kind = "metadata" // mode, owner, times, attributes or another name of a file
	System   Kind = "system"   // a system call without a use for a command in a workspace
	Limit    Kind = "limit"    // memory, processes or temporary space: the command was killed
)

// Refusal is something that a command tried to do and that its policy does not
// allow. A refusal that the command ignored is one as well.
type Refusal struct {
	Kind    Kind
	Path    string // of Write, Read, Secret, Execute and Metadata: absolute, links resolved; "" if it cannot be known
	Address string // of Network: the kind of socket, or its address
	Detail  string // of Signal, Metadata, System and Limit: what was tried, or the limit
	Program string // that tried it: the kernel's name of the process, which it may have chosen itself
}

// String names the refusal for a person: "write /src/shop/a (by sed)".
func (r Refusal) String() string {
	words := []string{string(r.Kind)}
	for _, w := range []string{r.Detail, cmp.Or(r.Path, r.Address)} {
		if w != "" {
			if strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsPrint(c) }) {
				w = strconv.Quote(w)
			}
			words = append(words, w)
		}
	}
	if r.Program != "" {
		words = append(words, "(by "+r.Program+")")
	}
	return strings.Join(words, " ")
}
