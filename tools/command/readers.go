package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mylm/tools/sandbox"
)

// readers are programs that print what is in files and change nothing, with the
// letters of flags that make them do something else: follow links, read names
// or flags from a file, write. Programs for which that takes more than letters
// are missing on purpose: a list of what is safe does not grow.
var readers = map[string]string{
	"ls": "", "cat": "", "head": "", "tail": "fF", "wc": "", "nl": "", "tac": "", "rev": "", "cut": "", "tr": "", "fold": "", "paste": "", "cmp": "", "comm": "",
	"grep": "fRDd", "egrep": "fRDd", "fgrep": "fRDd", "sort": "oTS", "stat": "", "du": "LX", "od": "", "cksum": "", "md5sum": "c", "sha1sum": "c", "sha256sum": "c",
	"pwd": "", "echo": "", "true": "", "false": "", "basename": "", "dirname": "", "realpath": "", "readlink": "", "whoami": "", "uname": "", "nproc": "", "which": "", "cd": "",
}

// harmless are the long flags that readers may have.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^--(all|almost-all|color(=\w+)?|count|ignore-case|line-number|word-regexp|files-with-matches|recursive|invert-match|human-readable|summarize|` +
		`lines(=[0-9]+)?|bytes(=[0-9]+)?|max-depth=[0-9]+|(include|exclude|exclude-dir)=[^/]*)$`)
})

// call judges one command: is it a plain reader, and does it obviously change something?
func (at Place) call(s simple) Call {
	c := Call{fed: s.fed, uncertain: !at.certain(s.words[0])}
	for _, w := range s.words {
		c.Words = append(c.Words, w.text)
	}
	name := c.Words[0]
	forbidden, reader := readers[name]
	switch {
	case c.uncertain:
		c.why = name + " may be a program of the workspace"
	case !reader || name == "cd" && !s.enters:
		c.why = name + " is no plain reader"
	}
	if c.outside = !at.within(at.Dir); s.enters {
		s.words = s.words[:1] // at is that directory
	}
	operands := 0
	for _, w := range slices.Concat(s.words[1:], s.inputs) {
		flag := len(w.text) > 1 && w.text[0] == '-'
		if !flag {
			operands++
		} else if short := w.text[1] != '-'; short && strings.ContainsAny(w.text, forbidden) || !short && w.text != "--" && !harmless().MatchString(w.text) {
			c.why = name + " " + w.text + " may change files"
		}
		if _, err := os.Lstat(at.abs(w.text)); err != nil && !flag && operands == 1 && strings.Contains(name, "grep") && !w.tilde && !w.glob {
			continue // what is searched for
		}
		names, stay := at.names(w)
		c.outside = c.outside || !stay
		for _, file := range names {
			real, _ := filepath.EvalSymlinks(at.abs(file))
			if sandbox.KeyLike(filepath.Base(file)) || sandbox.KeyLike(filepath.Base(real)) {
				c.why = file + " looks like a key"
			}
		}
	}
	if c.outside && c.why == "" {
		c.why = "something in it leads out of the workspace, or into .git"
	}
	c.Reads = c.why == ""
	return c
}

// changing are commands that are there to change, build or install something: in the
// default mode they are asked about at once, before they are tried (rm, git commit,
// go test); npm install and the like are below.
const changing = `rm rmdir mv cp ln install mkdir touch tee dd truncate shred unlink mkfifo patch chmod chown chgrp kill pkill killall sudo doas su
	make gmake ninja just task rake pytest tox nox cmake docker podman systemctl mount umount crontab ssh scp rsync gofmt:-w goimports:-w black isort prettier:--write eslint:--fix
	git:add git:am git:apply git:checkout git:cherry-pick git:clean git:clone git:commit git:fetch git:init git:merge git:mv git:pull git:push git:rebase git:reset
	git:restore git:revert git:rm git:switch sed:-i perl:-i go:build go:test go:vet go:run go:install go:get go:generate go:mod go:fmt go:work`

// managers have tasks, of which installing are those that change something.
var (
	managers   = strings.Fields("npm pnpm yarn bun pip pip3 pipx uv poetry conda gem bundle composer cargo apt apt-get dnf yum apk pacman brew mvn gradle dotnet mix swift zig stack cabal bazel")
	installing = strings.Fields(`install i ci add remove rm uninstall update upgrade sync publish init new create build run test check bench clippy fmt doc package verify compile restore
		require tap lock exec format`)
	changers = sync.OnceValue(func() []string { return strings.Fields(changing) })
)

// Changes reports that a command obviously changes, builds or installs
// something, so that it is asked about at once, since trying it is useless; "" if it
// does not look so. It saves time and protects nothing.
func (c Call) Changes() string {
	name, args := filepath.Base(c.Words[0]), c.Words[1:]
	switch {
	case name == ">" && len(args) > 0 && !strings.HasPrefix(args[0], "/dev/") && !strings.HasPrefix(args[0], "$"):
		return "it writes to " + args[0]
	case slices.Contains(changers(), name):
		return name + " changes or builds something"
	case slices.Contains(managers, name) && slices.ContainsFunc(args, func(a string) bool { return slices.Contains(installing, a) }):
		return name + " builds or installs something"
	}
	for _, a := range args {
		if slices.Contains(changers(), name+":"+a) {
			return name + " " + a + " changes or builds something"
		}
		if !strings.HasPrefix(a, "-") { // the task of git or go comes first
			break
		}
	}
	return ""
}
