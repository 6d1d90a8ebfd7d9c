// Package cmdline parses a command line for the commands and flags of
// urfave/cli, executes it, finds what its last word can become, and prints the
// help and the manual page.
//
// The library's own runner stops looking for flags at the first argument and
// refuses two spellings of one flag; here flags and arguments may come in any
// order, and everything after "--" is an argument. The runner also prints help
// by text/template, which finds methods by name: as long as anything in a
// binary does, the linker keeps every exported method of every type (2.4 MB).
package cmdline
