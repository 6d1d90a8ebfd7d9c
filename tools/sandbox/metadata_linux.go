package sandbox

import (
	"encoding/binary"
	"path/filepath"
	"strconv"

	abi "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// metadataCall is a call that changes what belongs to a file but is not in it:
// what it changes, and the arguments that name the file. The path -1 is for
// calls that have only a descriptor.
type metadataCall struct {
	nr   uint32
	what string
	dir  int
	path int
}

// metadata are calls that Landlock does not know. The kernel would read the path
// once more, and find another one there, so that none goes on: the supervisor does
// itself what is allowed.
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
func (r *request) subject(m metadataCall) (spot, error) {
	name := ""
	if m.path >= 0 && r.args[m.path] != 0 {
		var err error
		if name, err = r.text(m.path); err != nil {
			return spot{}, err
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
