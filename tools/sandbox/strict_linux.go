package sandbox

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	abi "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// programs are directories of the system's programs and libraries, and what
// belongs to them. /usr itself is not among them: /usr/local/etc holds settings.
var programs = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec",
	"/usr/share", "/usr/include", "/usr/games", "/usr/src", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec",
	"/usr/local/share", "/usr/local/include", "/usr/local/go", "/home/linuxbrew/.linuxbrew", "/nix/store", "/gnu/store",
}

// facts are files about the machine that programs read when they start.
var facts = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf",
	"/etc/hosts", "/etc/resolv.conf", "/etc/host.conf", "/etc/hostname", "/etc/protocols", "/etc/services", "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alternatives",
	"/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies", "/etc/mime.types", "/etc/magic", "/etc/magic.mime", "/etc/inputrc", "/etc/terminfo", "/etc/perl", "/etc/python3", "/etc/java", "/etc/papersize", "/etc/selinux/config",
	"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random",
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/max_map_count",
	"/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/version", "/proc/sys/kernel/hostname", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/cap_last_cap", "/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/random/uuid", "/proc/sys/kernel/random/boot_id",
	"/proc/sys/fs/pipe-max-size", "/proc/sys/net/core/somaxconn",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup",
}

// netFacts are those of a network.
var netFacts = append([]string{"/etc/gai.conf", "/etc/ca-certificates", "/etc/pki", "/usr/share/ca-certificates"}, resolvers...)

// strictRules adds the rules of a command that runs without a question: what the strict
// sandbox lets it read, and the programs that it may start. Those of the workspace are none,
// but interpreters may run its code: that is reading a file.
func (b bounds) strictRules(add func(landlock.AccessFSSet, ...string) error) error {
	const noFIFO = dirWrite &^ abi.AccessFSMakeFifo
	const readOnly = dirRead &^ abi.AccessFSExecute
	s := b.Strict
	execute := landlock.AccessFSSet(0)
	if s.Execute {
		execute = abi.AccessFSExecute
	}
	err := errors.Join(
		add(noFIFO&^abi.AccessFSExecute|execute, b.Writes...),
		add(fileRead|fileWrite, devNull),
		add(readOnly|execute, s.Workspace...),
		add(readOnly, facts...))
	if b.AllowNet {
		err = errors.Join(err, add(readOnly, netFacts...))
	}
	for _, path := range slices.Concat(programs, s.Path, b.Reads) {
		rights := dirRead
		if real := Real(path); slices.ContainsFunc(s.Workspace, func(dir string) bool { return Within(real, dir) || Within(dir, real) }) {
			rights = readOnly | execute
		}
		err = errors.Join(err, add(rights, path))
	}
	return err
}

// lookup is where a shell with this environment looks for programs.
func lookup(env []string) []string {
	var path string
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	return filepath.SplitList(path)
}

// onPath are directories of programs that are neither the system's usual ones nor
// below a home, where the profile opens them, with what belongs to them.
func onPath(env []string) []string {
	var dirs []string
	for _, dir := range lookup(env) {
		dir = Real(dir)
		if !Within(dir, "/opt") && !Within(dir, "/snap") && !Within(dir, "/usr/local") {
			continue
		}
		dirs = append(dirs, dir)
		if root := filepath.Dir(dir); filepath.Base(dir) == "bin" && root != "/opt" && root != "/snap" && root != "/usr/local" {
			for _, part := range parts {
				dirs = append(dirs, filepath.Join(root, part))
			}
		}
	}
	return dirs
}
