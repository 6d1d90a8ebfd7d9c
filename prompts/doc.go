// Package prompts holds every word that mylm says to a model, as templates that
// a user can replace.
//
// # Smallest use
//
//	system, err := prompts.Default().System(prompts.SystemData{Tools: tools, Form: "tool_code", Call: call})
//
// # Words
//
// A Set is the built-in templates, some of them replaced by the user's. The
// system prompt is what every conversation starts with; a correction explains
// to the model why its reply could not be read, a refusal why a call cannot
// run. A summary replaces messages that are no longer shown; a
// judge checks an answer, and a retry says what it found; a last word is asked
// for when a limit ends a run.
//
// # Replacing a template
//
// Load reads NAME.tmpl files from a directory; `mylm prompts eject` writes the
// built-in ones there. A template sees the fields of its data type (SystemData,
// CorrectionData, CompactedData, RetryData). The language is that of the package
// text/template: fields, variables, if, with, range over a list, pipelines, and
// the functions and, or, not, eq, ne, lt, le, gt, ge, len, print and printf.
//
// It lacks break, continue, define, block and template; range over a number or a
// map; methods; complex numbers; and the functions call, html, index, js,
// println, slice and urlquery. A file that uses one of them, that is no template,
// or that uses a field that does not exist, is an error with its line, never a
// silent fallback.
//
// # Limits
//
// Templates are trusted: they are the user's own files. Data that they insert
// is neutralised by whoever passes it in.
package prompts
