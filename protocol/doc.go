// Package protocol turns the text a model writes into calls, thoughts and
// answers, and turns calls and results into text for the model. It knows no
// model and runs no tool.
//
// # Smallest use
//
//	d := protocol.NewDecoder(protocol.Options{Tools: registry})
//	for chunk := range reply {
//		for _, p := range d.Push(chunk) {
//			handle(p)
//		}
//		if d.Done() {
//			break // a call is complete: stop the model
//		}
//	}
//	for _, p := range d.Close(protocol.End) {
//		handle(p)
//	}
//
// # Words
//
// A reply is what a model writes in one go. A call is one block
//
//	<tool_code>
//	<name>read_file</name>
//	<parameters>{"path": "go.mod"}</parameters>
//	</tool_code>
//
// in it. An observation is the result of the call, which the model gets in a
// message of the user. Text is what a person may read; thought is reasoning that is
// neither searched for calls nor taken for an answer.
//
// # Rules
//
// SPEC.md is the normative text. In short: the block above is the house form;
// the forms that other models were taught, and broken JSON, are read too where
// they have one reading, and ToolCall says what was repaired. A reply with the
// mark-up of a call in a form that is not read, and the name of a known tool, is
// malformed once (Options.Insisted).
//
// The JSON value ends the arguments, not the closing tag: tags inside a string
// argument are data. The first complete call ends the reply; an invented
// observation after it is never seen. A block that starts its line outside a
// code fence is final at its close; one in the middle of a line or inside a
// fence is decided by what follows. Inline code, block quotes, indented code and
// examples are text, and a token that ends the turn ends the reply.
// A value that was cut is never completed. How a reply is split into chunks
// makes no difference.
//
// # Limits
//
// A Decoder is for one reply and one goroutine.
package protocol
