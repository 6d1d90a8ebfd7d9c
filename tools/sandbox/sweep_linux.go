package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// Pauses between looks at who is left: short at first, since most processes die
// at once, and longer for those that hang in the kernel.
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// sweep kills all descendants of this process, again and again, until done is
// closed: a process may start another while they are counted. Who is found
// starts no more, so that it ends even with those that multiply.
func sweep(done <-chan struct{}) {
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
