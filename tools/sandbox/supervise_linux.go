package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"mylm/internal/tempdir"

	"golang.org/x/sys/unix"
)

// supervise starts the command, kills what outlives it, and ends as it ended.
func (h *helper) supervise() error {
	// Orphans become children of this process, even if they left their session.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("processes cannot be adopted: %w", err)
	}
	// Signals are for the command, which gets those of the terminal by itself.
	signal.Notify(make(chan os.Signal, 1))
	end := make(chan struct{})
	stop := sync.OnceFunc(func() { close(end) })
	done := make(chan struct{})
	pid, err := h.start(done, stop)
	if err != nil {
		return err
	}
	releaseStreams()
	go func() {
		var b [1]byte
		_, _ = h.control.Read(b[:]) // nothing comes until the other end is closed
		stop()
	}()
	status, leftovers := reap(pid, end)
	close(done)
	if h.job.Temp != "" {
		tempdir.RemoveAll(h.job.Temp)
	}
	h.send(note{Ended: true, Leftovers: leftovers})
	exitLike(status)
	return nil
}

// start starts the command, or the stage that becomes it, and what watches over
// a strict one until done is closed.
func (h *helper) start(done <-chan struct{}, stop func()) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		// The command is killed with the supervisor. What it started by then
		// is not, but nobody should kill a supervisor.
		Sys: &syscall.SysProcAttr{Setsid: h.job.Session, Pdeathsig: syscall.SIGKILL},
	}
	b := h.job.Bounds
	if b == nil && h.job.Memory == 0 {
		if pid, err = syscall.ForkExec(h.path, h.args, attr); err != nil {
			return 0, fmt.Errorf("%s cannot be started: %w", h.path, err)
		}
		return pid, nil
	}
	if b != nil {
		if b.Rules, err = b.rules(); err != nil {
			return 0, fmt.Errorf("files cannot be protected: %w", err)
		}
	}
	instructions, err := json.Marshal(h.job)
	if err != nil {
		return 0, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	go func() {
		_, _ = w.Write(append(instructions, '\n'))
		w.Close()
	}()
	defer r.Close()
	attr.Files = append(attr.Files, r.Fd(), h.notes.Fd())
	var ours *os.File
	if b != nil && (b.Strict != nil || b.Watch) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		ours = os.NewFile(uintptr(fds[0]), "listener")
		defer unix.Close(fds[1])
		attr.Files = append(attr.Files, uintptr(fds[1]))
	}
	args := append([]string{stage, "3", "4", h.path}, h.args...)
	if pid, err = syscall.ForkExec(self, args, attr); err != nil {
		return 0, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	if ours != nil {
		go newWarden(*b, h.send).listen(ours)
	}
	if b != nil {
		go b.Quota.watch(done, func(limit string) {
			h.send(note{Refusal: &Refusal{Kind: Limit, Detail: limit}})
			stop()
		})
	}
	return pid, nil
}

// releaseStreams closes the standard streams, so that their readers need not wait
// for this process.
func releaseStreams() {
	null, err := unix.Open(devNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0)
	}
	unix.Close(null)
}

// reap waits until no child is left, and returns how the command ended and
// whether others outlived it. They are killed then, and everything is when end
// is closed.
func reap(command int, end <-chan struct{}) (status unix.WaitStatus, leftovers bool) {
	over, done := make(chan struct{}), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-end:
		case <-over:
		case <-done:
			return
		}
		killDescendants(done)
	}()
	pid := 0
	for pid >= 0 && pid != command {
		pid = wait(&status, 0)
	}
	var s unix.WaitStatus
	for pid > 0 {
		pid = wait(&s, unix.WNOHANG)
	}
	if pid < 0 {
		return status, false
	}
	close(over)
	for pid >= 0 {
		pid = wait(&s, 0)
	}
	return status, true
}

// wait reaps one child. It returns 0 if with WNOHANG none is dead, -1 if there
// is none.
func wait(s *unix.WaitStatus, flags int) int {
	for {
		pid, err := unix.Wait4(-1, s, flags, nil)
		switch err {
		case nil:
			return pid
		case unix.EINTR:
		default:
			return -1
		}
	}
}

// exitLike ends this process as the command ended, by the same signal if need be.
func exitLike(s unix.WaitStatus) {
	if !s.Signaled() {
		syscall.Exit(s.ExitStatus())
	}
	// The runtime's handlers would make a trace of it, the system a dump.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var byDefault [4]uint64 // struct sigaction: all zero is SIG_DFL
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s.Signal()), uintptr(pointer(&byDefault)), 0, 8, 0, 0)
	_ = unix.Kill(unix.Getpid(), s.Signal())
	time.Sleep(time.Second) // a signal to a process of many threads may take a moment
	syscall.Exit(128 + int(s.Signal()))
}

// Pauses between searches for remaining processes: short at first, since most processes die
// at once, and longer for those that hang in the kernel.
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// killDescendants kills all descendants of this process, again and again, until done is
// closed: a process may start another while they are counted. A killed one
// starts no more, so that this ends even for processes that multiply.
func killDescendants(done <-chan struct{}) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		for _, p := range descendants(unix.Getpid()) {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
	}
}
