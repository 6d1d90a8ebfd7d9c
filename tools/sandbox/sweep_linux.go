package sandbox

import (
	"bytes"
	"os"
	"strconv"
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
		for _, pid := range descendants(unix.Getpid()) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
	}
}

// descendants are the processes that descend from one, parents before children.
func descendants(of int) []int {
	children := map[int][]int{}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(name); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for next := []int{of}; len(next) > 0; next = next[1:] {
		found = append(found, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return found
}

// parentOf reads the parent of a living process: the second word behind its
// name, which stands in parentheses and may hold some itself (proc_pid_stat(5)).
func parentOf(pid string) (parent int, ok bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 || fields[0][0] == 'X' {
		return 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
