// Command mylm gives a language model that cannot call functions hands: it asks
// a model a question, runs the tools that the model calls for, and prints the
// answer.
//
//	mylm ask "what is in this directory?"
//
// See README.md, and mylm help for every command and flag. What goes to stdout
// and stderr, and which exit code means what, stands at the top of io.go.
package main
