// Package files has the tools for the files of one directory tree: list_dir,
// read_file, find_files and search_files show what is there, write_file and
// edit_file change it.
//
// # Smallest use
//
//	o := files.Options{Root: workspace}
//	read, err := files.ReadFile(o)
//	search, err := files.SearchFiles(o)
//	registry, err := tools.NewRegistry(read, search)
//
// With Options.Journal, of package undo, overwritten content is saved and can be restored.
//
// # Words
//
// The root, or workspace, is the directory that the tools are for. Paths are
// relative to it, with / or the system's own separator; an absolute path within
// it is accepted.
//
// What leads outside, by .., an absolute path or a symbolic link, can be read,
// with an effect (tools.Leaves) and an origin (tools.Outside) of its own, and
// not written. A call does no more than what was allowed: os.Root and
// tools.Granted enforce this, even while links change.
//
// What is shown is plain text: line ends are LF, invalid UTF-8 is replaced, and
// a last line in square brackets reports what was omitted, and how to continue.
// A binary file is described.
//
// A write that cannot succeed has the effect of a read, since that is all it
// does: it reports the reason to the model.
//
// # Limits
//
// Mounts are followed: a file system mounted below the root belongs to it. A
// call returns when its context is done, even if the file system does not
// answer (an unreachable network server). One goroutine then still waits for
// it, and closes what it has opened when the answer comes. A write that has
// begun is waited for.
//
// Lines are counted only in the first 64 MiB of a file; beyond that the total
// is "more than". Text in UTF-16 counts as binary. A file that is replaced
// loses hard links and extended attributes.
package files
