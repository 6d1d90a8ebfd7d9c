// Command mylm turns a language model without function calling into an agent:
// it asks the model a question, runs the tools that the model calls, and prints
// the answer.
//
//	mylm ask "what is in this directory?"
//
// See README.md, and mylm help for every command and flag. The package
// internal/term documents what goes to stdout and stderr, internal/failure the
// exit codes.
package main
