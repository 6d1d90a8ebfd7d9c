//go:build !windows

package term

import (
	"cmp"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const ttyIn, ttyOut = "/dev/tty", "/dev/tty"

// endSignals are the signals that end a run. A hangup that is ignored already,
// as below nohup, stays so.
func endSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// endEditor has an editor put the terminal back, and end.
func endEditor(p *os.Process) { _ = p.Signal(syscall.SIGHUP) }

// editorCommand runs an editor as the shell reads it: "code --wait" and paths
// in quotes are both common. The trap keeps the shell alive until the editor,
// which has the signal to itself, has ended.
func editorCommand(editor, path string) *exec.Cmd {
	return exec.Command("sh", "-c", "trap : INT QUIT; "+editor+` "$1"`, "sh", path)
}

// shellCommand runs a line in the user's shell.
func shellCommand(line string) *exec.Cmd {
	return exec.Command(cmp.Or(os.Getenv("SHELL"), "sh"), "-c", line)
}

// onClosed calls f when the reader of a pipe closes it.
func onClosed(out *os.File, done <-chan struct{}, f func()) {
	if info, err := out.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	go func() {
		const pollEvery = 1000 // milliseconds; a broken pipe ends the wait at once
		for {
			fds := []unix.PollFd{{Fd: int32(out.Fd())}}
			if n, _ := unix.Poll(fds, pollEvery); n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				f()
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
}
