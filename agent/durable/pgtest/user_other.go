//go:build !linux

package pgtest

import "os/exec"

// give does nothing: elsewhere tests do not run as root.
func give(string) error { return nil }

// unprivileged does nothing, for the same reason.
func unprivileged(*exec.Cmd) {}
