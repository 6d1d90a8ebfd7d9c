package main

import (
	"errors"
	"os/exec"
	"strconv"
)

// exitCode is the exit code in an error of exec's.
func exitCode(err error) string {
	if err == nil {
		return "0"
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
