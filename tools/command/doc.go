// Package command analyzes a shell command line before it runs: which commands
// it contains, whether they are plain readers, and which look like a change.
//
// # Smallest use
//
//	a := command.Analyse("grep -rn heron . | head -5", command.Place{Root: workspace, Env: os.Environ()})
//	if !a.Reads {
//		fmt.Println("more than plain reading:", a.Why)
//	}
//
// # Terms
//
// A call is one simple command of the line: a program and its words. A plain
// reader is a call of one of a few programs that print the content of files,
// with flags that cannot make them do anything else, on files of the workspace.
// A line only reads if it is made of such calls alone, joined by pipes, &&, ||,
// ; or line ends, and if sh and Bash read it the same way.
//
// Commands are also searched for where the search cannot be complete: in loops,
// functions and substitutions, after sudo or xargs, in the text for sh -c, in
// text that is echoed or fed to a shell. That is for deny rules.
//
// # Limits
//
// This package is not a protection: a sandbox must limit what a line does. The
// shell is a POSIX one; a line for another system's shell never only reads. The
// result is a snapshot: later changes of files are not seen. The user's
// environment is trusted: the programs of PATH outside of the workspace, their
// configuration, the environment.
package command
