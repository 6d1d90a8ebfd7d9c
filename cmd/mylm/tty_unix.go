//go:build !windows

package main

const ttyIn, ttyOut = "/dev/tty", "/dev/tty"
