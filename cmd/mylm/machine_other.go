//go:build !linux && !darwin

package main

import "runtime"

// freeMemory is unknown on this system.
func freeMemory() int64 { return 0 }

// kernel names the system.
func kernel() string { return runtime.GOOS }
