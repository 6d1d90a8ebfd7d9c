// Command bench measures the decoder of package protocol beside two other
// readers of tool calls, on the same inputs in one run, and prints its figures
// as Markdown.
//
// # Smallest use
//
//	MYLM_CORPUS=/path/to/corpus protocol/bench/run
//
// or one part of it: protocol/bench/run speed, exact or dialects. The script
// builds mylm, installs the peer that is an npm package and starts the command.
// Without MYLM_CORPUS only the speed is measured.
//
// # Words
//
// A peer is another reader: the package tools of Ollama, and the npm package
// @ai-sdk-tool/parser, which runs in a Node process (peer.mjs) and answers one
// JSON line with another. Both are used as they document it for replies in the
// Hermes style, <tool_call>{"name": …, "arguments": …}</tool_call>, and are
// given nothing else.
//
// A record is a reply that a model wrote, with the tools it was shown. Its gold
// is the first call it meant. A reader is exact on a record when the first call
// it finds has the gold's name and arguments. Names are compared without case
// and separators. Strings are compared without case, a number, true or false
// equals the string that spells it, and a value the list that holds only it,
// since readers that know the schema turn one into the other.
//
// # Limits
//
// The speed is that of the fastest pass within a second. It is still worth little
// on a machine that has other things to do.
//
// A reader that needs more than a minute for one input is stopped there, and
// how far it came is told. The speed of the npm package is that of its parser
// in a stream of its own kind, without the model and the middleware around it.
//
// The command is a module of its own, so that what it measures against never
// reaches the product's go.mod.
package main
