// Package open opens files that may be anything by now: it follows no link,
// waits for no pipe and touches no device.
//
// # Smallest use
//
//	f, info, err := open.Regular(root, name)
//
// # Words
//
// Regular looks at what is there before it opens it, since the mere opening of a
// device can do something, and afterwards, since it may be another file by then.
// Nonblock is for those who look in their own way.
//
// # Limits
//
// Links on the way to the file are os.Root's business: it follows those that
// stay within.
package open
