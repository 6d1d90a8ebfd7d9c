// Package group starts a command together with all that it starts, so that none
// of it outlives the command: as a session on Unix, in a job object on Windows.
package group
