package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	abi "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// open judges the opening of a file. Files are opened for reading here and
// handed over: what was judged is what is read, whatever the command writes
// over the path meanwhile. Writing continues in the kernel, where Landlock
// decides.
func (r *request) open(dir, path, flags int, mode uint32) verdict {
	if flags&unix.O_PATH != 0 {
		return passed // it neither reads nor writes
	}
	name, err := r.text(path)
	if err != nil {
		return fails(err)
	}
	if r.w.watches {
		r.watchOpen(dir, name, flags)
		return passed
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
		return r.openFor(s, flags)
	case writes && r.w.allows(s.path, abi.AccessFSWriteFile):
		return passed
	case s.path == "/dev/tty":
		return verdict{errno: unix.ENXIO} // a command has no terminal
	case writes:
		return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
	case flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0:
		return verdict{errno: unix.EEXIST}
	}
	return r.read(s, flags)
}

// watchOpen notes that the rules do not let a file be opened that the user could open.
// The list of / is not noted, see read.
func (r *request) watchOpen(dir int, name string, flags int) {
	kind, right, access := Read, uint64(abi.AccessFSReadFile), uint32(unix.R_OK)
	if flags&unix.O_ACCMODE != unix.O_RDONLY {
		kind, right, access = Write, abi.AccessFSWriteFile, unix.W_OK
	}
	s, err := r.find(dir, name, uint64(flags)&unix.O_NOFOLLOW)
	if err == unix.ENOENT && flags&unix.O_CREAT != 0 {
		kind, right, access = Write, abi.AccessFSMakeReg, unix.W_OK
		s, err = r.entry(dir, name)
	}
	if err != nil {
		return
	}
	defer s.close()
	var stat unix.Stat_t
	if s.base == "" && unix.Fstat(s.fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		right = abi.AccessFSReadDir
	}
	if filepath.IsAbs(s.path) && s.path != "/" && s.path != "/dev/tty" && !r.w.allows(s.path, right) &&
		unix.Access("/proc/self/fd/"+strconv.Itoa(s.fd), access) == nil {
		r.refuse(Refusal{Kind: kind, Path: s.path}, unix.EACCES)
	}
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
func (r *request) read(s location, flags int) verdict {
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
	case strings.HasPrefix(s.path, "/proc/") && r.ownFile(s.path):
	case !r.w.allows(s.path, right):
		return r.refuse(Refusal{Kind: Read, Path: s.path}, unix.EACCES)
	case stat.Mode&unix.S_IFMT == unix.S_IFBLK, stat.Mode&unix.S_IFMT == unix.S_IFCHR && !strings.HasPrefix(s.path, "/dev/"): // a disk, in a directory that is another system's
		return r.refuse(Refusal{Kind: Read, Path: s.path}, unix.EACCES)
	case right == abi.AccessFSReadFile && r.w.secret(s):
		return r.refuse(Refusal{Kind: Secret, Path: s.path}, unix.EACCES)
	}
	return r.openFor(s, flags)
}

