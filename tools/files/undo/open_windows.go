package undo

// nonblock is empty: files of Windows do not make their opener wait.
const nonblock = 0

// syncDirs does nothing: directories of Windows cannot be synced.
func syncDirs(...string) {}
