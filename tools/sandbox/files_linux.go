package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	abi "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// open judges the opening of a file. Files are opened for reading here and
// handed over: what was judged is what is read, whatever the command writes over
// the path meanwhile. Writing goes on in the kernel, where Landlock decides.
func (r *request) open(dir, path, flags int, mode uint32) verdict {
	if flags&unix.O_PATH != 0 {
		return passed // it neither reads nor writes
	}
	name, err := r.text(path)
	if err != nil {
		return fails(err)
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return verdict{errno: unix.EOPNOTSUPP} // it would not be seen by the quota
	}
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	follow := uint64(flags) & unix.O_NOFOLLOW
	s, err := r.find(dir, name, follow)
	switch {
	case err == unix.ENOENT && flags&unix.O_CREAT != 0:
		return r.create(dir, name, flags, mode, writes)
	case err == unix.ELOOP && follow == 0:
		return r.refuse(Refusal{Kind: Read, Path: name}, unix.EACCES) // a link to a descriptor, or a circle
	case err != nil:
		return fails(err)
	}
	defer s.close()
	switch {
	case !filepath.IsAbs(s.path) && writes: // a pipe or the like, which it has already
		return passed
	case !filepath.IsAbs(s.path):
		return r.hand(s, flags)
	case writes && r.w.allows(s.path, abi.AccessFSWriteFile):
		return passed
	case s.path == "/dev/tty":
		return verdict{errno: unix.ENXIO} // there is none
	case writes:
		return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
	case flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0:
		return verdict{errno: unix.EEXIST}
	}
	return r.read(s, flags)
}

// create judges the opening of a file that does not exist.
func (r *request) create(dir int, name string, flags int, mode uint32, writes bool) verdict {
	s, err := r.entry(dir, name)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	switch {
	case !r.w.allows(s.path, abi.AccessFSMakeReg):
		return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
	case writes:
		return passed
	}
	fd, err := unix.Openat(s.fd, s.base, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode&0o700)
	if err != nil {
		return fails(err)
	}
	return verdict{fd: fd, flags: uint32(flags) & unix.O_CLOEXEC}
}

// read opens a file for reading, if the policy allows that.
func (r *request) read(s spot, flags int) verdict {
	var stat unix.Stat_t
	if err := unix.Fstat(s.fd, &stat); err != nil {
		return fails(err)
	}
	right := uint64(abi.AccessFSReadFile)
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return verdict{errno: unix.ELOOP}
	case unix.S_IFDIR:
		right = abi.AccessFSReadDir
	}
	switch {
	case s.path == "/" && right == abi.AccessFSReadDir: // find and xargs open it, and the names are no secret
	case strings.HasPrefix(s.path, "/proc/") && r.mine(s.path):
	case !r.w.allows(s.path, right):
		return r.refuse(Refusal{Kind: Read, Path: s.path}, unix.EACCES)
	case stat.Mode&unix.S_IFMT == unix.S_IFBLK, stat.Mode&unix.S_IFMT == unix.S_IFCHR && !strings.HasPrefix(s.path, "/dev/"): // a disk, in a directory that is another system's
		return r.refuse(Refusal{Kind: Read, Path: s.path}, unix.EACCES)
	case right == abi.AccessFSReadFile && r.w.secret(s):
		return r.refuse(Refusal{Kind: Secret, Path: s.path}, unix.EACCES)
	}
	return r.hand(s, flags)
}

// hand opens a file and hands it over. A FIFO without a writer must not stop the
// supervisor.
func (r *request) hand(s spot, flags int) verdict {
	const dropped = unix.O_NOFOLLOW | unix.O_CREAT | unix.O_EXCL
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(s.fd), flags&^dropped|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fails(err)
	}
	if flags&unix.O_NONBLOCK == 0 {
		if now, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, now&^unix.O_NONBLOCK)
		}
	}
	return verdict{fd: fd, flags: uint32(flags) & unix.O_CLOEXEC}
}

