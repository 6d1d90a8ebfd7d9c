// Package journal keeps sessions in files: one for each, which only grows.
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
// # Words
//
// A journal is the file of one session, DIR/ID.jsonl: a header on the first
// line, which says how the rest is to be read, and an agent.Entry on every other
// one. Nothing in it is ever changed, so that less and jq are enough to look at
// it. A replay is a run of today's engine on the recorded replies, with results
// from the record; it says where the outcome differs.
//
// # What can be relied on
//
// An entry is in the file when Append returns, and so survives the end of the
// process, however it ends. What the machine may not lose either is on the disk
// by then: a call that changes something before it runs, its result, the end of
// a run. One thing is written some milliseconds later instead, when the model
// is being asked: the question that a new session begins with.
//
// A last line that was cut short is passed over and told as ErrCut when the
// journal is read, and cut off before anything is appended. One process at a
// time appends to a session; ErrInUse is what another one gets. A session is held
// while a run goes on in it, and no file of it is open in between. Directories
// and files are readable for their owner alone.
//
// # Limits
//
// The directory must be on a disk of this machine: the locks of network file
// systems are not to be relied on. Bytes that are no UTF-8 are kept as U+FFFD.
// Texts are kept as they are, secrets and all; Export can take a function that
// cleans them.
package journal
