// Package demo is a stand-in for a language model: a small set of rules that
// answers in mylm's protocol, with no weights, no network and no waiting. It
// shows the engine and its tools at work on a machine that has no model.
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
// # Words
//
// The goal is the last thing the user said that is not an observation. An
// intent is a kind of goal: how to tell it, an example, and how to answer. The
// first intent that matches answers. An answer that needs a tool is a call;
// asked again with the observation, the same intent goes on from there. So
// nothing is kept between calls, and the same messages give the same reply.
//
// A goal of several parts is planned by its words: "then" puts one part behind
// another. Each part is then a goal of its own.
//
// Facts come from the messages alone: the tools from <tool_definitions>, the
// date from the line "Date: 2026-11-21" of the system prompt, everything else
// from observations.
//
// # Limits
//
// English only. It is no language model and says so: a goal that no intent
// knows gets a list of those that are known, and how to get a real model. It
// reads the words of list_dir and read_file of mylm/tools/files; other tools of
// these names are shown but not counted.
package demo