// ownFiles are files and directories below a process's own directory in /proc
// that tell about itself. Its environment is not among them, since a thread of
// another one may be behind the name by the time it is read.
var ownFiles = []string{"auxv", "cgroup", "cmdline", "comm", "fd", "limits", "maps", "mountinfo", "mounts", "stat", "statm", "status", "task", "oom_score_adj"}

// mine reports whether a path below /proc is about the process that asks.
func (r *request) mine(path string) bool {
	pid, name, _ := strings.Cut(strings.TrimPrefix(path, "/proc/"), "/")
	if pid != strconv.Itoa(r.process()) && pid != strconv.Itoa(int(r.pid)) {
		return false
	}
	return slices.Contains(ownFiles, name)
}

// changed judges a change of the entry of a directory.
func (r *request) changed(dir, path int, right uint64, mustExist bool) verdict {
	name, err := r.text(path)
	if err != nil {
		return fails(err)
	}
	s, err := r.entry(dir, name)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	if s.exists != mustExist || r.w.allows(s.path, right) {
		return passed // the kernel knows which error it is
	}
	return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
}

func (r *request) removed(dir, path int) verdict {
	return r.changed(dir, path, abi.AccessFSRemoveFile, true)
}

// node judges mknod and mkfifo. A FIFO would stop whoever opens it.
func (r *request) node(dir, path int, mode uint64) verdict {
	if kind := mode & unix.S_IFMT; kind != 0 && kind != unix.S_IFREG {
		return r.changed(dir, path, abi.AccessFSMakeFifo, false)
	}
	return r.made(dir, path)
}

func (r *request) made(dir, path int) verdict {
	return r.changed(dir, path, abi.AccessFSMakeReg, false)
}

// renamed judges both names.
func (r *request) renamed(dir, from, toDir, to int) verdict {
	if v := r.changed(dir, from, abi.AccessFSRemoveFile, true); !v.pass {
		return v
	}
	name, err := r.text(to)
	if err != nil {
		return fails(err)
	}
	s, err := r.entry(toDir, name)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	if !r.w.allows(s.path, abi.AccessFSMakeReg) {
		return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
	}
	return passed
}

// truncated judges truncate.
func (r *request) truncated() verdict {
	name, err := r.text(0)
	if err != nil {
		return fails(err)
	}
	s, err := r.find(unix.AT_FDCWD, name, 0)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	if !r.w.allows(s.path, abi.AccessFSTruncate) {
		return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
	}
	return passed
}

// executed judges the start of a program. Landlock decides in the end.
func (r *request) executed(dir, path int, flags uint64) verdict {
	name, err := r.text(path)
	if err != nil {
		return fails(err)
	}
	if name == "" && flags&unix.AT_EMPTY_PATH != 0 {
		name = "/dev/fd/" + strconv.Itoa(dir)
	}
	s, err := r.find(dir, name, 0)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	var stat unix.Stat_t
	if err := unix.Fstat(s.fd, &stat); err != nil {
		return fails(err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Mode&0o111 == 0 || r.w.allows(s.path, abi.AccessFSExecute) {
		return passed
	}
	if r.w.foundFurther(name) {
		return verdict{errno: unix.EACCES}
	}
	return r.refuse(Refusal{Kind: Execute, Path: s.path}, unix.EACCES)
}

// foundFurther reports whether a program that was looked for in a directory of
// PATH is also in a later one, from where it may be started. A shell goes on to
// that one, so that the first is no loss.
func (w *warden) foundFurther(name string) bool {
	i := slices.Index(w.strict.Lookup, filepath.Dir(name))
	return i >= 0 && slices.ContainsFunc(w.strict.Lookup[i+1:], func(dir string) bool {
		path := resolved(filepath.Join(dir, filepath.Base(name)))
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && w.allows(path, abi.AccessFSExecute)
	})
}
