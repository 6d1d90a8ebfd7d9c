// Package scripted is a providers.Model with prepared replies: for tests, for
// benchmarks of the code around a model, and for bug reports, in which a script
// holds exactly what the model wrote.
//
// # Smallest use
//
//	model := scripted.New(
//		scripted.Reply{Text: "<tool_code>…</tool_code>"},
//		scripted.Reply{Text: "Done."},
//	)
//
// # Terms
//
// A Reply is the model's reply to one request. A script is the replies in
// order: the first request gets the first. When they run out, a request fails.
//
// # The file
//
// Load reads a script from a text file. A line that begins with "=== reply"
// opens a reply, the lines below it are its text, and words on the opening line
// set its properties:
//
//	# Lines before the first reply are comments.
//	=== reply
//	I will look.
//	<tool_code><name>list_dir</name><parameters>{"path":"."}</parameters></tool_code>
//	=== thought
//	The model's reasoning, which goes before the reply below it.
//	=== reply stop=length prompt=120 output=8
//	There are tw
//	=== reply error=rate_limited message="slow down"
//	=== reply cut
//	The connection breaks off after this.
//	=== reply hang
//	Nothing more comes after this until the caller goes away.
//
// The words are stop=REASON, prompt=N and output=N (tokens), chunk=N (bytes a
// piece, never splitting a character), delay=DURATION (before the first piece),
// cut, hang, and error=KIND with message="…" and hint="…". A value with spaces
// is quoted as in Go.
// The line end before the next opening line is not part of the text. A line of
// the text that begins with "===" is written with a backslash before it.
//
// It is a plain text file because a reply is text: it can be pasted as the
// model wrote it, with nothing to escape.
//
// # Limits
//
// A reply does not depend on the request. Concurrent runs share the script, in
// the order of their requests.
package scripted
