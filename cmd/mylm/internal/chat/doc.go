// Package chat is a conversation on a terminal: an editor with history and
// completion, the model's replies as they stream, approvals in place, and a line
// of status. It is inline: what was said stays in the terminal's scrollback.
//
//	c := chat.New(chat.Options{Screen: screen, Send: send, Status: status})
//	err := c.Run(ctx)
//
// While it runs it is the host of the screen: whatever is written to the screen,
// by the sinks of a run or by a command, appears above the editor, in order. It is
// also the dialog in which a person approves calls and answers questions. It knows
// nothing of runs: Send answers a message, in a goroutine of its own, and ends soon
// after its context is done.
//
// # In the code
//
//	chat.go      New, Run; what the rest of the program calls, from any goroutine
//	feed.go      the queue between those goroutines and the terminal's
//	model.go     what messages do: keys, pieces of text, the end of a job
//	view.go      what is drawn below the scrollback
//	print.go     what goes into the scrollback
//	editor.go    the text that is typed; layout.go breaks it into rows
//	dialog.go    approvals and questions; dialogview.go draws them
//	commands.go  lines that begin with / or !
//	complete.go  Tab; search.go: Ctrl-R; history.go: the file behind both
//
// # Limits
//
// Text that was pasted and is long is one block in the editor: it is sent whole and
// can be deleted, not edited. A terminal that became narrower may keep a copy of
// what was drawn in place, since it wraps those rows itself.
package chat
