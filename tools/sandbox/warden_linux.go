package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// warden decides about the system calls of a strict command that the filter
// does not decide about alone, and records what is refused. It works on one
// goroutine; what it shares with the one that counts is behind mu.
type warden struct {
	strict   strict
	watches  bool // the kernel decides, but for sockets: what it refuses is only noted
	rules    []rule
	allowNet bool
	send     func(note)
	listener int

	noted map[Refusal]bool // without the program
	size  int              // of the reports, in bytes
}

func newWarden(b bounds, send func(note)) *warden {
	w := &warden{watches: b.Watch, rules: b.Rules, allowNet: b.AllowNet, send: send, noted: map[Refusal]bool{}}
	if b.Strict != nil {
		w.strict = *b.Strict
	}
	return w
}

// call is a system call and the function that judges it.
type call struct {
	nr    uint32
	judge func(*request) verdict
}

// calls are judged in every strict sandbox. Those that a register decides about
// alone are in the filter.
var calls = append([]call{
	{unix.SYS_OPENAT, func(r *request) verdict { return r.open(r.dirFD(0), 1, int(r.args[2]), uint32(r.args[3])) }},
	{unix.SYS_UNLINKAT, func(r *request) verdict { return r.removed(r.dirFD(0), 1) }},
	{unix.SYS_RENAMEAT2, func(r *request) verdict { return r.renamed(r.dirFD(0), 1, r.dirFD(2), 3) }},
	{unix.SYS_MKDIRAT, func(r *request) verdict { return r.made(r.dirFD(0), 1) }},
	{unix.SYS_MKNODAT, func(r *request) verdict { return r.node(r.dirFD(0), 1, r.args[2]) }},
	{unix.SYS_SYMLINKAT, func(r *request) verdict { return r.made(r.dirFD(1), 2) }},
	{unix.SYS_TRUNCATE, (*request).truncated},
	{unix.SYS_EXECVE, func(r *request) verdict { return r.executed(unix.AT_FDCWD, 0, 0) }},
	{unix.SYS_EXECVEAT, func(r *request) verdict { return r.executed(r.dirFD(0), 1, r.args[4]) }},
	{unix.SYS_SOCKET, (*request).socket},
	{unix.SYS_KILL, func(r *request) verdict { return r.signalled(int(int32(r.args[0])), int(r.args[1])) }},
	{unix.SYS_TKILL, func(r *request) verdict { return r.signalled(int(int32(r.args[0])), int(r.args[1])) }},
	{unix.SYS_RT_SIGQUEUEINFO, func(r *request) verdict { return r.signalled(int(int32(r.args[0])), int(r.args[1])) }},
	{unix.SYS_PIDFD_SEND_SIGNAL, (*request).signalledByFD},
}, archCalls...)

// threadSignals are judged where Landlock does not. Go programs send many.
var threadSignals = []call{
	{unix.SYS_TGKILL, func(r *request) verdict { return r.signalled(int(int32(r.args[0])), int(r.args[2])) }},
	{unix.SYS_RT_TGSIGQUEUEINFO, func(r *request) verdict { return r.signalled(int(int32(r.args[0])), int(r.args[2])) }},
}

// addressedCalls are judged where there is no network, to learn the address.
var addressedCalls = []call{
	{unix.SYS_CONNECT, (*request).connected}, {unix.SYS_BIND, (*request).connected},
	{unix.SYS_LISTEN, (*request).connected}, {unix.SYS_ACCEPT, (*request).connected}, {unix.SYS_ACCEPT4, (*request).connected},
}

// others are calls about other processes that have a use for one's own: which
// argument names the process.
var others = []struct {
	nr  uint32
	arg int
}{
	{unix.SYS_SETPRIORITY, 1}, {unix.SYS_IOPRIO_SET, 1},
	{unix.SYS_SCHED_SETAFFINITY, 0}, {unix.SYS_SCHED_SETSCHEDULER, 0}, {unix.SYS_SCHED_SETPARAM, 0}, {unix.SYS_SCHED_SETATTR, 0},
	{unix.SYS_MIGRATE_PAGES, 0}, {unix.SYS_MOVE_PAGES, 0}, {unix.SYS_PRLIMIT64, 0},
}

// judges decide which system calls the strict sandbox refuses, by their numbers.
func (w *warden) judges() map[uint32]func(*request) verdict {
	all := map[uint32]func(*request) verdict{}
	for _, c := range slices.Concat(calls, threadSignals, addressedCalls) {
		all[c.nr] = c.judge
	}
	for _, m := range metadata {
		all[m.nr] = func(r *request) verdict { return r.metadata(m) }
	}
	for _, o := range others {
		all[o.nr] = func(r *request) verdict { return r.other(o.arg) }
	}
	if w.watches {
		for nr, judge := range all {
			if nr != unix.SYS_SOCKET {
				all[nr] = func(r *request) verdict {
					judge(r)
					return passed
				}
			}
		}
	}
	return all
}

