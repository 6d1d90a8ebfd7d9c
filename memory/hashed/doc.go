// Package hashed turns texts into vectors without any model: a BM25 weight for
// each word, projected onto few numbers by hashing. It is the embedder that a
// memory has when nothing is installed.
//
// # Smallest use
//
//	store.Use(hashed.Embedder{}, warn)
//
// # Words
//
// A feature is a term as memory/lexical indexes it, or a run of four
// characters within one. Each feature has a direction, which follows from its
// hash: nothing is learned, and the same text gives the same vector everywhere
// and for ever.
//
// # Limits
//
// It knows no meaning: texts are near to each other if they share words, or
// parts of words. What it adds to a search by words are compounds and forms
// that no stemmer brings together. It sees one text at a time and so cannot
// know which words are rare; the terms have no function words, which is most
// of what that is for.
package hashed
