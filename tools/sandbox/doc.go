// Package sandbox runs a command so that it can do little harm, and so that
// nothing of it is left when it ends. It is for Linux and needs neither root nor
// a container.
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
// A Policy says what a command may do. Wrap makes the command start as two
// helpers, which are this same program again. The supervisor adopts every
// process that the command leaves behind and kills them all when the command
// ends, when Guard.Kill is called, and when this process is gone, however it
// went. The stage gives up capabilities and the ways to new ones, applies the
// rules, and becomes the command. Both know each other by their arguments, and a
// program that does not call Main cannot start them.
//
// What is read and written is limited by Landlock, which only ever allows:
// writing to the workspace, a private home and temporary directory and
// /dev/null, reading of these, of system directories and of what the policy
// names. The user's home directory is closed. A seccomp filter refuses sockets,
// ptrace, io_uring, keyrings, mounts, namespaces and shared memory of other
// processes. Environ takes secrets out of the environment.
//
// With Strict, for a command that nobody was asked about, the filter asks the
// supervisor about every call that opens, changes, executes, connects or signals.
// It answers by the same rules that Landlock has, opens files for reading itself,
// and notes what it refuses: the Report has it, so that somebody can be asked
// whether the command runs again with just that permission. It counts what all the
// processes use, and kills them when it is too much.
//
// # Limits
//
// It fails closed: where the kernel cannot enforce a policy, Check and Wrap say
// so and nothing runs. docs/security.md lists what it does not promise.
//
// With the mode Off there are no rules, but there is a supervisor. A command
// that is free to do so can kill its supervisor and live on.
package sandbox
