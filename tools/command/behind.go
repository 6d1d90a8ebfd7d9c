package command

import (
	"path"
	"slices"
	"strings"
)

// call looks at one command, and at those that its words start.
func (l *looker) call(words []string, depth int) {
	for len(words) > 0 && (words[0] == "" || assignment(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 || depth > 5 || l.lost {
		return
	}
	name, args := path.Base(words[0]), words[1:]
	before, wraps := wrappers[name]
	unknown := !wraps && !slices.Contains(shells, name) && !startsNothing(name)
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
	case name == "git":
		l.git(args, depth)
	case slices.Contains(readers, name):
		l.line(strings.Join(args, " "), depth+1)
		for _, a := range args { // or each of them is a line
			if _, line, named := strings.Cut(a, "="); named && name == "alias" {
				a = line
			}
			l.line(a, depth+1)
		}
	case slices.Contains(shells, name):
		l.shell(args, depth)
	case name == "env":
		l.split(args, depth)
	case name == "set":
		l.parameters(args)
	}
	switch {
	case wraps:
		l.wrapped(args, before, depth)
	case unknown:
		l.unknown(words, depth)
	}
}

// unknown looks at the words of a program of which it is not known what it starts. The policy looks for commands
// among them; a shell's are in one of them, as may be those of others. Behind exec, and what npm and its like call so, stands one for sure.
func (l *looker) unknown(words []string, depth int) {
	for i, w := range words[1:] {
		if w == "exec" || w == "dlx" || w == "x" && i == 0 {
			l.wrapped(words[i+2:], 0, depth)
		}
		if b := path.Base(w); slices.Contains(shells, b) || slices.Contains(readers, b) || b == "env" {
			l.call(words[i+1:], depth+1)
		}
		if strings.ContainsAny(w, " \t\n") {
			inner := strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(" \t\n;|&(){}`=\"'!:", r) })
			l.add(append([]string{words[0]}, inner...), true)
		}
	}
}

// shell looks for the line behind -c of a shell.
func (l *looker) shell(args []string, depth int) {
	for i, a := range args {
		name, line, has := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "--") && (len(name) < 4 || !strings.HasPrefix("--command", name)), !strings.HasPrefix(a, "-"):
			continue
		case strings.HasPrefix(a, "--") && has:
			l.line(line, depth+1)
		case strings.HasPrefix(a, "--"):
			l.texts(args[i+1:], depth)
		case strings.Contains(a, "c"):
			l.texts(args[i+1:], depth)
			if _, line, _ := strings.Cut(a, "c"); strings.Contains(line, " ") { // script and su take it there
				l.line(line, depth+1)
			}
		}
	}
}

// texts looks into the first word that is no flag: it is the line for a shell.
// What stands behind a flag may be its value.
func (l *looker) texts(args []string, depth int) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			continue
		}
		l.line(a, depth+1)
		if i == 0 || !strings.HasPrefix(args[i-1], "-") || args[i-1] == "--" {
			return
		}
	}
}

// escapes are those of printf, echo and env -S that end words.
var escapes = strings.NewReplacer(`\_`, " ", `\t`, " ", `\n`, "\n")

// split looks into the line that env takes apart for -S.
func (l *looker) split(args []string, depth int) {
	for i, a := range args {
		if l.lost {
			return
		}
		line, ok := "", false
		switch {
		case strings.HasPrefix(a, "--s"):
			_, line, _ = strings.Cut(a, "=")
			ok = true
		case strings.HasPrefix(a, "-"):
			_, line, ok = strings.Cut(a, "S")
		}
		if ok {
			line = strings.Join(append([]string{line}, args[i+1:]...), " ")
			l.line(escapes.Replace(line), depth+1)
		}
	}
}

// wrapped looks for the command behind a wrapper. Which flags take a value is not
// known, so what stands behind a flag counts as both.
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

// gitRuns are the ends of names of settings that hold a command for git.
var gitRuns = strings.Fields("editor pager sshcommand command cmd external program textconv clean smudge process askpass fsmonitor helper driver")

// git looks for what git is told to start.
func (l *looker) git(args []string, depth int) {
	for i, a := range args {
		if l.lost {
			return
		}
		next := args[i+1:]
		name, value, has := strings.Cut(a, "=")
		switch {
		case a == "foreach" || a == "run":
			l.wrapped(next, 0, depth)
			l.line(strings.Join(slices.DeleteFunc(slices.Clone(next), func(w string) bool { return strings.HasPrefix(w, "-") }), " "), depth+1)
		case strings.HasPrefix(a, "-x"):
			l.line(a[2:], depth+1)
			l.texts(next, depth)
		case len(name) > 4 && strings.HasPrefix("--exec", name), name == "--extcmd", strings.HasPrefix(name, "--") && strings.HasSuffix(name, "-filter"):
			if !has {
				value = strings.Join(next[:min(1, len(next))], "")
			}
			l.line(value, depth+1)
		case a == "-c" && len(next) > 0:
			name, value, _ := strings.Cut(next[0], "=")
			l.setting(name, value, depth)
		case !has && strings.Contains(a, ".") && len(next) > 0: // git config
			l.setting(a, next[0], depth)
		}
	}
}

// setting looks into a setting of git's.
func (l *looker) setting(name, value string, depth int) {
	name = strings.ToLower(name)
	line, isLine := strings.CutPrefix(value, "!")
	switch {
	case isLine, slices.ContainsFunc(gitRuns, func(end string) bool { return strings.HasSuffix(name, "."+end) || strings.HasSuffix(name, "ssh"+end) }):
		l.line(line, depth+1)
	case strings.HasPrefix(name, "alias."):
		l.line("git "+value, depth+1)
	}
}

func assignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	if !ok || name == "" {
		return false
	}
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
