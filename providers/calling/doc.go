// Package calling gives a model tools: it reads what the model writes, and words
// what is wrong with it. It runs no tool.
//
// # Smallest use
//
//	reader := calling.NewReader(protocol.Options{Tools: registry}, nil)
//	for chunk, err := range model.Generate(ctx, request) {
//		if err != nil {
//			return err
//		}
//		if reader.Take(chunk); reader.Done() {
//			break // a call is complete: stop the model
//		}
//	}
//	reply := reader.Close()
//
// # Terms
//
// A Reply is what a model wrote in one go. A correction tells the model why its
// reply could not be used. A Format is the JSON Schema that an answer has to fit.
//
// # Limits
//
// Tokens are estimated: no tokenizer is known here.
package calling
