package sandbox

// Unscoped makes the strict sandbox do without Landlock's scopes, as on a kernel
// before 6.12, until the function that it returns is called.
func Unscoped() (undo func()) {
	was := scoped
	scoped = func() bool { return false }
	return func() { scoped = was }
}

// StrictlyReadable are the files and directories of the system that a strict command
// can read.
func StrictlyReadable() []string { return append(append([]string{}, programs...), facts...) }

// Asked bounds the temporary space in bytes, and the tasks, of commands that are not
// Strict, until the function that it returns is called.
func Asked(temp int64, tasks int) (undo func()) {
	wasTemp, wasTasks := askedTemp, askedTasks
	askedTemp, askedTasks = temp, tasks
	return func() { askedTemp, askedTasks = wasTemp, wasTasks }
}