// openFor opens a file for the process and passes the descriptor. A FIFO without a writer must not stop the
// supervisor.
func (r *request) openFor(s location, flags int) verdict {
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
// about the process itself. Its environment is not among them, since the name may
// mean a thread of another process by the time it is read.
var ownFiles = []string{"auxv", "cgroup", "cmdline", "comm", "fd", "limits", "maps", "mountinfo", "mounts", "stat", "statm", "status", "task", "oom_score_adj"}

// ownFile reports whether a path below /proc is about the calling process itself.
func (r *request) ownFile(path string) bool {
	pid, name, _ := strings.Cut(strings.TrimPrefix(path, "/proc/"), "/")
	if pid != strconv.Itoa(r.process()) && pid != strconv.Itoa(int(r.pid)) {
		return false
	}
	return slices.Contains(ownFiles, name)
}

// What an entry must be so that a change of it can succeed.
func existing(s location) bool     { return s.exists }
func missingEntry(s location) bool { return !s.exists }
func anyEntry(location) bool       { return true }

// changed judges a change of the entry of a directory.
func (r *request) changed(dir, path int, right uint64, applies func(location) bool) verdict {
	name, err := r.text(path)
	if err != nil {
		return fails(err)
	}
	s, err := r.entry(dir, name)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	if !applies(s) || r.w.allows(s.path, right) {
		return passed // the kernel knows which error it is
	}
	return r.refuse(Refusal{Kind: Write, Path: s.path}, unix.EACCES)
}

func (r *request) removed(dir, path int) verdict {
	return r.changed(dir, path, abi.AccessFSRemoveFile, existing)
}

// node judges mknod and mkfifo. A FIFO would block a process that opens it.
func (r *request) node(dir, path int, mode uint64) verdict {
	if kind := mode & unix.S_IFMT; kind != 0 && kind != unix.S_IFREG {
		return r.changed(dir, path, abi.AccessFSMakeFifo, missingEntry)
	}
	return r.made(dir, path)
}

func (r *request) made(dir, path int) verdict {
	return r.changed(dir, path, abi.AccessFSMakeReg, missingEntry)
}

// renamed judges both names.
func (r *request) renamed(dir, from, toDir, to int) verdict {
	if v := r.changed(dir, from, abi.AccessFSRemoveFile, existing); !v.pass {
		return v
	}
	return r.changed(toDir, to, abi.AccessFSMakeReg, anyEntry)
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
	if r.w.foundLater(name) {
		return verdict{errno: unix.EACCES}
	}
	return r.refuse(Refusal{Kind: Execute, Path: s.path}, unix.EACCES)
}

// foundLater reports whether a program that was looked for in a directory of
// PATH is also in a later one, from where it may be started. A shell goes on to
// that one, so that the first is no loss.
func (w *warden) foundLater(name string) bool {
	i := slices.Index(w.strict.Lookup, filepath.Dir(name))
	return i >= 0 && slices.ContainsFunc(w.strict.Lookup[i+1:], func(dir string) bool {
		path := Real(filepath.Join(dir, filepath.Base(name)))
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && w.allows(path, abi.AccessFSExecute)
	})
}

// metadataCall is a call that changes what belongs to a file but is not in it:
// what it changes, and the arguments that name the file. The path -1 is for
// calls that have only a descriptor.
type metadataCall struct {
	nr   uint32
	what string
	dir  int
	path int
}

// metadata are calls that Landlock does not cover. The kernel would read the
// path once more, and might find another one, so none continues: the supervisor
// does itself what is allowed.
var metadata = append([]metadataCall{
	{unix.SYS_FCHMOD, "mode", 0, -1}, {unix.SYS_FCHMODAT, "mode", 0, 1}, {unix.SYS_FCHMODAT2, "mode", 0, 1},
	{unix.SYS_FCHOWN, "owner", 0, -1}, {unix.SYS_FCHOWNAT, "owner", 0, 1},
	{unix.SYS_UTIMENSAT, "times", 0, 1},
	{unix.SYS_SETXATTR, "attributes", atCwd, 0}, {unix.SYS_LSETXATTR, "attributes", atCwd, 0}, {unix.SYS_FSETXATTR, "attributes", 0, -1}, {unix.SYS_SETXATTRAT, "attributes", 0, 1},
	{unix.SYS_REMOVEXATTR, "attributes", atCwd, 0}, {unix.SYS_LREMOVEXATTR, "attributes", atCwd, 0}, {unix.SYS_FREMOVEXATTR, "attributes", 0, -1}, {unix.SYS_REMOVEXATTRAT, "attributes", 0, 1},
	{unix.SYS_FILE_SETATTR, "attributes", 0, 1}, {unix.SYS_IOCTL, "attributes", 0, -1},
	{unix.SYS_LINKAT, "another name", 0, 1},
}, archMetadata...)

// metadata judges a change of what belongs to a file. Mode and times change where
// the command can write; other changes are refused.
func (r *request) metadata(m metadataCall) verdict {
	f := Refusal{Kind: Metadata, Detail: m.what}
	s, err := r.subject(m)
	if err != nil {
		return fails(err)
	}
	defer s.close()
	if f.Path = s.path; !filepath.IsAbs(s.path) || !r.w.allows(s.path, abi.AccessFSMakeReg) { // /dev/null can be written, and is everybody's
		return r.refuse(f, unix.EPERM)
	}
	file := "/proc/self/fd/" + strconv.Itoa(s.fd)
	rest := r.args[m.path+1:]
	if m.path < 0 {
		rest = r.args[1:]
	}
	switch {
	case m.what == "attributes":
		return verdict{errno: unix.EOPNOTSUPP} // as if there were none, and programs that copy them go on
	case m.what == "mode":
		const special = unix.S_ISUID | unix.S_ISGID
		return done(unix.Chmod(file, uint32(rest[0])&0o7777&^special))
	case r.nr == unix.SYS_UTIMENSAT:
		times, err := r.times(rest[0])
		if err != nil {
			return fails(err)
		}
		return done(unix.UtimesNanoAt(unix.AT_FDCWD, file, times, 0))
	case m.what == "owner":
		var stat unix.Stat_t
		const same = 1<<32 - 1
		if unix.Fstat(s.fd, &stat) == nil && (uint32(rest[0]) == same || uint32(rest[0]) == stat.Uid) && (uint32(rest[1]) == same || uint32(rest[1]) == stat.Gid) {
			return verdict{} // as it is
		}
	}
	return r.refuse(f, unix.EPERM)
}

func done(err error) verdict {
	if err != nil {
		return fails(err)
	}
	return verdict{}
}

// subject is the file that a call is about.
func (r *request) subject(m metadataCall) (location, error) {
	name := ""
	if m.path >= 0 && r.args[m.path] != 0 {
		var err error
		if name, err = r.text(m.path); err != nil {
			return location{}, err
		}
	}
	if name == "" {
		return r.find(unix.AT_FDCWD, "/dev/fd/"+strconv.Itoa(r.dirFD(m.dir)), 0)
	}
	return r.find(r.dirFD(m.dir), name, 0)
}

// times are what utimensat was given, nil for now.
func (r *request) times(address uint64) ([]unix.Timespec, error) {
	if address == 0 {
		return nil, nil
	}
	const size = 2 * 16 // struct timespec, on the processors that auditArch knows
	raw := make([]byte, size)
	if n, err := unix.ProcessVMReadv(int(r.pid), []unix.Iovec{{Base: &raw[0], Len: size}}, []unix.RemoteIovec{{Base: uintptr(address), Len: size}}, 0); err != nil || n != size {
		return nil, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
	return []unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}, nil
}
