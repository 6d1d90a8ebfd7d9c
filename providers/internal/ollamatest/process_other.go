//go:build !linux

package ollamatest

import "os/exec"

const supported = false

func ownGroup(*exec.Cmd) {}

func interrupt(cmd *exec.Cmd) { cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func children(int) []int { return nil }

func kill(int) bool { return false }
