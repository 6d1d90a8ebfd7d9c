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
// facts about the machine and processes. Landlock hides the /proc entries of other
// processes, except their command lines.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/home/linuxbrew/.linuxbrew", "/nix/store", "/gnu/store", "/snap", "/proc", "/sys"}

// settings is read in parts if this process could read more there than others.
const settings = "/etc"

// devices can be read; nothing can be done to the machine by them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// resolvers are where /etc/resolv.conf may point to.
var resolvers = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf"}

// devNull discards whatever is written to it.
const devNull = "/dev/null"

// Sets of rights. Making devices and sockets is in none. Refer lets files move
// between directories that have it, and only where that gives no more rights.
const (
	fileRead  = landlock.AccessFSSet(abi.AccessFSExecute | abi.AccessFSReadFile)
	dirRead   = fileRead | abi.AccessFSReadDir
	fileWrite = landlock.AccessFSSet(abi.AccessFSWriteFile | abi.AccessFSTruncate)
	dirWrite  = dirRead | fileWrite | abi.AccessFSRemoveDir | abi.AccessFSRemoveFile | abi.AccessFSMakeDir |
		abi.AccessFSMakeReg | abi.AccessFSMakeFifo | abi.AccessFSMakeSym | abi.AccessFSRefer
)

// rule gives rights to a file, or to a directory and all that is below it. The
// path has no links.
type rule struct {
	Path   string
	Rights landlock.AccessFSSet
}

// rules are the files of the bounds with their rights, as far as they exist.
func (b bounds) rules() ([]rule, error) {
	var rules []rule
	add := func(rights landlock.AccessFSSet, paths ...string) error {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			var info fs.FileInfo
			if err == nil {
				info, err = os.Stat(real)
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue // what this process cannot reach, the command cannot either
			}
			if err != nil {
				return err
			}
			r := rule{real, rights}
			if !info.IsDir() {
				r.Rights &= fileRead | fileWrite
			}
			rules = append(rules, r)
		}
		return nil
	}
	if b.Strict != nil {
		return rules, b.strictRules(add)
	}
	reads := slices.Concat(system, devices, b.Reads)
	if b.AllowNet {
		reads = append(reads, resolvers...)
	}
	if os.Geteuid() == 0 {
		public, _ := publicParts(settings)
		reads = append(reads, public...)
		if err := add(abi.AccessFSReadDir, settings); err != nil {
			return nil, err
		}
	} else {
		reads = append(reads, settings)
	}
	err := errors.Join(add(dirWrite, b.Writes...), add(fileRead|fileWrite, devNull), add(dirRead, reads...))
	return rules, err
}

// restrictFiles applies the rules about files, and the rest of what Landlock
// supports, to this process.
func restrictFiles(b bounds) error {
	config := landlock.V11
	if b.AllowNet {
		config = landlock.Config{HandledAccessFS: config.HandledAccessFS, Scoped: config.Scoped}
	}
	if b.Strict != nil && b.Strict.Signals {
		config.Scoped = 0 // the supervisor decides
	}
	rules := make([]landlock.Rule, 0, len(b.Rules))
	for _, r := range b.Rules {
		rules = append(rules, landlock.PathAccess(r.Rights, r.Path).IgnoreIfMissing())
	}
	// Best effort is about what a newer kernel knows: that this one knows
	// enough was checked before.
	return config.BestEffort().Restrict(rules...)
}

// publicParts are the files and directories at and below dir that everybody may
// read: dir itself if that is all of them. Root could read the rest as well,
// such as /etc/shadow, but a command does not need that.
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
