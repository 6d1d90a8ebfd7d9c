package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the analysis of one line, since lines can be built that start each
// other in endless ways. A line that anybody means stays below them.
const (
	maxSeen  = 20_000
	maxWords = 100_000 // of all commands together
	maxRead  = 1 << 20 // bytes of lines that are found in the words of a line
	maxDepth = 5
)

// looker finds the commands of a line, wherever they are.
type looker struct {
	Analysis
	words int
	read  int
	vars  variables
}

// look finds what can be seen in a line. What no parser reads is cut at what
// ends a command: a rule that forbids should rather hold too often.
func look(line string) Analysis {
	l := looker{vars: variables{}}
	l.line(line, 0)
	return l.Analysis
}

func (l *looker) line(line string, depth int) {
	l.read += len(line)
	l.Lost = l.Lost || l.read > maxRead || depth > maxDepth
	if l.Lost {
		return
	}
	if len(line) <= maxLine {
		for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
			if file, err := parse(line, lang); err == nil {
				syntax.Walk(file, func(n syntax.Node) bool {
					l.node(n, depth)
					return !l.Lost
				})
				return
			}
		}
	}
	for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";|&\n(){}`", r) }) {
		var words []string
		for w := range strings.FieldsSeq(part) {
			words = append(words, strings.Trim(w, `"'`))
		}
		l.call(words, depth)
	}
}

// node finds the commands that a part of the line holds, and its redirects.
func (l *looker) node(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.FuncDecl:
		l.Bomb = l.Bomb || bomb(n)
	case *syntax.Stmt:
		l.fed(n, depth)
	case *syntax.CallExpr:
		words := l.vars.fields(n.Args...) // by what variables were before
		l.Lost = l.Lost || !l.vars.assign(n.Assigns)
		l.call(words, depth)
	case *syntax.DeclClause:
		l.Lost = l.Lost || !l.vars.assign(n.Args)
	case *syntax.Redirect:
		stream := n.Op == syntax.DplOut && strings.Trim(n.Word.Lit(), "0123456789-") == ""
		if n.Word == nil || n.Hdoc != nil || stream {
			return
		}
		if n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut {
			l.add(append([]string{"<"}, l.vars.fields(n.Word)...), false)
		}
		if strings.Contains(n.Op.String(), ">") {
			l.add(append([]string{">"}, l.vars.fields(n.Word)...), false)
		}
	}
}

// bomb reports whether a function starts itself beside itself.
func bomb(f *syntax.FuncDecl) (found bool) {
	if f.Name == nil {
		return false
	}
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		var stmts []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background {
				stmts = append(stmts, n)
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				stmts = append(stmts, n.X, n.Y)
			}
		}
		for _, s := range stmts {
			if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == f.Name.Value {
				found = true
			}
		}
		return !found
	})
	return found
}

// fed looks for commands in the texts of a pipeline or command that a shell
// reads: in a here-document, or what echo prints.
func (l *looker) fed(s *syntax.Stmt, depth int) {
	pipe, ok := s.Cmd.(*syntax.BinaryCmd)
	if len(s.Redirs) == 0 && !(ok && (pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll)) {
		return
	}
	var runs bool
	var texts []string
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := l.vars.fields(n.Args...)
			l.read += len(words)
			runs = runs || len(words) > 0 && !startsNothing(path.Base(words[0])) && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(shells, path.Base(w)) })
			if len(words) > 1 && (words[0] == "echo" || words[0] == "printf") {
				texts = append(append(texts, strings.Join(words[1:], " ")), words[1:]...)
			}
		case *syntax.Redirect:
			if n.Hdoc != nil {
				texts = append(texts, strings.Join(l.vars.fields(n.Hdoc), " "))
			} else if n.Op == syntax.WordHdoc {
				texts = append(texts, strings.Join(l.vars.fields(n.Word), " "))
			}
		}
		return l.read <= maxRead
	})
	for _, text := range texts {
		if runs {
			l.line(text, depth+1)
		}
	}
}

func (l *looker) add(words []string, starts bool) {
	switch {
	case len(words) == 0:
	case len(l.Seen) == maxSeen || l.words+len(words) > maxWords:
		l.Lost = true
	default:
		l.words += len(words)
		l.Seen = append(l.Seen, Call{Words: words, Starts: starts})
	}
}

// shells take a command line as the argument after -c, or read one.
var shells = strings.Fields("sh bash dash zsh ksh mksh ash fish csh tcsh su runuser script flock sg eval source . at")

// evaluators take their arguments for a command line, or for several.
var evaluators = strings.Fields("eval watch parallel trap alias hyperfine concurrently nix-shell")

