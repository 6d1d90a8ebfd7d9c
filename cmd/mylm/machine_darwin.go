package main

import "golang.org/x/sys/unix"

// freeMemory returns the bytes of memory of the machine, 0 if they are unknown:
// macOS makes room for a program by taking it from caches.
func freeMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}

// kernel names the system.
func kernel() string { return "macOS" }
