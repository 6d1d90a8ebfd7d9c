// Package undo keeps what files were before a run of a model changed them, and
// brings it back.
//
// # Smallest use
//
//	store := undo.NewStore(undo.Options{Dir: dir})
//	journal := store.Begin(workspace, session)
//	err := journal.Write(ctx, root, undo.Change{Name: "notes.txt", Content: text})
//	journal.End()
//
//	runs, err := store.Runs(workspace)
//	report, err := store.Undo(ctx, runs[0], false)
//
// # Words
//
// A run is what one journal covers: what a model changed to answer one request.
// A change is one file that is written or removed. The earlier version of a file
// is what stood there before the run's first change of it: its bytes, its mode,
// or that there was none.
//
// A conflict is a file that is no longer as the run left it. Undo changes
// nothing then, unless it is forced. Undo is a run itself: what it overwrites
// is kept, and it can be undone in its turn, by name.
//
// # On the disk
//
// Each run has a directory (0700) below Dir, made at its first change:
//
//	journal.jsonl   a line that says which run it is, then a line for each change
//	blobs/          earlier versions (0600), named by the SHA-256 of their bytes
//	lock            held while the run goes on
//
// An earlier version and the line of its change are on the disk before the file
// is replaced, and the file is replaced at once. Whenever the process is killed,
// the file is the old or the new one, and the journal leads back to the old.
//
// # Limits
//
// Only changes that go through a journal are known: what a command did to a file
// is not undone. Hard links and extended attributes are not brought back.
//
// A run keeps at most MaxBytes; a change that would need more is refused. Runs
// are pruned when another one begins: see Options. Who prunes leaves the runs
// that are going on alone.
package undo
