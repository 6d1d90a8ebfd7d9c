package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A copy of this program named probe tries one thing that the sandbox should
// prevent, and exits with 0 if it succeeded.
func init() {
	if filepath.Base(os.Args[0]) != "probe" || len(os.Args) < 2 {
		return
	}
	try, ok := probes[os.Args[1]]
	if !ok {
		fmt.Println("there is no probe", os.Args[1])
		os.Exit(2)
	}
	if err := try(append(os.Args[2:], "", "", "")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

var probes = map[string]func(args []string) error{
	"write":    func(a []string) error { return os.WriteFile(a[0], []byte("changed"), 0o600) },
	"truncate": func(a []string) error { return syscall.Truncate(a[0], 0) },
	"dial":     func(a []string) error { return dial(a[0], a[1]) },
	"socket": func(a []string) error {
		_, err := unix.Socket(number(a[0]), number(a[1]), number(a[2]))
		return err
	},
	"pair":     func([]string) error { return pair(unix.SOCK_STREAM) },
	"datagram": datagram,
	"ptrace": func(a []string) error {
		pid := number(a[0])
		if err := unix.PtraceSeize(pid); err != nil {
			return err
		}
		return nil
	},
	"vmread": func(a []string) error {
		var b [1]byte
		local := []unix.Iovec{{Base: &b[0], Len: 1}}
		remote := []unix.RemoteIovec{{Base: 0, Len: 1}}
		_, err := unix.ProcessVMReadv(number(a[0]), local, remote, 0)
		if errors.Is(err, unix.EFAULT) {
			return nil // allowed to look, and nothing is there
		}
		return err
	},
	"mem":    func(a []string) error { return openOnly("/proc/"+a[0]+"/mem", os.O_RDWR) },
	"memfd":  memfd,
	"kill":   func(a []string) error { return syscall.Kill(number(a[0]), 0) },
	"limits": func(a []string) error { return sameLimits(number(a[0])) },
	"unshare": func([]string) error {
		return unix.Unshare(unix.CLONE_NEWUSER)
	},
	"uring": func([]string) error {
		var params [120]byte // struct io_uring_params
		_, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		return nonzero(e)
	},
	"keyring": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	},
	"shm": func([]string) error {
		_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		return err
	},
	"mount":  func([]string) error { return unix.Mount("none", "/mnt", "tmpfs", 0, "") },
	"chown":  func(a []string) error { return os.Chown(a[0], 1, 1) },
	"mknod":  func(a []string) error { return unix.Mknod(a[0], unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
	"setuid": func([]string) error { return syscall.Setuid(1) },
	"x32": func([]string) error {
		unix.RawSyscall(unix.SYS_GETPID|0x40000000, 0, 0, 0)
		return nil
	},
	"type": func([]string) error {
		c := byte('x')
		_, _, e := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		return nonzero(e)
	},
	// the same, with a request whose high half the kernel does not look at
	"type2": func([]string) error {
		c := byte('x')
		_, _, e := unix.Syscall(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		return nonzero(e)
	},
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func nonzero(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func openOnly(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// dial connects and sends a word, which the peer confirms on a stream.
func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("hello"))
	return err
}

func pair(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fds[0], []byte("x")); err != nil {
		return err
	}
	_, err = unix.Read(fds[1], make([]byte, 1))
	return err
}

// datagram sends to a UNIX socket without a call of socket.
func datagram(a []string) error {
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK} {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			continue
		}
		if unix.Sendto(fds[0], []byte("hello"), 0, &unix.SockaddrUnix{Name: a[0]}) == nil {
			return nil
		}
	}
	return errors.New("no pair of datagram sockets sends anywhere")
}

// memfd runs another probe from a file without a path.
func memfd(a []string) error {
	fd, err := unix.MemfdCreate("probe", 0)
	if err != nil {
		return err
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if _, err := os.NewFile(uintptr(fd), "memfd").Write(program); err != nil {
		return err
	}
	return syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), append([]string{"probe"}, a...), os.Environ())
}

func sameLimits(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &now, nil)
}
