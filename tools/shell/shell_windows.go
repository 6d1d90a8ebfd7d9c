package shell

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

const shellName = "cmd /C"

func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// With /S cmd takes the text between the first and the last quote as
		// it is; quoting as Go does it is not what cmd reads. /D: no AutoRun.
		CmdLine:       `cmd /D /S /C "` + line + `"`,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
	}
	return cmd
}

// exitCode is the exit status. Windows has no signals.
func exitCode(s *os.ProcessState) (code int, signal string) { return s.ExitCode(), "" }
