//go:build !linux && !darwin

package setup

import "runtime"

// FreeMemory is unknown on this system.
func FreeMemory() int64 { return 0 }

// Kernel names the system.
func Kernel() string { return runtime.GOOS }
