package group

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is the job object that holds a command and all that it starts.
type Group struct{ job windows.Handle }

// Start starts cmd in a job that its context ends. A process that cmd starts
// before it is in the job is not part of it: package syscall has no way to
// create a process within a job.
func Start(cmd *exec.Cmd) (*Group, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	}
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
	return &Group{job}, nil
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

// Kill kills all processes of the job, reports whether there were any, and
// gives the job back.
func (g *Group) Kill() bool {
	defer windows.CloseHandle(g.job)
	var a accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	windows.TerminateJobObject(g.job, 1)
	return err == nil && a.Active > 0
}
