//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// Main does nothing: on this system there are no helpers.
func Main() {}

// Check reports why the policy cannot be enforced. On this system there is no
// sandbox; only Off passes.
func (p Policy) Check() error {
	if err := p.check(); err != nil || !p.confines() {
		return err
	}
	return errors.New("there is no sandbox on this system, only on Linux")
}

// Gaps is empty: there is nothing to have gaps.
func (p Policy) Gaps() []string { return nil }

// Supervises reports whether commands can be supervised, which they cannot on
// this system.
func Supervises() bool { return false }

// Guard watches over a command.
type Guard struct{}

// Wrap refuses: on this system there is neither a sandbox nor a supervisor.
func (p Policy) Wrap(*exec.Cmd) (*Guard, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return nil, errors.New("commands are supervised on Linux only")
}

// Kill does nothing: there is no guard on this system.
func (g *Guard) Kill() error { return nil }

// Release returns an empty report: there is no guard on this system.
func (g *Guard) Release() Report { return Report{} }
