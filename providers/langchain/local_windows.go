package langchain

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// runGroup runs cmd in a job object, of which no process outlives it. What cmd
// starts before it is in the job is not part of it: package syscall cannot
// create a process within one.
func runGroup(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("no job object to hold its processes: %w", err)
	}
	defer windows.CloseHandle(job) // kills what is left
	var limit windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limit.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limit)), uint32(unsafe.Sizeof(limit))); err != nil {
		return fmt.Errorf("no job object to hold its processes: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	cmd.Cancel = func() error {
		return errors.Join(windows.TerminateJobObject(job, 1), cmd.Process.Kill()) // it may not be in the job yet
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	assigned := cmd.Process.WithHandle(func(handle uintptr) {
		err = windows.AssignProcessToJobObject(job, windows.Handle(handle))
	})
	if assigned == nil && err != nil && !done(cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("it could not be put into a job object: %w", err)
	}
	return cmd.Wait()
}

// done reports whether the process has ended: it cannot be put into a job
// then, and need not be.
func done(cmd *exec.Cmd) (ended bool) {
	err := cmd.Process.WithHandle(func(handle uintptr) {
		event, err := windows.WaitForSingleObject(windows.Handle(handle), 0)
		ended = err == nil && event == windows.WAIT_OBJECT_0
	})
	return err != nil || ended
}
