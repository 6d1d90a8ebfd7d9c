// Package command says what a shell command line would do before it is run: whether it
// only reads inside a workspace, which programs it starts, and what stands in the way of an answer.
//
// # Smallest use
//
//	a := command.Analyse("grep -rn heron . | head -5", command.Place{Root: workspace, Env: os.Environ()})
//	if !a.OnlyReads {
//		fmt.Println("needs a yes:", a.Why)
//	}
//
// # Words
//
// A call is one simple command of the line: a program and its words. A line only reads if
// it is made of calls alone, joined by pipes, &&, ||, ; or line ends, each on a list of programs
// with flags that are known to change nothing, on files inside the workspace. The line is read as POSIX sh and as Bash, since
// sh is one or the other, and both readings have to be the same. Everything that is not on the list needs a yes, without a judgement whether
// it is harmful.
//
// A line is plain if nothing but its calls happens: no file is written to by a redirect, nothing is substituted, assigned
// or left in the background. Only then its calls can be compared with what somebody allowed.
//
// What a line would start is also looked for where it cannot be trusted to be all: in loops, functions and substitutions, behind sudo or
// xargs, in the text for sh -c, in what is echoed or fed to a shell, in what git is told to run. That is for rules that forbid.
//
// # Git
//
// Git runs programs that a repository's own configuration names: for diffs, filters, signatures, a file
// system monitor, missing objects. A clone has none of them, but a directory that was unpacked or written to may. So git only reads where the
// configuration holds nothing but settings that name no program, where no submodule has one of its own, and no hook runs.
//
// # Limits
//
// The shell is a POSIX one; a line for another system's shell never only reads. The answer holds for the moment: files that change
// between the question and the run (a link that comes to lead elsewhere) are not seen. What the user has set up
// is trusted: the programs of PATH outside of the workspace, their configuration in the home directory, the environment.
//
// A program's name that is computed ($(...), or a variable that the line does not simply set) is not seen by rules that forbid. They are a fence against mistakes, and no sandbox.
package command