// allows reports whether the rules give a right to a path.
func (w *warden) allows(path string, right uint64) bool {
	for _, rule := range w.rules {
		if uint64(rule.Rights)&right == right && (path == rule.Path || strings.HasPrefix(path, rule.Path) && path[len(rule.Path)] == '/') {
			return true
		}
	}
	return false
}

// secret reports whether a file of the workspace, which nobody named, looks like
// a key, or is the configuration of a repository that holds one.
func (w *warden) secret(s location) bool {
	name := filepath.Base(s.path)
	config := name == "config" || name == "config.worktree"
	if !config && !KeyLike(name) {
		return false
	}
	within := func(dir string) bool { return Within(s.path, dir) }
	if !slices.ContainsFunc(w.strict.Workspace, within) || slices.ContainsFunc(w.strict.Named, within) {
		return false
	}
	if !config {
		return true
	}
	if !strings.Contains(s.path, ".git/") {
		return false
	}
	path := "/proc/self/fd/" + strconv.Itoa(s.fd)
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	text, err := readRegular(path, info, maxRepositoryConfig) // the command may have put anything there
	return err != nil || slices.ContainsFunc(strings.Split(strings.ToLower(string(text)), "\n"), confidential)
}

// confidential reports whether a line of a repository's configuration may hold a
// secret.
func confidential(line string) bool { return suspicious(line) || strings.Contains(line, "extraheader") }

// refuse notes a refusal and gives the error for it.
func (r *request) refuse(f Refusal, errno unix.Errno) verdict {
	if r.valid() {
		r.w.note(f, r.program())
	}
	return verdict{errno: errno}
}

// Bounds in bytes of what is reported. All reports must fit into a pipe, of usually 64
// KiB, that is read only after the command has ended.
const (
	longestPath = 512
	maxReports  = 48 << 10
)

// note reports a refusal once.
func (w *warden) note(f Refusal, program string) {
	f.Path = f.Path[:min(len(f.Path), longestPath)]
	if w.noted[f] || len(w.noted) == MaxRefusals {
		return
	}
	n := note{Refusal: &f}
	w.noted[f] = true
	f.Program = program
	text, err := json.Marshal(n) // of control characters it is much longer
	if err != nil || w.size+len(text) > maxReports {
		return
	}
	w.size += len(text)
	w.send(n)
}

// other judges a call about a process: those about its own descendants pass.
func (r *request) other(arg int) verdict {
	pid := int(int32(r.args[arg]))
	const ioprioProcess = 1 // IOPRIO_WHO_PROCESS (linux/ioprio.h)
	several := r.nr == unix.SYS_SETPRIORITY && r.args[0] != unix.PRIO_PROCESS || r.nr == unix.SYS_IOPRIO_SET && r.args[0] != ioprioProcess
	if !several && (pid == 0 || isDescendant(pid)) {
		return passed
	}
	return r.refuse(Refusal{Kind: System, Detail: "priority or limits of " + processName(pid)}, unix.EPERM)
}

// refusedCall notes a call that has no use for a command in a workspace.
func (r *request) refusedCall() verdict {
	return r.refuse(Refusal{Kind: System, Detail: cmp.Or(names[uint32(r.nr)], "call "+strconv.Itoa(int(r.nr)))}, unix.EPERM)
}

// names are some of the refused calls that a person may have meant.
var names = map[uint32]string{
	unix.SYS_PTRACE: "ptrace", unix.SYS_MOUNT: "mount", unix.SYS_UMOUNT2: "umount", unix.SYS_CHROOT: "chroot", unix.SYS_UNSHARE: "namespaces", unix.SYS_CLONE: "namespaces",
	unix.SYS_SETNS: "namespaces", unix.SYS_PROCESS_VM_READV: "memory of another process", unix.SYS_PROCESS_VM_WRITEV: "memory of another process", unix.SYS_PIDFD_GETFD: "files of another process",
	unix.SYS_SHMGET: "shared memory", unix.SYS_SHMAT: "shared memory", unix.SYS_SEMGET: "semaphores", unix.SYS_MSGGET: "message queues", unix.SYS_MQ_OPEN: "message queues", unix.SYS_SYSLOG: "the kernel's log",
	unix.SYS_ADD_KEY: "keyrings", unix.SYS_REQUEST_KEY: "keyrings", unix.SYS_KEYCTL: "keyrings", unix.SYS_BPF: "bpf", unix.SYS_PERF_EVENT_OPEN: "performance counters",
	unix.SYS_SETHOSTNAME: "the host's name", unix.SYS_SETTIMEOFDAY: "the clock", unix.SYS_CLOCK_SETTIME: "the clock", unix.SYS_REBOOT: "reboot", unix.SYS_FCNTL: "signals of files",
}

