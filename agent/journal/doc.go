// Package journal stores sessions in append-only files, one for each.
//
// # Smallest use
//
//	store := journal.New(dir)
//	defer store.Close()
//	a, err := agent.New(agent.Options{Model: model, Recorder: store})
//	// the process dies; the next one:
//	session, err := store.Open(ctx, id)
//	for ev, err := range a.Resume(ctx, session) { … }
//
// # Terms
//
// A journal is the file of one session, DIR/ID.jsonl: a header on the first
// line, and an agent.Entry on every other one. Lines are never changed, and each
// ends with a checksum of itself. less and jq are enough to look at a journal.
// Pictures are in files beside it, DIR/ID.images/HASH, and the entry has their hash.
//
// # Guarantees
//
// An entry is in the file when Append returns, and so survives the end of the
// process, however it ends. What must survive a loss of power is on the disk by
// then: a call that changes something before it runs, its result, the end of a
// run. One entry is written some milliseconds later, during the request to the
// model: the question that a new session begins with.
//
// A last line that was cut short is skipped and reported as ErrCut when the
// journal is read, and removed before anything is appended. One process at a
// time appends to a session; another one gets ErrInUse. A session is locked
// during a run, and no file of it is open in between. Directories and files are
// readable only by their owner.
//
// # Limits
//
// The directory must be on a local disk: the locks of network file systems are
// not reliable. Bytes that are not UTF-8 are stored as U+FFFD. Texts are stored
// unchanged, secrets included; Clean takes a function that removes them.
package journal
