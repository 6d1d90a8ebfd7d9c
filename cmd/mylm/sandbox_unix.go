//go:build unix

package main

import (
	"os"
	"syscall"
)

// shellCode is the exit code of a program as a shell reports it: of one that a
// signal ended, 128 and its number.
func shellCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
