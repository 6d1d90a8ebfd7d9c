// Package memory keeps what was said and done, word for word, and finds it
// again. It needs no model.
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
// A document is one text with what is known of it: who said it, when, in which
// session, about which project. A session is a conversation; its documents are
// neighbours, and lend each other their words when one is looked for. A project
// is what a conversation was about. A scope is a set of projects and sessions:
// a search stays inside it.
//
// A document that another supersedes is found with History only. A text that is
// recorded again in its session is the same document with a higher count; a note
// is so in any session.
//
// The store is one SQLite file. The texts in it are the truth. The index of
// words is made from them and can be made again; so are the vectors.
//
// An embedder makes vectors of texts, and texts that mean much the same have
// vectors that are near to each other. Use names the one that searches have;
// providers/ollama and providers/langchain have those of models. What words find
// is ranked higher if it is near to the question, and where words find too little
// the nearest documents follow. A search embeds some of what has no vector yet,
// Embed all of it.
//
// A search finds nothing where no document holds enough of the question. Of
// several answers to one question it returns the newest, of texts that say the
// same one, and Hit.Older counts the others.
//
// # What can be relied on
//
// When Add returns, the documents are on the disk, also if the machine loses
// power. Many processes may use a file at once; those that write take turns.
// What Open costs does not depend on how much there is, and to record loads
// nothing. What Forget deleted is overwritten in the file and in its log; if
// somebody reads at that moment, in the log a little later.
//
// Secrets of known forms are taken out before anything is written, see Redact.
// That is a net with holes: it does not know a password without a name before
// it.
//
// A damaged file is moved aside by the next Open, and what can be read of it
// goes into a new one; Store.Salvaged says what became of it.
//
// # Limits
//
// The file must be on a disk of this machine: the locks of network file
// systems are not to be relied on. A text has at most 8 MiB. There are at most
// a thousand million documents, and searches become slow long before. If the
// write-ahead log beside the file is damaged, and not the file, what was
// recorded last is lost without a word: SQLite takes it for what a crash left
// unfinished. A text is data and not instructions: whoever shows it to a model
// says so.
package memory
