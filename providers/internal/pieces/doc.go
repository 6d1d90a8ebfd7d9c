// Package pieces makes vectors of texts that may be longer than a model takes.
//
//	p := pieces.New(6000)
//	vectors, err := p.Embed(ctx, "passage: ", texts, ask)
//
// A text that is too long is split; its vector is the mean of those of its
// pieces, of which the first 16 count. How many bytes a model takes depends on
// the text, so that the length of a piece is found out by trying: whenever the
// backend says that a text is too long, it is halved, for all texts to come.
package pieces
