// Package failure has the errors of the command: each has an exit code, a name
// in --json, and a hint at what to do. It does not use the terminal. Libraries
// report facts; Advice says what a user can do about them, and with which flag.
//
//	return failure.Usage("there is no session %q", id).WithHint("mylm sessions list shows what there is.")
//
//	exit  meaning
//	0     complete
//	1     internal error, or the model failed
//	2     wrong usage or configuration, a missing or wrong key included
//	3     no server at the address, or no such model
//	4     a call was denied, and no later one made up for it
//	5     any other end without an answer: a limit, a loop, failing tools
//	6     the model's replies could not be read
//	7     the conversation does not fit the model's context
//	124   the model sent nothing for too long, or the run or a reply took too long
//	130   interrupted
//	141   the reader of stdout closed it before it had everything
package failure
