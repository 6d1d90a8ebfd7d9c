package command

import (
	"slices"
	"strings"
)

// shells take a command line as the argument behind -c.
var shells = strings.Fields("sh bash dash zsh ksh mksh ash fish csh tcsh su runuser script flock sg")

// readers take their arguments for a command line, or for several.
var readers = strings.Fields("eval watch parallel trap alias hyperfine concurrently nix-shell")

// executing are the flags of find and fd behind which a command stands.
var executing = strings.Fields("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

// wrappers start the command that their arguments end in.
// The number says how many operands come before it.
var wrappers = map[string]int{
	"sudo": 0, "doas": 0, "env": 0, "nohup": 0, "nice": 0, "ionice": 0, "timeout": 1, "gtimeout": 1, "xargs": 0, "stdbuf": 0, "setsid": 0,
	"time": 0, "strace": 0, "ltrace": 0, "chroot": 1, "flock": 1, "taskset": 1, "chrt": 1, "exec": 0, "command": 0, "builtin": 0,
	"busybox": 0, "toybox": 0, "unshare": 0, "nsenter": 0, "systemd-run": 0, "caffeinate": 0, "firejail": 0, "bwrap": 0,
	"pkexec": 0, "proot": 0, "fakeroot": 0, "setarch": 1, "unbuffer": 0, "entr": 0, "find": 0, "fd": 0, "dbus-run-session": 0, "xvfb-run": 0, "direnv": 2,
	"setpriv": 0, "rlwrap": 0, "valgrind": 0, "perf": 1, "numactl": 0, "prlimit": 0, "faketime": 1, "eatmydata": 0, "ccache": 0, "sccache": 0, "torsocks": 0,
	"proxychains": 0, "proxychains4": 0, "ssh-agent": 0, "dumb-init": 0, "tini": 0, "cross-env": 0, "dotenv": 0, "npx": 0, "bunx": 0, "pnpx": 0, "uvx": 0, "pipx": 1,
	"mise": 1, "asdf": 1, "pyenv": 1, "rbenv": 1, "rustup": 2, "pipenv": 1, "poetry": 1, "pdm": 1, "rye": 1, "pixi": 1, "hatch": 1, "uv": 1, "bundle": 1,
	"runuser": 0, "sg": 1, "script": 1,
}

// quiet are usual programs beside those that can only read whose arguments are
// names and texts, and start nothing.
var quiet = strings.Fields(`rm rmdir mv cp ln install chmod chown chgrp shred unlink tee dd truncate mktemp mkfifo unzip gzip gunzip bzip2 xz zstd
	kill killall pkill mount umount systemctl service journalctl launchctl crontab hostname
	curl wget ping dig host sed awk gawk mawk less more apropos printenv export set unset declare local readonly read cd pushd popd source .
	apt apt-get dnf yum pacman pip pip3 helm gh glab hg svn jj ps top sleep yes
	gcc g++ cc c++ clang clang++ mkfs init telinit shutdown reboot halt poweroff`)

// startsNothing reports whether the arguments of a program are known to be no
// command. A tool with several tasks has more than are offered, and may start others in one of them: npm exec, cargo watch.
func startsNothing(name string) bool {
	_, reads := programs[name]
	return reads || slices.Contains(quiet, name) || slices.ContainsFunc(offers, func(o offer) bool { return o.words == name })
}
