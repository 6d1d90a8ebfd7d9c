package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif (linux/seccomp.h).
type notification struct {
	id   uint64
	pid  uint32 // of the thread
	_    uint32 // flags
	nr   int32
	_    uint32 // architecture
	_    uint64 // instruction
	args [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32 // negative
	flags uint32
}

// addFD is struct seccomp_notif_addfd.
type addFD struct {
	id      uint64
	_       uint32 // flags
	src     uint32
	_       uint32 // the number that it gets
	fdFlags uint32
}

// installListening puts the filter on the calling thread, permanently, and sends
// the descriptor that its notifications come from through a socket. The runtime
// must not run in between: what it does on this thread may have to be answered
// already. So everything is prepared, and nothing but raw system calls is made.
func (f filter) installListening(socket int) error {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	var b byte
	data := unix.Iovec{Base: &b, Len: 1}
	control := unix.UnixRights(0)
	message := unix.Msghdr{Iov: &data, Iovlen: 1, Control: &control[0]}
	message.SetControllen(len(control))
	fd := (*int32)(unsafe.Pointer(&control[unix.CmsgLen(0)]))
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	n, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(pointer(&program)))
	if e != 0 {
		return fmt.Errorf("the system call filter cannot be installed: %w", e)
	}
	*fd = int32(n)
	_, _, e = unix.RawSyscall(unix.SYS_SENDMSG, uintptr(socket), uintptr(pointer(&message)), 0)
	runtime.KeepAlive(control)
	if e != 0 {
		return fmt.Errorf("the supervisor cannot receive refusals: %w", e)
	}
	return nil
}

// receive takes the listener that the stage sends.
func receive(socket *os.File) (listener int, err error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) == 0 {
		return -1, errors.Join(err, errors.New("no listener came"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, errors.Join(err, errors.New("no listener came"))
	}
	return fds[0], nil
}

// listen answers the notifications of the listener that the stage sends, until
// there are no more. Without one the stage reports why.
func (w *warden) listen(socket *os.File) {
	listener, err := receive(socket)
	socket.Close()
	if err != nil {
		return
	}
	w.listener = listener
	judges := w.judges()
	// What wakes the other side runs next on the same processor. Linux 6.6.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		var n notification
		switch err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, pointer(&n)); err {
		case nil:
			r := &request{notification: n, w: w}
			judge := judges[uint32(n.nr)]
			if judge == nil {
				judge = (*request).refusedCall
			}
			w.answer(r, judge(r))
		case unix.EINTR, unix.ENOENT: // the caller is gone
			if err == unix.ENOENT && w.over() {
				return
			}
		default:
			return
		}
	}
}

func (w *warden) over() bool {
	fds := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
}

// verdict is the answer to a request.
type verdict struct {
	errno syscall.Errno
	pass  bool // the kernel goes on with the call
	fd    int  // given instead of what the call would open, if it is more than 0
	flags uint32
}

var passed = verdict{pass: true}

func fails(errno error) verdict {
	if e, ok := errno.(syscall.Errno); ok && e != 0 {
		return verdict{errno: e}
	}
	return verdict{errno: unix.EACCES}
}

// answer sends a verdict. A descriptor is added first and then named in the
// answer: done in one step, a signal to this thread could part them, and the
// command would take descriptor 0 for the file that it opened.
func (w *warden) answer(r *request, v verdict) {
	resp := response{id: r.id}
	if v.fd > 0 {
		add := addFD{id: r.id, src: uint32(v.fd), fdFlags: v.flags}
		n, err := w.add(&add)
		unix.Close(v.fd)
		if err != nil { // it is gone, or has too many files
			v = fails(err)
		}
		resp.val = int64(n)
	}
	resp.errno = -int32(v.errno)
	if v.pass {
		resp.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	for ioctl(w.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, pointer(&resp)) == unix.EINTR {
	}
}

func (w *warden) add(fd *addFD) (n uintptr, err error) {
	for {
		n, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(pointer(fd)))
		switch e {
		case 0:
			return n, nil
		case unix.EINTR:
		default:
			return 0, e
		}
	}
}

// valid reports whether the process that asked still waits, so that what was
// read of it is its own.
func (r *request) valid() bool {
	return ioctl(r.w.listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, pointer(&r.id)) == nil
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); e != 0 {
		return e
	}
	return nil
}