// executing are the flags of find and fd that are followed by a command.
var executing = strings.Fields("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

// wrappers start the command that their arguments end in. A digit says how many
// operands come before it.
var wrappers = strings.Fields(`sudo doas env nohup nice ionice timeout:1 gtimeout:1 xargs stdbuf setsid time strace ltrace chroot:1 flock:1 taskset:1 chrt:1 exec command builtin
	busybox toybox unshare nsenter systemd-run caffeinate firejail bwrap pkexec proot fakeroot setarch:1 unbuffer entr find fd dbus-run-session xvfb-run
	setpriv rlwrap valgrind perf:1 numactl prlimit eatmydata ccache sccache torsocks proxychains proxychains4 ssh-agent dumb-init tini cross-env dotenv
	npx bunx pnpx uvx pipx:1 mise:1 asdf:1 pyenv:1 rbenv:1 rustup:2 pipenv:1 poetry:1 pdm:1 rye:1 pixi:1 hatch:1 uv:1 bundle:1 runuser sg:1 script:1`)

// ordinary are usual programs whose arguments are names and texts, and start
// nothing; readers are as well, and what prefixes are offered for.
var ordinary = strings.Fields(`rm rmdir mv cp ln install chmod chown chgrp shred unlink tee dd truncate mktemp mkfifo unzip gzip gunzip bzip2 xz zstd
	kill killall pkill mount umount systemctl service journalctl launchctl crontab hostname test [ printf rg jq tree file diff uniq column xxd id date arch type df seq expand
	curl wget ping dig host sed awk gawk mawk less more apropos printenv export set unset declare local readonly read cd pushd popd
	apt apt-get dnf yum pacman pip pip3 helm gh glab hg svn jj ps top sleep yes find git go
	gcc g++ cc c++ clang clang++ mkfs init telinit shutdown reboot halt poweroff`)

// startsNothing reports whether the arguments of a program are known to be no
// command. A tool with several tasks may start others in one that is not offered: npm exec, cargo watch.
func startsNothing(name string) bool {
	_, reads := readers[name]
	_, n := offered([]string{name})
	return reads || n == 1 || slices.Contains(ordinary, name)
}

// isWrapper reports whether a program is a wrapper, and how many operands come before the command.
func isWrapper(name string) (before int, ok bool) {
	for _, w := range wrappers {
		if w == name {
			return 0, true
		} else if rest, found := strings.CutPrefix(w, name+":"); found {
			return int(rest[0] - '0'), true
		}
	}
	return 0, false
}

// call analyzes one command, and those that its words start.
func (l *looker) call(words []string, depth int) {
	for len(words) > 0 && (words[0] == "" || assignment(words[0])) {
		words = words[1:]
	}
	l.Lost = l.Lost || len(words) > 0 && depth > maxDepth
	if len(words) == 0 || l.Lost {
		return
	}
	name, args := path.Base(words[0]), words[1:]
	before, wrapper := isWrapper(name)
	shell := slices.Contains(shells, name)
	unknown := !wrapper && !shell && !startsNothing(name)
	l.add(words, unknown)
	if strings.ContainsAny(words[0], " \t\n") { // a wrapper may have a shell read it
		l.line(words[0], depth+1)
	}
	switch {
	case name == "find" || name == "fd":
		for i, a := range args {
			if slices.Contains(executing, a) {
				l.call(args[i+1:], depth+1)
			}
		}
		return
	case slices.Contains(evaluators, name):
		l.line(strings.Join(args, " "), depth+1)
		for _, a := range args { // or each of them is a line
			if _, line, named := strings.Cut(a, "="); named && name == "alias" {
				a = line
			}
			l.line(a, depth+1)
		}
	case shell, name == "env":
		l.shellLines(args, depth)
	case name == "git" && slices.ContainsFunc(args, func(a string) bool { return a == "rebase" || a == "bisect" || a == "submodule" || a == "filter-branch" }):
		unknown = true
		for i, a := range args {
			if a == "run" || a == "foreach" {
				l.wrapped(args[i+1:], 0, depth)
			}
		}
	}
	switch {
	case wrapper:
		l.wrapped(args, before, depth)
	case unknown:
		l.unknown(words, depth)
	}
}

// unknown analyzes the words of a program that does not start others as far as is known.
// The policy looks for commands among them; a shell's are in one of them, as
// may be those of others. Behind exec, and what npm and its like call so, is
// one for sure.
func (l *looker) unknown(words []string, depth int) {
	for i, w := range words[1:] {
		if w == "exec" || w == "dlx" || w == "x" && i == 0 {
			l.wrapped(words[i+2:], 0, depth)
		}
		if b := path.Base(w); slices.Contains(shells, b) || slices.Contains(evaluators, b) || b == "env" {
			l.call(words[i+1:], depth+1)
		}
		if strings.ContainsAny(w, " \t\n") {
			inner := strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(" \t\n;|&(){}`=\"'!:", r) })
			l.add(append([]string{words[0]}, inner...), true)
		}
	}
}

// shellLines looks for commands in the words of a shell that are lines by their looks,
// and in the one behind sh -c.
func (l *looker) shellLines(args []string, depth int) {
	for i, a := range args {
		_, value, _ := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "--") && strings.Contains(value, " "):
			l.line(value, depth+1)
		case strings.HasPrefix(a, "-"):
			if _, line, _ := strings.Cut(a, "c"); strings.Contains(line, " ") { // script and su take it there
				l.line(line, depth+1)
			}
		case strings.ContainsAny(a, " \t\n;&|"), i > 0 && strings.HasPrefix(args[i-1], "-") && strings.HasSuffix(args[i-1], "c"):
			l.line(a, depth+1)
		}
	}
}

// wrapped finds the command behind a wrapper such as sudo. Which flags take a value is
// unknown, so the word after a flag counts as both.
func (l *looker) wrapped(args []string, before, depth int) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") || assignment(a) {
			continue
		}
		l.call(args[i:], depth+1)
		switch {
		case i > 0 && strings.HasPrefix(args[i-1], "-") && args[i-1] != "--":
		case before == 0:
			return
		default:
			before--
		}
	}
}

var assigns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
})

func assignment(w string) bool { return assigns().MatchString(w) }
