//go:build unix

package setup

import "golang.org/x/sys/unix"

// FreeDisk returns how many bytes can still be written to the disk of a
// directory, and whether that is known.
func FreeDisk(dir string) (bytes int64, known bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
