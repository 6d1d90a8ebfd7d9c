// Package providers defines a language model: one streaming method that turns a
// conversation into text, and errors that say what went wrong and what to do
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
// parsed by itself, and on the last chunk why the reply ended and what it cost.
// An Error is a failure that the caller can decide on by its Kind.
//
// # The contract
//
// A reply is whole only when its last chunk carries a StopReason. A sequence
// that ends without one, ends with an error: no implementation may take a cut
// stream for a finished reply. The suite in providerstest holds every
// backend to this.
//
// Function calling of the backend is never used: a Request has no tools. Some
// servers parse calls out of the text all the same, and the text of those is
// lost; Chunk.Call is what they made of it.
//
// # Limits
//
// Text only: no images, no audio.
package providers
