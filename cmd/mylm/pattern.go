package main

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is used first: most
// runs of the command use none, and compiling those of this package takes
// 0.2 ms of a start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
