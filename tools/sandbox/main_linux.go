package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this program, also when its file was replaced or removed meanwhile.
const self = "/proc/self/exe"

// Names of the helpers: their first argument, as a list of processes shows it.
// The descriptors of the instructions and of the notes follow, then the path of the
// command and its arguments.
const (
	supervisor = "mylm-supervisor"
	stage      = "mylm-sandbox"
)

// ready records that this program can be a helper.
var ready bool

// Main turns this process into a helper if it was started as one, and then does
// not return. Call it first of all in main, and in the TestMain of tests that
// run commands. Otherwise it takes no time and only records that helpers can be
// started.
func Main() {
	ready = true
	args := os.Args
	if len(args) < 5 || args[0] != supervisor && args[0] != stage {
		return
	}
	// What is set on a thread, and the death signal of a child, need one thread.
	runtime.LockOSThread()
	in, err1 := strconv.Atoi(args[1])
	out, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err1, err2); err != nil {
		return // another program of that name
	}
	h := helper{control: os.NewFile(uintptr(in), "control"), notes: os.NewFile(uintptr(out), "notes"), path: args[3], args: args[4:]}
	syscall.CloseOnExec(in)
	syscall.CloseOnExec(out)
	err := h.run(args[0])
	h.send(note{Failed: err.Error()})
	syscall.Exit(failed)
}

// failed is the exit code of a helper that could not start the command, as of a
// shell's.
const failed = 126

// helper is this process as one of the two.
type helper struct {
	control, notes *os.File
	path           string // of the command
	args           []string
	job            job
}

// run returns only if the command could not be started.
func (h *helper) run(role string) error {
	line, err := bufio.NewReader(h.control).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the sandbox got no instructions: %w", err)
	}
	if err := json.Unmarshal(line, &h.job); err != nil {
		return fmt.Errorf("the sandbox does not understand its instructions: %w", err)
	}
	if role == stage {
		return h.becomeCommand()
	}
	return h.supervise()
}

// send writes a note to the process that started the command.
func (h *helper) send(n note) {
	text, err := json.Marshal(n)
	if err == nil {
		_, _ = h.notes.Write(append(text, '\n'))
	}
}

// Limits of resources. Memory has none here: runtimes have much of their own.
const (
	maxProcesses = 8192     // of the user, threads included; not for root
	maxFile      = 16 << 30 // bytes
)

// listenerSocket is where the stage sends the listener to.
const listenerSocket = 5

// becomeCommand applies the rules to this process and replaces it.
func (h *helper) becomeCommand() error {
	b := h.job.Bounds
	switch {
	case b == nil && h.job.Memory == 0:
		return errors.New("the sandbox got no rules")
	case b == nil:
		if err := h.boundMemory(); err != nil {
			return err
		}
		return h.exec()
	}
	err := checkKernel()
	if err != nil {
		return err
	}
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NPROC: maxProcesses, unix.RLIMIT_FSIZE: maxFile}
	if b.Strict != nil {
		limits[unix.RLIMIT_FSIZE], limits[unix.RLIMIT_NOFILE] = 2*maxTemp, maxOpen
	}
	for resource, limit := range limits {
		if err := lower(resource, limit); err != nil {
			return fmt.Errorf("a limit of resources cannot be set: %w", err)
		}
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities cannot be dropped: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("gaining privileges cannot be disabled: %w", err)
	}
	if err := restrictFiles(*b); err != nil {
		return fmt.Errorf("files cannot be protected: %w", err)
	}
	// The command gets no descriptors but the three streams.
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("open files cannot be closed to the command: %w", err)
	}
	switch {
	case b.Strict != nil:
		err = strictCalls(b.AllowNet, b.Strict.Metadata, b.Strict.Signals).installListening(listenerSocket)
	case b.Watch:
		err = watchedCalls(b.AllowNet).installListening(listenerSocket)
		if errors.Is(err, unix.EBUSY) { // a filter of the container reports already
			err = systemCalls(b.AllowNet, refuse).install()
		}
	default:
		err = systemCalls(b.AllowNet, refuse).install()
	}
	if err == nil {
		err = h.boundMemory()
	}
	if err != nil {
		return err
	}
	if err = h.exec(); errors.Is(err, unix.EACCES) {
		err = fmt.Errorf("%w: it may lie where the sandbox reads nothing; name its directory in reads", err)
	}
	return err
}

// boundMemory bounds what the command may have. It is done last, since this
// process has more and would die if its runtime asked the kernel for any: what is
// free is collected before, and nothing else runs in it from here on.
func (h *helper) boundMemory() error {
	if h.job.Memory == 0 {
		return nil
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	runtime.GC()
	if err := lower(unix.RLIMIT_DATA, h.job.Memory); err != nil {
		return fmt.Errorf("the memory cannot be bounded: %w", err)
	}
	return nil
}

// exec replaces this process by the command.
func (h *helper) exec() error {
	err := syscall.Exec(h.path, h.args, os.Environ())
	return fmt.Errorf("%s cannot be started: %w", filepath.Clean(h.path), err)
}

// lower sets both values of a limit, unless they are lower already.
func lower(resource int, limit uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	limit = min(limit, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit})
}

// dropCapabilities leaves root only the right to use files of other owners,
// which Landlock bounds. Without it root could not work in a user's directory.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return err
	}
	const fileRight = 1 << unix.CAP_DAC_OVERRIDE
	if now[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			if c != unix.CAP_DAC_OVERRIDE {
				_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // unknown to older kernels
			}
		}
	}
	keep := now[0].Permitted & fileRight
	left := [2]unix.CapUserData{{Effective: keep, Permitted: keep}}
	return unix.Capset(&header, &left[0])
}
