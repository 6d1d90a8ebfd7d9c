// Package undo saves files before a run of a model changes them, and restores them.
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
// A change is one file that is written or removed. The earlier version of a
// file is its state before the run's first change of it: its bytes and mode, or
// that it did not exist.
//
// A conflict is a file that was changed after the run. Undo then changes
// nothing, unless it is forced. Undo is a run itself: what it overwrites is
// saved, and it can be undone in turn, by name.
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
// is replaced, and the file is replaced atomically. Whenever the process is
// killed, the file is the old or the new one, and the journal allows to restore
// the old.
//
// # Limits
//
// Only changes made through a journal are recorded: changes by a command are
// not undone. Hard links and extended attributes are not restored.
//
// A run keeps at most MaxBytes; a change that would need more is refused. Runs
// are pruned when another one begins: see Options. Runs in progress are not
// pruned.
package undo
