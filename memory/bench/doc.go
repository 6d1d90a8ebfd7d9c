// Command bench measures the memory beside three other stores on the same
// documents in one run, and prints its figures as Markdown.
//
// # Smallest use
//
//	go -C memory/bench run . -dir /path/to/data
//
// makes the data below the folder, a few minutes and 4 GB, unless they are there,
// and measures. Without -dir it uses a temporary folder. With -million=false it
// omits the figures for 1,000,000 documents, with -only cold, warm or vectors all but
// that part.
//
// # Words
//
// A peer is another store: the table fts5 of SQLite, with the driver that mylm
// uses; bleve, with its default mapping; chromem-go, which has vectors only. The
// documents are made up, 20 to 80 words each; their vectors are random.
//
// A cold search is the first one of a process of its own, from opening the file
// to the hits; what is given is the median of several processes: the time on the
// clock, processor time and the most resident memory, without the start of the
// process. A warm search is one of many in a process.
//
// What recording takes beyond the fsync is the median of recording two documents,
// less that of a bare write of 16 KB and fsync; the two take turns.
//
// # Limits
//
// The times are worth little on a machine that has other things to do. The files
// are in the cache of the operating system. The command is for Linux.
//
// It is a module of its own, so that the peers never reach the product's go.mod.
package main
