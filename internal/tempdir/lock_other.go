//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package tempdir

import "os"

// Where directories cannot be locked, nobody can know which are left behind.
func sweep(string) {}

func hold(string) (*os.File, error) { return nil, nil }
