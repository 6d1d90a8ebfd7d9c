package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// interpreters run what their arguments or their input say. To allow one once
// would be to allow everything.
var interpreters = strings.Fields(`python pypy perl ruby node deno bun php lua tclsh wish awk gawk mawk nawk sed ed ex vi vim nvim emacs nano
	java jshell scala groovy julia R Rscript ghci erl elixir iex osascript pwsh powershell cmd sqlite3 psql mysql gdb lldb
	less more most man watchexec nodemon ts-node tsx coffee cmake open xdg-open gpg mylm
	eval source . trap alias unalias set export declare readonly local typeset unset shopt enable hash fc bind complete printf test [ cd
	ssh scp sftp rsync telnet nc ncat socat curl wget docker podman kubectl npx bunx pnpx uvx pipx rpm-ostree
	su runuser script make-kpkg at batch crontab ssh-agent screen tmux git-shell tee dd
	rm rmdir shred unlink mv cp ln install chmod chown chgrp kill killall pkill mount umount mkfs fdisk parted reboot shutdown halt poweroff systemctl service launchctl iptables tar zip unzip`)

// versioned is a name with a version behind it: python3.12.
var versioned = regexp.MustCompile(`^([a-zA-Z]+)[0-9][0-9.]*$`)

// Interprets reports whether a program runs what its arguments say, starts
// another one, or does so much harm that no rule should allow it for good.
func Interprets(program string) bool {
	name := path.Base(program)
	if m := versioned.FindStringSubmatch(name); m != nil && name != "md5sum" {
		name = m[1]
	}
	_, wraps := wrappers[name]
	return wraps || slices.Contains(shells, name) || slices.Contains(interpreters, name) ||
		strings.HasPrefix(name, "mkfs")
}

// subcommands are programs whose second word says what they do.
var subcommands = strings.Fields("git go cargo npm yarn pnpm pip pip3 uv poetry bundle gem rake mix dotnet mvn gradle bazel terraform helm gh glab brew apt apt-get dnf pacman hg svn jj just task swift zig stack cabal composer conda hatch tox nox")

// runners are subcommands that run what the words behind them name.
var runners = []string{"go run", "go tool", "go generate", "go env", "cargo run", "npm exec", "npm x", "yarn exec", "yarn dlx", "pnpm exec", "pnpm dlx", "uv run", "uv tool",
	"poetry run", "bundle exec", "gem exec", "dotnet exec", "dotnet run", "hatch run", "conda run", "stack exec", "cabal exec", "git config", "git bisect", "git submodule", "git filter-branch", "git rebase",
	"git clean", "git grep", "uv pip", "uv add", "npm install", "npm i", "npm add", "npm update", "yarn add", "pnpm add", "pnpm install", "go get", "cargo add", "gem install", "bundle add", "bundle install",
	"poetry add", "composer require", "brew install", "apt install", "apt-get install", "dnf install", "conda install", "helm install",
	"git reset", "git push", "git clone", "gh alias", "gh api", "gh extension", "bazel run", "mix run", "mix eval", "swift run", "zig run", "npm config", "npm set", "cargo install", "go install", "pip install", "pip3 install"}

// subcommand is a word that names what to do.
var subcommand = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Prefix is what somebody would allow who allows this call and others like it: the
// program, and what it is told to do if it can do several things. It is nil if no such rule may be made: for
// what interprets or wraps, and for what names its program by a path.
func (c Call) Prefix() []string {
	name := c.Words[0]
	if strings.Contains(name, "/") || Interprets(name) {
		return nil
	}
	if !slices.Contains(subcommands, name) {
		return c.Words[:1:1]
	}
	if len(c.Words) < 2 || !subcommand.MatchString(c.Words[1]) || slices.Contains(runners, name+" "+c.Words[1]) {
		return nil
	}
	if (name == "npm" || name == "yarn" || name == "pnpm") && c.Words[1] == "run" {
		if len(c.Words) < 3 || !regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`).MatchString(c.Words[2]) {
			return nil
		}
		return c.Words[:3:3]
	}
	return c.Words[:2:2]
}

// launching are flags of usual tools that name a program to start, or a file of
// settings that may name one.
var launching = strings.Fields("exec toolexec vettool exec-path pre upload-pack receive-pack ext-diff config config-file configfile config-env rcfile init-file command cmd eval shell script-shell node-options use-compress-program pager open-files-in-pager gpg-program modfile overlay compress-program hostname-bin wrapper ldflags fplugin")

// launches reports whether a flag is one of these, or short for one: many programs
// take a flag by its first letters.
func launches(flag string) bool {
	return len(flag) > 2 && slices.ContainsFunc(launching, func(l string) bool { return strings.HasPrefix(l, flag) })
}

// Covered reports whether the call is one that the prefix stands for: it begins with its words, stays
// in the workspace, starts the program that PATH has outside of it, and has no flag that starts another program or leads to other files.
func (c Call) Covered(prefix []string) bool {
	if len(prefix) == 0 || len(c.Words) < len(prefix) || !slices.Equal(c.Words[:len(prefix)], prefix) || c.Outside || c.odd || !slices.Equal(c.Prefix(), prefix) {
		return false
	}
	for _, w := range c.Words[len(prefix):] {
		flag, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if assignment(w) || strings.HasPrefix(w, "-") && launches(flag) {
			return false
		}
	}
	return true
}
