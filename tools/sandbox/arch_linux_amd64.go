package sandbox

import "golang.org/x/sys/unix"

// auditArch is how the kernel calls this processor's native system calls.
const auditArch = unix.AUDIT_ARCH_X86_64

// archCalls are the calls that newer processors have only in the forms that take
// a directory.
var archCalls = []call{
	{unix.SYS_OPEN, func(r *request) verdict { return r.open(unix.AT_FDCWD, 0, int(r.args[1]), uint32(r.args[2])) }},
	{unix.SYS_CREAT, func(r *request) verdict {
		return r.open(unix.AT_FDCWD, 0, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(r.args[1]))
	}},
	{unix.SYS_UNLINK, func(r *request) verdict { return r.removed(unix.AT_FDCWD, 0) }},
	{unix.SYS_RMDIR, func(r *request) verdict { return r.removed(unix.AT_FDCWD, 0) }},
	{unix.SYS_RENAME, func(r *request) verdict { return r.renamed(unix.AT_FDCWD, 0, unix.AT_FDCWD, 1) }},
	{unix.SYS_RENAMEAT, func(r *request) verdict { return r.renamed(r.dirFD(0), 1, r.dirFD(2), 3) }},
	{unix.SYS_MKDIR, func(r *request) verdict { return r.made(unix.AT_FDCWD, 0) }},
	{unix.SYS_MKNOD, func(r *request) verdict { return r.node(unix.AT_FDCWD, 0, r.args[1]) }},
	{unix.SYS_SYMLINK, func(r *request) verdict { return r.made(unix.AT_FDCWD, 1) }},
}

var archMetadata = []metadataCall{
	{unix.SYS_CHMOD, "mode", atCwd, 0}, {unix.SYS_CHOWN, "owner", atCwd, 0}, {unix.SYS_LCHOWN, "owner", atCwd, 0},
	{unix.SYS_UTIME, "times", atCwd, 0}, {unix.SYS_UTIMES, "times", atCwd, 0}, {unix.SYS_FUTIMESAT, "times", 0, 1},
	{unix.SYS_LINK, "another name", atCwd, 0},
}

var archAbsent = []uint32{unix.SYS_INOTIFY_INIT}
