package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h). An argument has eight
// bytes; the low four come first on the processors that auditArch supports.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
	argSize = 8
	high    = 4
)

const (
	allow   = unix.SECCOMP_RET_ALLOW
	kill    = unix.SECCOMP_RET_KILL_PROCESS
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // where programs know another way
	judged  = unix.SECCOMP_RET_USER_NOTIF                  // by the supervisor
)

// x32 is set in the numbers of system calls of the x32 ABI, which reach the same
// functions of the kernel.
const x32 = 0x40000000

// namespaces are the flags of clone and unshare that make new ones; newTime is
// for unshare only, for clone it is part of a signal's number.
const (
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	newTime = unix.CLONE_NEWTIME
)

// socketTypeMask takes SOCK_NONBLOCK and SOCK_CLOEXEC off (linux/net.h).
const socketTypeMask = 0xf

// refused are system calls without a use for a command in a workspace.
var refused = []uint32{
	// other processes' memory, files and limits
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_BPF,
	// keyrings
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// mounts and namespaces
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR,
	// files without a path, which Landlock does not see
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// memory, queues and semaphores shared with strangers
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	// the machine
	unix.SYS_SYSLOG, unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_VHANGUP,
}

// addressed are the calls that name another end. A socket that a command was
// given must not be turned to one.
var addressed = []uint32{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4}

// absent are calls whose arguments a filter cannot see: io_uring does anything
// unseen, clone3 could make namespaces. Programs fall back to others.
var absent = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3}

// strictAbsent are calls that programs do without, and that would be ways
// around what is judged or counted: a path in a structure, memory that is a
// file. Watching files would reveal directories that are closed.
var strictAbsent = append([]uint32{unix.SYS_OPENAT2, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_INOTIFY_INIT1}, archAbsent...)

// lastCall is the newest call that was reviewed.
const lastCall = unix.SYS_FILE_SETATTR + 2

// Requests of ioctl that x/sys does not have (asm-generic/ioctls.h, linux/fs.h).
const (
	fioNBIO    = 0x5421
	fioNClEx   = 0x5450
	fioClEx    = 0x5451
	fioAsync   = 0x5452
	fiGetBSz   = 2
	fsFieMap   = 0xc020660b
	fsSetXattr = 0x401c5820
)

// looks are requests of ioctl that change nothing, or only a descriptor.
var looks = []uint32{unix.TCGETS, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCINQ, fioNBIO, fioAsync, fioClEx, fioNClEx, unix.FS_IOC_GETFLAGS, fsFieMap, fiGetBSz}

// filter is a BPF program.
type filter []unix.SockFilter

// native begins a filter: a process that uses another ABI is killed.
func native() filter {
	return filter{
		load(offArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		ret(kill),
		load(offNr),
		jump(unix.BPF_JSET, x32, 0, 1),
		ret(kill),
	}
}

// strictCalls is the filter for a command that runs without a question. What it
// does not allow is judged by the supervisor, which notes what it refuses.
func strictCalls(allowNet, metadataToo, threads bool) filter {
	f := native()
	f = append(f, jump(unix.BPF_JGT, lastCall, 0, 1), ret(missing))
	for _, nr := range slices.Concat(absent, strictAbsent) {
		f.on(nr, ret(missing))
	}
	f.limited(judged)
	// Signals that a file sends, leases that others wait for, and watching a directory.
	f.on(unix.SYS_FCNTL, load(arg(1)), jump(unix.BPF_JEQ, unix.F_SETOWN, 3, 0), jump(unix.BPF_JEQ, unix.F_SETOWN_EX, 2, 0),
		jump(unix.BPF_JEQ, unix.F_SETLEASE, 1, 0), jump(unix.BPF_JEQ, unix.F_NOTIFY, 0, 1), ret(judged), ret(allow))
	f.on(unix.SYS_IOCTL, ioctlRules(metadataToo)...)
	listen := slices.Concat(calls)
	if !allowNet {
		listen = append(listen, addressedCalls...)
	}
	if threads {
		listen = append(listen, threadSignals...)
	}
	for _, c := range listen {
		f.on(c.nr, ret(judged))
	}
	for _, o := range others {
		f.on(o.nr, ret(judged))
	}
	if !metadataToo {
		for _, m := range metadata {
			f.on(m.nr, ret(judged))
		}
	}
	for _, nr := range refused {
		f.on(nr, ret(judged))
	}
	return append(f, ret(allow))
}

// ioctlRules allow what is harmless. Other requests do not exist, but for those
// that change attributes of a file through a descriptor for reading: they are
// metadata.
func ioctlRules(metadataToo bool) filter {
	f := filter{load(arg(1))}
	for _, request := range looks {
		f = append(f, jump(unix.BPF_JEQ, request, 0, 1), ret(allow))
	}
	action := uint32(judged)
	if metadataToo {
		action = allow
	}
	for _, request := range []uint32{unix.FS_IOC_SETFLAGS, fsSetXattr, unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY} {
		f = append(f, jump(unix.BPF_JEQ, request, 0, 1), ret(action))
	}
	return append(f, ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOTTY)))
}

