// Package sandbox runs a command so that it can do little harm, and so that
// none of its processes is left when it ends. It is for Linux and needs neither
// root nor a container.
//
// # Smallest use
//
//	func main() {
//		sandbox.Main() // first of all: returns at once, unless this process is one of the helpers below
//		cmd := exec.Command("make", "test")
//		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
//		guard, err := sandbox.Policy{Workspace: dir, Home: home}.Wrap(cmd)
//		if err != nil {
//			... // it cannot be enforced here: why, and what to do
//		}
//		err = cmd.Run()
//		report := guard.Release()
//	}
//
// # Words
//
// A Policy describes what a command may do. Wrap makes the command start
// through two helpers, which are this same program again. The supervisor adopts
// every process that the command leaves behind and kills them all when the
// command ends, when Guard.Kill is called, and when this process ends in any
// way. The stage drops capabilities and the ways to regain them, applies the
// rules, and executes the command. The helpers are recognized by their
// arguments, and a program that does not call Main cannot start them.
//
// Reading and writing is limited by Landlock, which allows only: writing to the
// workspace, a private home and temporary directory and /dev/null, reading of
// these, of system directories and of what the policy names. The user's home
// directory is closed. A seccomp filter refuses sockets, ptrace, io_uring,
// keyrings, mounts, namespaces and shared memory of other processes. Environ
// removes secrets from the environment.
//
// With Strict, for a command that runs without a question, the filter asks the
// supervisor about every call that opens, changes, executes, connects or
// signals. It answers by the same rules as Landlock, opens files for reading
// itself, and records what it refuses in the Report, so that a person can be
// asked whether to run the command again with just that permission. It measures
// what all the processes use, and kills them when they exceed a limit.
//
// # Limits
//
// It fails closed: if the kernel cannot enforce a policy, Check and Wrap return
// an error and nothing runs. docs/security.md lists what it does not promise.
//
// With the mode Off there are no rules, but there is a supervisor. A command
// that is free to do so can kill its supervisor and live on.
package sandbox
