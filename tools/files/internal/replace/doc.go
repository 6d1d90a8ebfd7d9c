// Package replace atomically replaces a file within an os.Root: a reader sees
// the old file or the new one, even after a crash.
//
// # Smallest use
//
//	temp := replace.TempName(name)
//	err := replace.File(root, name, temp, content, replace.Like{})
//
// # Words
//
// The temporary file is created beside the file, so that both are on one file
// system. The caller chooses its name with TempName and records it beforehand:
// a process that is killed leaves it behind, and Sweep removes it.
//
// # Limits
//
// The result is another file: hard links to the old one keep the old text, and
// attributes other than mode and owner are lost.
package replace
