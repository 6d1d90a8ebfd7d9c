package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	abi "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// system are the directories of the system: programs, libraries, settings, and
// what programs ask about the machine and themselves. What /proc tells of other
// processes is kept from a command by Landlock, except how they were started.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/home/linuxbrew/.linuxbrew", "/nix/store", "/gnu/store", "/snap", "/proc", "/sys"}

// settings is read in parts if this process could read more there than others.
const settings = "/etc"

// devices can be read; nothing can be done to the machine by them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// resolvers are where /etc/resolv.conf may point to.
var resolvers = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf"}

// nothing takes whatever is written to it.
const nothing = "/dev/null"

// Sets of rights. Making devices and sockets is in none. Refer lets files move
// between directories that have it, and only where that gives no more rights.
const (
	fileRead  = landlock.AccessFSSet(abi.AccessFSExecute | abi.AccessFSReadFile)
	dirRead   = fileRead | abi.AccessFSReadDir
	fileWrite = landlock.AccessFSSet(abi.AccessFSWriteFile | abi.AccessFSTruncate)
	dirWrite  = dirRead | fileWrite | abi.AccessFSRemoveDir | abi.AccessFSRemoveFile | abi.AccessFSMakeDir |
		abi.AccessFSMakeReg | abi.AccessFSMakeFifo | abi.AccessFSMakeSym | abi.AccessFSRefer
)

// restrictFiles applies the rules about files, and the rest of what Landlock
// knows, to this process.
func restrictFiles(b bounds) error {
	config := landlock.V11
	if b.AllowNet {
		config = landlock.Config{HandledAccessFS: config.HandledAccessFS, Scoped: config.Scoped}
	}
	rules := []landlock.Rule{
		landlock.PathAccess(dirWrite, b.Writes...),
		landlock.PathAccess(fileRead|fileWrite, nothing),
	}
	reads := slices.Concat(system, devices, b.Reads)
	if b.AllowNet {
		reads = append(reads, resolvers...)
	}
	if os.Geteuid() == 0 {
		rules = append(rules, landlock.PathAccess(abi.AccessFSReadDir, settings).IgnoreIfMissing())
		public, _ := publicParts(settings)
		reads = append(reads, public...)
	} else {
		reads = append(reads, settings)
	}
	for _, path := range reads {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // what this process cannot reach, the command cannot either
		}
		if err != nil {
			return err
		}
		rights := fileRead
		if info.IsDir() {
			rights = dirRead
		}
		rules = append(rules, landlock.PathAccess(rights, path).IgnoreIfMissing())
	}
	// Best effort is about what a newer kernel knows: that this one knows
	// enough was checked before.
	return config.BestEffort().Restrict(rules...)
}

// publicParts are the files and directories at and below dir that everybody may
// read: dir itself if that is all of them. Root could read the rest as well,
// such as /etc/shadow, but that is no business of a command's.
func publicParts(dir string) (parts []string, all bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	all = true
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		switch {
		case err != nil || e.Type()&fs.ModeSymlink != 0: // a link's target counts
		case info.Mode()&0o004 == 0:
			all = false
		case e.IsDir():
			below, whole := publicParts(path)
			parts, all = append(parts, below...), all && whole
		case info.Mode().IsRegular():
			parts = append(parts, path)
		}
	}
	if all {
		return []string{dir}, true
	}
	return parts, false
}
