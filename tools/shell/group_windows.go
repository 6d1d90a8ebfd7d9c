package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

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

// group is the job object that holds the shell and all that it starts.
type group struct{ job windows.Handle }

// start starts cmd in a job that its context ends. A process that cmd starts
// before it is in the job is not part of it: package syscall has no way to
// create a process within a job.
func start(cmd *exec.Cmd) (*group, error) {
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("no job object to hold its processes: %w", err)
	}
	cmd.Cancel = func() error {
		windows.TerminateJobObject(job, 1)
		return cmd.Process.Kill() // it may not be in the job yet
	}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	if err := assign(job, cmd.Process); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		windows.CloseHandle(job)
		return nil, fmt.Errorf("it could not be put into a job object: %w", err)
	}
	return &group{job}, nil
}

// newJob makes a job object whose processes die with it, also when this process ends.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limit windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limit.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limit)), uint32(unsafe.Sizeof(limit)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// assign puts p into the job. A process that is done already cannot be put
// into one, and need not be.
func assign(job windows.Handle, p *os.Process) error {
	var failed error
	err := p.WithHandle(func(handle uintptr) {
		if failed = windows.AssignProcessToJobObject(job, windows.Handle(handle)); failed == nil {
			return
		}
		if event, err := windows.WaitForSingleObject(windows.Handle(handle), 0); err == nil && event == windows.WAIT_OBJECT_0 {
			failed = nil
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION of winnt.h.
type accounting struct {
	_      [4]int64 // times
	_, _   uint32   // page faults, all processes so far
	Active uint32
	_      uint32 // processes ended by a limit
}

// kill kills all processes of the job, reports whether there were any, and
// gives the job back.
func (g *group) kill() bool {
	defer windows.CloseHandle(g.job)
	var a accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	windows.TerminateJobObject(g.job, 1)
	return err == nil && a.Active > 0
}

// exitCode is the exit status. Windows has no signals.
func exitCode(s *os.ProcessState) (code int, signal string) { return s.ExitCode(), "" }
