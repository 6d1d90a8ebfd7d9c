// Package failure has the errors of the command: each has an exit code, a name
// in --json, and a hint at what to do. It does not use the terminal. Libraries
// report facts: what a user can do about them, and with which flag, is in
// advice.go.
//
//	return failure.Usage("there is no session %q", id).WithHint("mylm sessions list shows what there is.")
//
//	exit  meaning
//	0     complete
//	1     internal error, or the model failed
//	2     wrong usage or configuration, a missing or wrong key included
//	3     no server at the address, or no such model
//	4     the last sensitive call was denied and none succeeded after it
//	5     any other end without an answer: a limit, a loop, failing tools
//	6     the model's replies could not be read
//	7     the conversation does not fit the model's context
//	124   nothing came from the model for too long
//	130   interrupted
//	141   the reader of stdout closed it
package failure
