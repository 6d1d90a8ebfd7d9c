// Package providers defines a language model: one streaming method that turns a
// conversation into text, and errors that report what went wrong and what to do
// about it.
//
// # Smallest use
//
//	for chunk, err := range model.Generate(ctx, providers.Request{
//		Messages: []providers.Message{{Role: providers.User, Text: "hello"}},
//	}) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(chunk.Text)
//	}
//
// # Terms
//
// A Model is one model at one backend. A Chunk is what arrived: text, thought
// (reasoning that the backend separates from text), a call that the server
// parsed by itself or a piece of one, and on the last chunk, the stop reason and
// the usage. An Error is a failure with a Kind, by which the caller can decide what to do.
//
// # The contract
//
// A reply is complete only when its last chunk carries a StopReason. A sequence
// without one ends with an error: no implementation may treat a cut stream as a
// finished reply. The suite in providerstest checks this for every backend.
//
// Function calling of the backend is never used: a Request has no tools. Some
// servers parse calls out of the text anyway, and the text of those is lost;
// Chunk.Call holds the parsed call.
//
// # Limits
//
// Text only: no images, no audio.
package providers
