package main

import "os"

// shellCode is the exit code of a program.
func shellCode(s *os.ProcessState) int { return s.ExitCode() }
