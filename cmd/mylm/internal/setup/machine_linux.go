package setup

import (
	"bufio"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// FreeMemory returns the bytes of memory that programs can still get, 0 if that
// is unknown.
func FreeMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kilobytes int64
		if n, _ := fmt.Sscanf(s.Text(), "MemAvailable: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}

// Kernel names the kernel and its version.
func Kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "Linux"
	}
	return "Linux " + unix.ByteSliceToString(name.Release[:])
}
