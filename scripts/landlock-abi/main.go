//go:build linux

// Command landlock-abi prints which version of Landlock the kernel has, 0 for
// none. It knows nothing of mylm's sandbox, so that a fault in that cannot make
// the gate take the kernel for one without.
package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func main() {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		abi = 0
	}
	fmt.Println(int(abi))
}
