// Package demo is a substitute for a language model: a few rules that answer in
// mylm's protocol, without weights, network or delays. It demonstrates the
// engine and its tools on a machine without a model.
//
// It lists and reads files, calculates sums, runs a
// command that is spelled out, remembers a sentence and finds it again, and
// plans a goal whose parts are joined by "then". Anything else gets a list of
// what it supports, and how to get a real model.
//
// # Smallest use
//
//	model := demo.New()
//	for chunk, err := range model.Generate(ctx, providers.Request{Messages: []providers.Message{
//		{Role: providers.User, Text: "what is 2 * (3 + 4)?"},
//	}}) {
//		…
//	}
//
// # Terms
//
// The goal is the last thing the user said that is not an observation. A rule
// recognises a kind of goal and answers it; the first rule that matches counts.
// An answer that needs a tool is a call. Asked again with the observation, the
// same rule continues from there, so there is no state between calls, and the
// same messages give the same reply.
//
// # Limits
//
// English only. It reads the results of list_dir, read_file and search_memory
// as mylm's own tools write them.
package demo
