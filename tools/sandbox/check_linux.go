package sandbox

import (
	"errors"
	"fmt"
	"os"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Versions of Landlock's ABI, by what they add (kernel documentation,
// userspace-api/landlock).
const (
	abiTruncate = 3 // Linux 6.2; before it any file could be emptied
	abiScopes   = 6 // Linux 6.12; signals and abstract sockets

	// errataSignals is the repair of version 6 without which go-landlock does
	// not use its scopes.
	errataSignals = 1 << 1
)

// Check reports why the policy cannot be enforced, and what to do about it. It
// is nil if every rule that the policy is made of can be.
func (p Policy) Check() error {
	if err := p.check(); err != nil {
		return err
	}
	if !ready {
		return errNoMain
	}
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		return fmt.Errorf("/proc is not mounted, and processes are counted there: %w", err)
	}
	if !p.confines() {
		return nil
	}
	if err := checkKernel(); err != nil || !p.strict() {
		return err
	}
	return checkStrict()
}

// checkStrict reports whether the supervisor can be asked about system calls, and
// look at their arguments. What it needs beside is older than abiTruncate: calls
// that go on and files that are handed over (Linux 5.5 and 5.14), and calls that
// signals do not end (5.19). Without abiScopes it decides about signals.
func checkStrict() error {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	if err := seccomp(unix.SECCOMP_GET_ACTION_AVAIL, 0, pointer(&action)); err != nil {
		return fmt.Errorf("this kernel does not report system calls (seccomp notification): %w", err)
	}
	const onlyPrivileged = '2'
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err == nil && len(scope) > 0 && scope[0] >= onlyPrivileged && (os.Geteuid() != 0 || scope[0] > onlyPrivileged) {
		return fmt.Errorf("the arguments of system calls cannot be looked at, since kernel.yama.ptrace_scope is %c; it must be 0 or 1", scope[0])
	}
	var from, to byte
	_, err = unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &to, Len: 1}}, []unix.RemoteIovec{{Base: uintptr(pointer(&from)), Len: 1}}, 0)
	if err != nil {
		return fmt.Errorf("the arguments of system calls cannot be looked at here, as in another sandbox: %w", err)
	}
	return nil
}

// checkKernel reports whether the kernel has all that the rules are made of.
func checkKernel() error {
	if auditArch == 0 {
		return errors.New("there is no system call filter for this kind of processor; there is for x86-64 and ARM64")
	}
	if err := checkSeccomp(); err != nil {
		return err
	}
	abi, err := landlock.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return errors.New("the kernel has Landlock but it is switched off; put landlock into the kernel's parameter lsm=")
	case errors.Is(err, unix.ENOSYS):
		return errors.New("this kernel has no Landlock; Linux 6.2 or later has, built with CONFIG_SECURITY_LANDLOCK")
	case errors.Is(err, unix.EPERM):
		return errors.New("using Landlock is forbidden here, probably by the container's system call filter; allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self there")
	case err != nil:
		return fmt.Errorf("using Landlock does not work here: %w", err)
	case abi < abiTruncate:
		return fmt.Errorf("this kernel's Landlock (version %d) cannot keep files from being emptied; Linux 6.2 or later can (version %d)", abi, abiTruncate)
	}
	return nil
}

// checkSeccomp reports whether filters can be installed that refuse and kill.
func checkSeccomp() error {
	for _, action := range []uint32{unix.SECCOMP_RET_ERRNO, unix.SECCOMP_RET_KILL_PROCESS} {
		if err := seccomp(unix.SECCOMP_GET_ACTION_AVAIL, 0, pointer(&action)); err != nil {
			return fmt.Errorf("this kernel cannot filter system calls (seccomp): %w; Linux 4.14 or later can, built with CONFIG_SECCOMP_FILTER", err)
		}
	}
	return nil
}

// Gaps returns what a policy that Check accepts leaves open because the kernel
// is older than Linux 6.12, in words for a person.
func (p Policy) Gaps() []string {
	if !p.confines() || p.strict() || scoped() { // the strict sandbox has another way
		return nil
	}
	return []string{"this kernel cannot keep commands from sending signals to your other processes; a current Linux 6.12 or later can"}
}

// scoped reports whether Landlock keeps signals in. Tests act as if it did not.
var scoped = func() bool {
	abi, err := landlock.LandlockGetABIVersion()
	errata, unknown := landlock.LandlockGetErrata()
	return err == nil && unknown == nil && abi >= abiScopes && errata&errataSignals != 0
}

// Supervises reports whether commands can be supervised: this program calls
// Main, and /proc is there.
func Supervises() bool { return Policy{Mode: Off}.Check() == nil }
