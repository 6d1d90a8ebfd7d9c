package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// request is a system call that waits for a verdict.
type request struct {
	notification
	w *warden
}

// atCwd is, in the table of calls, the place of a directory that a call does
// not have.
const atCwd = -1

// dirFD is an argument that names a directory.
func (r *request) dirFD(arg int) int {
	if arg == atCwd {
		return unix.AT_FDCWD
	}
	return int(int32(r.args[arg]))
}

// text reads a string of the process that asks. What it reads may be another
// string a moment later: only what is decided without the kernel reading it again
// is decided for sure.
func (r *request) text(arg int) (string, error) {
	const page = 4096
	address, buf := uintptr(r.args[arg]), make([]byte, 0, 256)
	for chunk := min(256, page-int(address%page)); len(buf) < unix.PathMax; chunk = min(page-int(address%page), unix.PathMax) {
		piece := make([]byte, chunk)
		n, err := unix.ProcessVMReadv(int(r.pid), []unix.Iovec{{Base: &piece[0], Len: uint64(chunk)}}, []unix.RemoteIovec{{Base: address, Len: chunk}}, 0)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(piece[:n], 0); end >= 0 {
			return string(append(buf, piece[:end]...)), nil
		}
		buf, address = append(buf, piece[:n]...), address+uintptr(n)
	}
	return "", unix.ENAMETOOLONG
}

// proc is a file of the process that asks below /proc.
func (r *request) proc(name string) string { return "/proc/" + strconv.Itoa(int(r.pid)) + "/" + name }

// program is what the kernel calls the process.
func (r *request) program() string {
	name, _ := os.ReadFile(r.proc("comm"))
	return strings.TrimSpace(string(name))
}

// process is the process that the thread belongs to.
func (r *request) process() int {
	status, _ := os.ReadFile(r.proc("status"))
	return numberIn(status, "Tgid")
}

// location is where a path of a request leads to.
type location struct {
	fd     int    // of the file, or of the directory that it would be in; it allows nothing
	path   string // absolute, without links
	base   string // the name in the directory, if the file does not exist or is not to be followed
	exists bool
}

func (s location) close() { unix.Close(s.fd) }

// find follows a path as the kernel would for this process, but for links of
// /proc, which would be those of the supervisor.
func (r *request) find(dir int, path string, flags uint64) (location, error) {
	how := unix.OpenHow{Flags: flags | unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if link := r.descriptor(path); link != "" {
		path, how.Resolve = link, 0
	} else {
		path = r.own(path)
	}
	at, err := r.at(dir, path)
	if err != nil {
		return location{}, err
	}
	if at != unix.AT_FDCWD {
		defer unix.Close(at)
	}
	fd, err := unix.Openat2(at, path, &how)
	if err != nil {
		return location{}, err
	}
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		unix.Close(fd)
		return location{}, unix.EACCES
	}
	return location{fd: fd, path: real, exists: true}, nil
}

// at opens the directory that a relative path starts from.
func (r *request) at(dir int, path string) (int, error) {
	switch {
	case path == "":
		return 0, unix.ENOENT
	case path[0] == '/':
		return unix.AT_FDCWD, nil
	case dir == unix.AT_FDCWD:
		return unix.Open(r.proc("cwd"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	return unix.Open(r.proc("fd/"+strconv.Itoa(dir)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// entry finds the entry of a directory that a path names, whether it exists or
// not. The last name is not followed.
func (r *request) entry(dir int, path string) (location, error) {
	trimmed := strings.TrimRight(path, "/")
	parent, base := filepath.Split(trimmed)
	if path == "" {
		return location{}, unix.ENOENT
	}
	if base == "" || base == "." || base == ".." {
		s, err := r.find(dir, path, unix.O_DIRECTORY)
		return s, err
	}
	if parent == "" {
		parent = "."
	}
	s, err := r.find(dir, parent, unix.O_DIRECTORY)
	if err != nil {
		return location{}, err
	}
	var stat unix.Stat_t
	s.exists = unix.Fstatat(s.fd, base, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil
	s.path, s.base = filepath.Join(s.path, base), base
	return s, nil
}

// own turns a path below the process's own directory in /proc into one that
// means the same to the supervisor.
func (r *request) own(path string) string {
	for _, prefix := range []string{"/proc/self", "/proc/thread-self"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return "/proc/" + strconv.Itoa(r.process()) + rest
		}
	}
	return path
}

// descriptor is the link for a path that names a descriptor of the process, such
// as /dev/stdin or /proc/self/fd/3; "" if it is another path.
func (r *request) descriptor(path string) string {
	switch path {
	case "/dev/stdin":
		path = "/dev/fd/0"
	case "/dev/stdout":
		path = "/dev/fd/1"
	case "/dev/stderr":
		path = "/dev/fd/2"
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/", r.proc("fd/")} {
		if n, found := strings.CutPrefix(path, dir); found {
			if _, err := strconv.ParseUint(n, 10, 31); err == nil {
				return r.proc("fd/" + n)
			}
		}
	}
	return ""
}
