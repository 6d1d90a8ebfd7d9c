//go:build unix

package journal_test

import "syscall"

func namedPipe(path string) error { return syscall.Mkfifo(path, 0o600) }
