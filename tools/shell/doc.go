// Package shell is the tool execute_command: it runs one command line in a
// shell and returns its output and how it ended.
//
// # Smallest use
//
//	execute, err := shell.New(shell.Options{Dir: workspace})
//	registry, err := tools.NewRegistry(execute)
//
// # Words
//
// The command line is run by sh -c, on Windows by cmd /C. It and all that it
// starts die when its context ends and when the command line is done. On Linux,
// in a program that calls sandbox.Main, a supervisor ensures that, whatever
// they do to detach themselves, even when this process is killed. Elsewhere
// they are a group: a session of its own on Unix, a job object on Windows.
//
// Options.Sandbox confines them. A call can ask for a directory below the
// working directory, and for a time.
//
// Output is standard output and standard error as one stream, in the order in
// which they were written. The model sees it without ANSI escapes and other
// control characters. Of long output the beginning and the end are kept. Binary
// output is only described.
//
// # Limits
//
// A command cannot prompt: its standard input is empty and it has no terminal.
// It inherits the environment without secrets, see sandbox.Policy.Environ, with
// pagers, colours and git's password prompt turned off.
//
// A call that was granted no more than reading runs in the strict sandbox, with
// an empty home and bounds on its time and output. What it was refused is in
// the result, and a call that is permitted some of that runs with just these
// additional permissions.
//
// Without a sandbox a command may do whatever the user of this process may do.
// Whether it should run is the caller's decision, before Run: the tool has the
// effect Runs, unless package command determines that the line only reads in
// the working directory.
//
// Without a supervisor a program that leaves its group on purpose (a daemon,
// setsid) is not killed. Its output is no longer read once the command line is
// done.
package shell