// families name sockets to a person.
var families = map[uint64]string{unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6", unix.AF_UNIX: "UNIX socket", unix.AF_NETLINK: "netlink", unix.AF_PACKET: "raw packets"}

// socket judges by registers alone, so that the kernel may go on. A UNIX socket
// of streams is given although it cannot be connected: the C library makes one to
// ask for names of users, and gives up in silence if nobody answers.
func (r *request) socket() verdict {
	family, kind := r.args[0], r.args[1]&socketTypeMask
	inet := family == unix.AF_INET || family == unix.AF_INET6
	switch {
	case r.w.allowNet && inet && (kind == unix.SOCK_STREAM || kind == unix.SOCK_DGRAM),
		r.w.allowNet && family == unix.AF_NETLINK && r.args[2] == unix.NETLINK_ROUTE:
		return passed
	case family == unix.AF_UNIX && kind == unix.SOCK_STREAM && (r.w.allowNet || r.w.watches):
		return verdict{errno: unix.EPERM}
	case family == unix.AF_UNIX && kind == unix.SOCK_STREAM:
		return passed
	}
	return r.refuse(Refusal{Kind: Network, Address: cmp.Or(families[family], "socket family "+strconv.FormatUint(family, 10))}, unix.EPERM)
}

// nameServices are asked by the C library for names of users and hosts.
var nameServices = []string{"/var/run/nscd/*", "/run/nscd/*", "/run/systemd/userdb/*", "/var/lib/sss/pipes/*"}

// connected refuses to connect or bind a socket.
func (r *request) connected() verdict {
	f := Refusal{Kind: Network, Address: families[unix.AF_UNIX]}
	if n := r.args[2]; (r.nr == unix.SYS_CONNECT || r.nr == unix.SYS_BIND) && n > 2 && n <= 110 {
		address := make([]byte, n)
		got, err := unix.ProcessVMReadv(int(r.pid), []unix.Iovec{{Base: &address[0], Len: n}}, []unix.RemoteIovec{{Base: uintptr(r.args[1]), Len: int(n)}}, 0)
		if err == nil && got == int(n) && address[0] == unix.AF_UNIX {
			name, _, _ := strings.Cut(string(address[2:]), "\x00")
			if address[2] == 0 {
				name = "@" + strings.TrimRight(string(address[3:]), "\x00")
			}
			for _, service := range nameServices {
				if ok, _ := path.Match(service, name); ok {
					return verdict{errno: unix.ENOENT}
				}
			}
			f.Address = "unix:" + name
		}
	}
	return r.refuse(f, unix.EPERM)
}

// signalled judges a signal. Landlock decides in the end, where it can.
func (r *request) signalled(pid, signal int) verdict {
	if r.w.watches && !scoped() || pid == 0 || pid > 0 && (isDescendant(pid) || unix.Kill(pid, 0) == unix.ESRCH) {
		return passed
	}
	if pid < -1 {
		members := groupMembers(-pid)
		if !slices.ContainsFunc(members, func(pid int) bool { return !isDescendant(pid) }) {
			return passed
		}
	}
	what := processName(pid)
	if pid == -1 {
		what = "all processes"
	}
	return r.refuse(Refusal{Kind: Signal, Detail: fmt.Sprintf("%s to %s", cmp.Or(strings.TrimPrefix(unix.SignalName(unix.Signal(signal)), "SIG"), strconv.Itoa(signal)), what)}, unix.EPERM)
}

// signalledByFD judges a signal to a process that a descriptor names.
func (r *request) signalledByFD() verdict {
	info, err := os.ReadFile(r.proc("fdinfo/" + strconv.Itoa(int(int32(r.args[0])))))
	if err != nil {
		return verdict{errno: unix.EBADF}
	}
	pid := numberIn(info, "Pid")
	if pid <= 0 {
		return verdict{errno: unix.EBADF}
	}
	return r.signalled(pid, int(r.args[1]))
}

// isDescendant reports whether a process or thread descends from this one.
func isDescendant(pid int) bool {
	for self := unix.Getpid(); pid > 1; {
		p, ok := processOf(strconv.Itoa(pid))
		if !ok {
			return false
		}
		if pid = p.parent; pid == self {
			return true
		}
	}
	return false
}

// processName names a process to a person.
func processName(pid int) string {
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", max(pid, -pid)))
	if name := strings.TrimSpace(string(comm)); name != "" {
		return fmt.Sprintf("process %d (%s)", pid, name)
	}
	return fmt.Sprintf("process %d", pid)
}
