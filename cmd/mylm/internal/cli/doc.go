// Package cli reads a command line and prints the help of commands.
//
// Flags and arguments may come in any order; everything behind "--" is an
// argument. It is small on purpose: it needs no text/template, which makes the
// linker keep every exported method of every type in the binary (2.6 MB).
package cli
