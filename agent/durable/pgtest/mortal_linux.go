package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Mortal is a server of a test's own, with one database, that can be killed: what it has
// confirmed is there when it is started again.
type Mortal struct{ *server }

// Start starts one, which is stopped when the test has ended. The test is skipped where there
// is no PostgreSQL.
func Start(t testing.TB) *Mortal {
	t.Helper()
	required(t)
	s, err := create()
	if s != nil {
		t.Cleanup(s.stop)
	}
	m := &Mortal{s}
	if err == nil {
		err = m.Restart()
	}
	if err == nil {
		err = s.role()
	}
	if err == nil {
		err = s.database("mortal")
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Address is that of the database, whose owner is Role.
func (m *Mortal) Address() string { return m.address(Role, "mortal") }

// Processes are those of the server: the one that began the others, and these.
func (m *Mortal) Processes() ([]int, error) {
	first := m.cmd.Process.Pid
	all, err := children(first)
	return append([]int{first}, all...), err
}

// Kill kills all processes of the server at once, and returns when they are gone. Each has
// a group of its own.
func (m *Mortal) Kill() error {
	all, err := m.Processes()
	if err != nil {
		return err
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
	<-m.done
	return nil
}

// Restart starts a server that was killed, and returns when it answers. What it writes goes
// to the system before it is confirmed, and survives the process, not the machine.
func (m *Mortal) Restart() error {
	for end := time.Now().Add(time.Minute); ; {
		err := m.launch("fsync=off")
		if err == nil || !strings.Contains(err.Error(), endedAtOnce) || time.Now().After(end) {
			return err
		} // one that was killed may not be gone yet
	}
}

// children are the processes that a process has begun, and has not waited for.
func children(pid int) (all []int, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return nil, err
			}
			all = append(all, child)
		}
	}
	return all, err
}
