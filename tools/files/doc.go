// Package files gives a model sight of one directory tree: read_file shows a
// text file or a range of its lines, list_dir shows what a directory holds.
//
// # Smallest use
//
//	read, err := files.ReadFile(files.Options{Root: workspace})
//	list, err := files.ListDir(files.Options{Root: workspace})
//	registry, err := tools.NewRegistry(read, list)
//
// # Words
//
// The root is the directory that the tools see. Paths are relative to it, with
// / or the system's own separator; an absolute path within it is accepted.
// Nothing outside can be reached, neither by .. nor by an absolute path nor by
// a symbolic link: os.Root sees to it, also while links change.
//
// What is shown is plain text: line ends are LF, invalid UTF-8 is replaced,
// and what is left out is named in a last line in square brackets, with the
// way to go on. A binary file is described.
//
// # Limits
//
// Mounts are followed: a file system mounted below the root belongs to it.
// A call returns when its context is done, also if the file system does not
// answer (a network server that is gone). One goroutine then still waits for
// it, and closes what it has opened when the answer comes.
//
// Lines are counted in the first 64 MiB of a file only; beyond, the total is
// "more than". Text in UTF-16 counts as binary.
package files
