// Package replace puts a file in the place of another one within an os.Root, at
// once: who looks sees the old file or the new one, also after a crash.
//
// # Smallest use
//
//	temp := replace.TempName(name)
//	err := replace.File(root, name, temp, content, replace.Like{})
//
// # Words
//
// The temporary file stands beside the file, so that both are on one file
// system. Its name is the caller's to choose with TempName and to write down
// beforehand: a process that is killed leaves it behind, and Sweep removes it.
//
// # Limits
//
// What replaces a file is another file: hard links to the old one keep the old
// text, and attributes beyond mode and owner are gone.
package replace
