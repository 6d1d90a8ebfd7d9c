package setup

import "golang.org/x/sys/unix"

// FreeMemory returns the bytes of memory of the machine, 0 if they are unknown:
// macOS makes room for a program by taking it from caches.
func FreeMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}

// Kernel names the system.
func Kernel() string { return "macOS" }
