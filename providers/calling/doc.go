// Package calling gives a model tools: it shows tools and calls as text, reads what
// the model writes, and corrects what cannot be used. It runs no tool.
//
// # Smallest use
//
//	m := &calling.Model{Model: backend}
//	for e, err := range m.Generate(ctx, calling.Request{Messages: conversation, Tools: offered}) {
//		if err != nil {
//			return err
//		}
//		if e.Call != nil {
//			run(e.Call) // and append the call and its result to the conversation
//		}
//	}
//
// A Reader does the reading alone, as in the turns of an agent; LLM is a model for
// langchaingo.
//
// # Terms
//
// A Reply is what a model wrote in one go, a Request what is wanted of it, and an Event
// a piece of what came of that. A correction tells the model why its reply could not be
// used. A Format is the JSON Schema that an answer has to fit.
//
// # Limits
//
// One call per reply. Tokens are estimated where the backend does not count them: no
// tokenizer is known here. Text that was passed on cannot be taken back, not even if a
// correction follows it.
package calling
