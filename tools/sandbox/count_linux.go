package sandbox

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// counting is how often processes, memory and temporary space are measured.
// Forks are not judged one by one: a call that waits for a verdict can fail
// because of a signal, and programs do not expect that of fork.
const counting = 100 * time.Millisecond

// watch counts what the command uses until done is closed. If it is too much it
// reports the limit, once. Counting takes at most a twentieth of the time.
func (q quota) watch(done <-chan struct{}, exceeded func(limit string)) {
	for pause := counting; ; {
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		if over := q.exceeded(); over != "" {
			exceeded(over)
			return
		}
		pause = max(counting, 20*time.Since(began))
	}
}

// exceeded names the limit that the command is over, or "".
func (q quota) exceeded() string {
	all := descendants(unix.Getpid())
	tasks, resident := 0, uint64(0)
	for _, p := range all {
		tasks += p.threads
		resident += p.resident
	}
	if q.Tasks > 0 && tasks > q.Tasks {
		return fmt.Sprintf("%d processes and threads", q.Tasks)
	}
	if q.Memory > 0 && resident > q.Memory { // with what they share: look again
		resident = 0
		for _, p := range all {
			resident += p.used()
		}
		if resident > q.Memory {
			return fmt.Sprintf("%d MiB of memory", q.Memory>>20)
		}
	}
	switch bytes, files := q.usage(all); {
	case bytes > q.Bytes:
		return fmt.Sprintf("%d MiB of temporary space", q.Bytes>>20)
	case files > q.Files:
		return fmt.Sprintf("%d temporary files", q.Files)
	}
	return ""
}

// usage is what the temporary files take, and how many there are, with those that
// were removed and are still open.
func (q quota) usage(open []process) (bytes int64, files int) {
	_ = filepath.WalkDir(q.Temp, func(_ string, d fs.DirEntry, err error) error {
		if files++; files > q.Files {
			return fs.SkipAll
		}
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += allocated(info)
			}
		}
		return nil
	})
	const gone = " (deleted)"
	for _, p := range open {
		fds := fmt.Sprintf("/proc/%d/fd", p.pid)
		names, _ := os.ReadDir(fds)
		for _, name := range names {
			link := filepath.Join(fds, name.Name())
			if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, q.Temp+"/") && strings.HasSuffix(target, gone) {
				if info, err := os.Stat(link); err == nil {
					bytes += allocated(info)
				}
			}
		}
	}
	return bytes, files
}

func allocated(info fs.FileInfo) int64 {
	const block = 512
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * block
	}
	return info.Size()
}

// process is the content of /proc/PID/stat of a living process (proc_pid_stat(5)).
type process struct {
	pid, parent, group, threads int
	resident                    uint64 // bytes
}

// used is memory that a process has for itself or shares without a file.
func (p process) used() uint64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	return uint64(numberIn(status, "RssAnon")+numberIn(status, "RssShmem")) << 10
}

// numberIn is the number of a line of a file below /proc, such as "Tgid:\t1"; 0 if
// there is none.
func numberIn(file []byte, name string) int {
	_, rest, _ := bytes.Cut(file, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	number, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ") // a unit may follow
	n, _ := strconv.Atoi(number)
	return n
}

// processOf reads the process, or thread, of a number. Its name is in
// parentheses and may contain some itself.
func processOf(pid string) (p process, ok bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return p, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const parent, group, threads, resident = 1, 2, 17, 21
	if len(fields) <= resident || fields[0][0] == 'X' {
		return p, false
	}
	number := func(field int) int {
		n, _ := strconv.Atoi(string(fields[field]))
		return n
	}
	p.pid, _ = strconv.Atoi(pid)
	p.parent, p.group, p.threads = number(parent), number(group), number(threads)
	p.resident = uint64(number(resident)) * uint64(os.Getpagesize())
	return p, true
}

// processes are all that there are.
func processes() (all []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if p, ok := processOf(name); ok {
			all = append(all, p)
		}
	}
	return all
}

// descendants are the processes that descend from one, parents before children.
func descendants(of int) (found []process) {
	children := map[int][]process{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	for next := []process{{pid: of}}; len(next) > 0; next = next[1:] {
		found = append(found, children[next[0].pid]...)
		next = append(next, children[next[0].pid]...)
	}
	return found
}

// groupMembers are the processes of a group.
func groupMembers(group int) (members []int) {
	for _, p := range processes() {
		if p.group == group {
			members = append(members, p.pid)
		}
	}
	return members
}
