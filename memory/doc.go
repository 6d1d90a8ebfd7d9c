// Package memory stores what was said and done, word for word, and searches it. It
// needs no model.
//
// # Smallest use
//
//	store, err := memory.Open(ctx, path, memory.Options{})
//	defer store.Close()
//	_, err = store.Add(ctx, memory.Document{Text: "The staging host is called heron.", Project: "/src/shop"})
//	hits, err := store.Search(ctx, memory.Query{Text: "which host is staging?", Projects: []string{"/src/shop"}})
//
// # Words
//
// A document is one text with its metadata: who said it, when, in which session,
// about which project. A session is a conversation; its documents are neighbours,
// and the words of each count, with less weight, for the others in a search. A
// project is what a conversation was about. A scope is a set of projects and
// sessions; a search is confined to it.
//
// A superseded document is found only with History. A text that is recorded again
// in its session is the same document with a higher count; a note is the same in
// any session.
//
// The store is one SQLite file; OpenBackend takes another database. Its texts are the
// source; the index of words and the vectors are derived from them and can be rebuilt.
//
// An embedder turns texts into vectors, so that texts with similar meanings have
// vectors that are close. Use sets the embedder of searches; providers/ollama and
// providers/langchain have some. Documents found by words rank higher if they are
// close to the question, and where words find too little, the closest documents
// follow. A search embeds some of the documents without a vector, Embed all.
//
// A search finds nothing if no document holds enough of the question. Of several
// answers to one question it returns the newest, of texts that say the same one;
// Hit.Older counts the others.
//
// # Guarantees
//
// When Add returns, the documents are on the disk, even if the machine loses power.
// Many processes may use a file at once; writers take turns. The cost of Open does
// not depend on the size of the memory, and recording loads nothing. Forget
// overwrites what it deletes in the file and in its log; if another process is
// reading at that moment, in the log a little later.
//
// Secrets of known forms are removed before anything is written, see Redact. This
// is not complete: a password without a name before it is not recognised.
//
// The next Open moves a damaged file aside and copies what can be read into a new
// one; Store.Salvaged reports the result.
//
// # Limits
//
// The file must be on a disk of this machine: locks of network file systems are
// unreliable. A text has at most 8 MiB. There are at most a thousand million
// documents, and searches become slow long before that. If the write-ahead log is
// damaged and the file is not, the last documents are lost without a report: SQLite
// takes them for an unfinished write of a crash. A text is data, not instructions;
// a program that shows it to a model has to say so.
package memory
