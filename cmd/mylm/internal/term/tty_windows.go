package term

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

const ttyIn, ttyOut = "CONIN$", "CONOUT$"

// endSignals are the signals that end a run.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// flushInput drops what was typed and not read yet.
func flushInput(tty *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd()))
}

// endEditor ends an editor.
func endEditor(p *os.Process) { _ = p.Kill() }

// editorCommand runs an editor, which may be set with arguments: "code --wait".
func editorCommand(editor, path string) *exec.Cmd {
	words := strings.Fields(editor)
	return exec.Command(words[0], append(words[1:], path)...)
}

// shellCommand runs a line in the shell.
func shellCommand(line string) *exec.Cmd { return exec.Command("cmd", "/c", line) }

// onClosed does nothing: the next write fails.
func onClosed(*os.File, <-chan struct{}, func()) {}
