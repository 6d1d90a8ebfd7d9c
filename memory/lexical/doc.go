// Package lexical finds documents by the words of a question, without any
// model. It is the ranking of mylm's memory: BM25 in which a document borrows
// words from its neighbours in the conversation chooses candidates, and a linear
// sum of named features orders them: words, neighbours, dates, speakers, whose
// words they are. The weights are learned, by scripts/rank.
//
// # Smallest use
//
//	var memory lexical.Memory
//	memory.Add(lexical.Entry{Text: "The staging host is called heron.", Session: 1})
//	hits, err := lexical.Default().Rank(ctx, &memory, lexical.Query{Text: "Which host is staging?"}, 5)
//
// # Words
//
// A term is a word as it is indexed: without case and accents, its ending cut
// by the rules of English. Words of other languages are cut in the same way
// wherever they stand, so that they find themselves. Scripts that put no space
// between words give pairs of neighbouring characters, and each Chinese
// character by itself. Function words of English give no term. A name that
// programs use (max_size, parseConfig, /etc/hosts, v1.2.3) is a term, and so
// are its parts.
//
// An Index gives postings and Facts; a store implements it, and Memory does so
// in memory. The scope of a query is the projects and sessions that it is
// about: what is rare and what is long is measured there, so that a small
// project is not ranked by the words of a large one. Neighbours are the
// documents before and after one in its session, in the order in which they
// were added, whatever was added to other sessions in between.
//
// # Limits
//
// A question of function words alone finds nothing, and neither do synonyms. Nor
// does one of which no document, with its neighbours, holds enough: see
// Ranking.Floor.
// Slips are corrected in words of at least five letters whose first letter is
// right, if no document in scope holds the word as it was written; two, if it has at
// least ten. Relative
// dates (yesterday) are not resolved; 5/8/2023 counts as its year, since
// it has two readings. Documents are numbered with 32 bits and a query takes
// memory and time in proportion to their number: 28 bytes for each, which the next
// query uses again.
package lexical