// watchedCalls is the filter of a sandbox that reports what it refuses.
func watchedCalls(allowNet bool) filter {
	f := systemCalls(allowNet, judged)
	f = f[:len(f)-1]
	for _, c := range calls {
		f.on(c.nr, ret(judged))
	}
	return append(f, ret(allow))
}

// systemCalls is the filter of a sandbox; socket is what happens to sockets that it
// refuses.
func systemCalls(allowNet bool, socket uint32) filter {
	f := native()
	for _, nr := range refused {
		f.on(nr, ret(refuse))
	}
	for _, nr := range absent {
		f.on(nr, ret(missing))
	}
	if !allowNet {
		for _, nr := range addressed {
			f.on(nr, ret(refuse))
		}
	}
	f.on(unix.SYS_SOCKET, socketRules(allowNet, socket)...)
	f.limited(refuse)
	// Both put characters into a terminal as if they were typed there. The
	// kernel looks at the low half of the request only.
	f.on(unix.SYS_IOCTL, load(arg(1)), jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0), jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1), ret(refuse), ret(allow))
	return append(f, ret(allow))
}

// limited lets calls of which some have a use have just that; otherwise is what
// happens to others.
func (f *filter) limited(otherwise uint32) {
	// Its own limits, or looking at those of others.
	f.on(unix.SYS_PRLIMIT64,
		load(arg(0)), jump(unix.BPF_JEQ, 0, 4, 0),
		load(arg(2)), jump(unix.BPF_JEQ, 0, 0, 3),
		load(arg(2)+high), jump(unix.BPF_JEQ, 0, 0, 1),
		ret(allow), ret(otherwise))
	f.pairs()
	f.on(unix.SYS_CLONE, load(arg(0)), jump(unix.BPF_JSET, namespaces, 0, 1), ret(otherwise), ret(allow))
	f.on(unix.SYS_UNSHARE, load(arg(0)), jump(unix.BPF_JSET, namespaces|newTime, 0, 1), ret(otherwise), ret(allow))
}

// pairs allows pairs of sockets that talk to themselves. One of datagrams could
// still send to any address, and a type of AF_UNIX that is neither makes one.
func (f *filter) pairs() {
	f.on(unix.SYS_SOCKETPAIR,
		load(arg(0)), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 4),
		load(arg(1)), mask(socketTypeMask),
		jump(unix.BPF_JEQ, unix.SOCK_STREAM, 2, 0), jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1, 0),
		ret(refuse), ret(allow))
}

// socketRules allow streams and datagrams of IPv4 and IPv6, and asking the
// kernel for the machine's own addresses, or nothing.
func socketRules(allowNet bool, otherwise uint32) filter {
	if !allowNet {
		return filter{ret(otherwise)}
	}
	return filter{
		load(arg(0)),
		jump(unix.BPF_JEQ, unix.AF_INET, 4, 0), jump(unix.BPF_JEQ, unix.AF_INET6, 3, 0), jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 7),
		load(arg(2)), jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 4, 5),
		load(arg(1)), mask(socketTypeMask),
		jump(unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0), jump(unix.BPF_JEQ, unix.SOCK_DGRAM, 0, 1),
		ret(allow), ret(otherwise),
	}
}

// on adds what happens to one system call. The body ends every way that it goes.
func (f *filter) on(nr uint32, body ...unix.SockFilter) {
	*f = append(*f, jump(unix.BPF_JEQ, nr, 0, uint8(len(body))))
	*f = append(*f, body...)
}

func arg(n uint32) uint32 { return offArgs + n*argSize }

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func mask(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
}

func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// install puts the filter on the calling thread, permanently.
func (f filter) install() error {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if err := seccomp(unix.SECCOMP_SET_MODE_FILTER, 0, pointer(&program)); err != nil {
		return fmt.Errorf("the system call filter cannot be installed: %w", err)
	}
	return nil
}

func pointer[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

func seccomp(operation, flags uintptr, args unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, operation, flags, uintptr(args)); e != 0 {
		return e
	}
	return nil
}
