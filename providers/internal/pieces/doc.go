// Package pieces computes vectors of texts that may be longer than a model accepts.
//
//	p := pieces.New(6000)
//	vectors, err := p.Embed(ctx, "passage: ", texts, ask)
//
// A text that is too long is split; its vector is the mean of those of its
// pieces, of which the first 16 count. How many bytes a model accepts depends
// on the text, so the length of a piece is found by trial: whenever the backend
// reports that a text is too long, the length is halved for all later texts.
package pieces
