// Package command reads a shell command line before it is run: which commands it
// holds, whether they are plain readers, and which look like a change.
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
// reader is a call of one of a few programs that print what is in files, with
// flags that cannot make them do anything else, on files of the workspace. A line
// only reads if it is made of such calls alone, joined by pipes, &&, ||, ; or line
// ends, and if sh and Bash read it the same way.
//
// What a line would start is also looked for where it cannot be complete: in
// loops, functions and substitutions, behind sudo or xargs, in the text for sh -c,
// in what is echoed or fed to a shell. That is for rules that forbid.
//
// # Limits
//
// Nothing here protects anything by itself: what a line does is for a sandbox to
// decide. The shell is a POSIX one; a line for another system's shell never only reads. The
// answer holds for the moment: files that change between the question and the
// run are not seen. What the user has set up is trusted: the programs of PATH
// outside of the workspace, their configuration, the environment.
package command
