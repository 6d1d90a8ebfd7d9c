//go:build unix

package open

import "syscall"

// Nonblock makes the opening of a named pipe return at once.
const Nonblock = syscall.O_NONBLOCK
