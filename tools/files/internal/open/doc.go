// Package open opens files that may be anything by now: it follows no link,
// does not wait for a pipe and does not open a device.
//
// # Smallest use
//
//	f, info, err := open.Regular(root, name)
//
// # Words
//
// Regular checks the file before it opens it, since merely opening a device can
// have an effect, and afterwards, since it may be another file by then.
// Nonblock is for callers with checks of their own.
//
// # Limits
//
// Links on the way to the file are handled by os.Root, which follows those that stay within.
package open
