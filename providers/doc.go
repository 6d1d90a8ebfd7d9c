// Package providers is what mylm knows of a language model: one streaming
// method that turns a conversation into text, and errors that say what went
// wrong and what to do about it.
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
// # Words
//
// A Model is one model at one backend. A Chunk is what arrived: text, thought
// (reasoning that the backend tells apart from text), and on the last chunk
// why the reply ended and what it cost. An Error is a failure that the caller
// can decide on by its Kind.
//
// # The contract
//
// A reply is whole only when its last chunk carries a StopReason. A sequence
// that ends without one, ends with an error: no implementation may let a cut
// stream pass for a finished reply. The suite in providerstest holds every
// backend to this.
//
// Function calling of the backend is never used: a Request has no tools.
//
// # Limits
//
// Text only: no images, no audio.
package providers
