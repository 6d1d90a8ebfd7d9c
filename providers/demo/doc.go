// Package demo is a stand-in for a language model: a few rules that answer in
// mylm's protocol, without weights, network or waiting. It shows the engine and
// its tools at work on a machine that has no model.
//
// It answers questions about files and what they hold, works out sums, runs a
// command that is spelled out, remembers a sentence and finds it again, and
// plans a goal whose parts are joined by "then". Anything else gets the list
// of what it knows, and how to get a real model.
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
// same rule continues from there, so that nothing is kept between calls and the
// same messages give the same reply.
//
// # Limits
//
// English only. It reads the results of list_dir, read_file and search_memory
// as mylm's own tools write them.
package demo
