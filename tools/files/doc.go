// Package files gives a model hands for the files of one directory tree:
// list_dir, read_file, find_files and search_files show what is there,
// write_file and edit_file change it.
//
// # Smallest use
//
//	o := files.Options{Root: workspace}
//	read, err := files.ReadFile(o)
//	search, err := files.SearchFiles(o)
//	registry, err := tools.NewRegistry(read, search)
//
// With Options.Journal, of package undo, what is written over is kept and can
// be brought back.
//
// # Words
//
// The root, or workspace, is the directory that the tools are for. Paths are
// relative to it, with / or the system's own separator; an absolute path within
// it is accepted.
//
// What leads outside, by .., an absolute path or a symbolic link, can be read,
// with an effect (tools.Leaves) and an origin (tools.Outside) of its own, and
// not written. A call does no more than what it was allowed with: os.Root and
// tools.Granted see to it, also while links change.
//
// What is shown is plain text: line ends are LF, invalid UTF-8 is replaced,
// and what is left out is named in a last line in square brackets, with the
// way to go on. A binary file is described.
//
// A write that cannot succeed has the effect of a read, since that is all it
// does: it tells the model why.
//
// # Limits
//
// Mounts are followed: a file system mounted below the root belongs to it.
// A call returns when its context is done, also if the file system does not
// answer (a network server that is gone). One goroutine then still waits for
// it, and closes what it has opened when the answer comes. A write that has
// begun is waited for.
//
// Lines are counted in the first 64 MiB of a file only; beyond, the total is
// "more than". Text in UTF-16 counts as binary. A file that is replaced loses
// hard links and extended attributes.
package files
