//go:build unix

package undo

import "os"

// syncDirs writes the names in directories to the disk. That a file system
// cannot do so is nothing that could be helped.
func syncDirs(dirs ...string) {
	for _, dir := range dirs {
		if f, err := os.Open(dir); err == nil {
			f.Sync()
			f.Close()
		}
	}
}
