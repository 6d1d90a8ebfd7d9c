// Package ask is the tool ask_user: the model asks the person it works for, and
// gets the answer back.
//
// # Smallest use
//
//	question, err := ask.New(func(ctx context.Context, q ask.Question) (string, error) {
//		return show(ctx, q.Text, q.Options)
//	})
//	registry, err := tools.NewRegistry(question)
//
// # Words
//
// A Question is what the model wants to know, with answers to choose from if it
// named some. The function that New is given puts it to the person and returns
// the answer. If the person does not want to answer, that is not a failure: the
// model is informed, and continues without it.
//
// # Limits
//
// Register the tool only if somebody can answer. Text and Options are the
// model's words, perhaps repeated from a page or a file: the program that shows
// them must make sure that they cannot be mistaken for something else.
//
// A question waits for an answer for a day at most, or until its context is
// done. Questions are put one at a time.
package ask
