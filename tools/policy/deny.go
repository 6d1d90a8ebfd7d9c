package policy

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"mylm/tools/command"
)

// CommandTool is the tool that DefaultDeny speaks of.
const CommandTool = "execute_command"

// disks are the block devices of Linux, macOS and the BSDs.
const disks = "/dev/sd*|/dev/hd*|/dev/vd*|/dev/xvd*|/dev/nvme*|/dev/mmcblk*|/dev/mapper/*|/dev/dm-*|/dev/md*|/dev/disk*|/dev/rdisk*"

// protectedDirs are what must not be deleted as a whole.
const protectedDirs = `/|/\*|~|~/\*|$HOME|$HOME/\*|/bin|/boot|/dev|/etc|/home|/lib|/root|/sbin|/usr|/var|/Users|/System|/Library|/Applications`

// forkBomb is the name of the only rule that is not a pattern.
const forkBomb = CommandTool + "(a fork bomb)"

// DefaultDeny are the rules that always hold: what destroys a machine's disks
// or a home directory, and what turns the machine off.
var DefaultDeny = []string{
	CommandTool + `(rm -r|-R|--recursive * ` + protectedDirs + `)`,
	CommandTool + `(chmod|chown|chgrp -R|--recursive * ` + protectedDirs + `)`,
	CommandTool + `(find ` + protectedDirs + ` -delete)`,
	CommandTool + `(mkfs|mkfs.*|mke2fs|newfs|wipefs|mkswap)`,
	CommandTool + `(dd * of=` + strings.ReplaceAll(disks, "|", "|of=") + `)`,
	CommandTool + `(tee|shred|cp|mv|truncate * ` + disks + `)`,
	CommandTool + `(> ` + disks + `)`,
	CommandTool + `(shutdown|reboot|halt|poweroff)`,
	CommandTool + `(systemctl poweroff|reboot|halt|kexec)`,
	CommandTool + `(init|telinit 0|6)`,
}

// tooLong is the name of the rule for lines with more commands than are checked.
const tooLong = CommandTool + "(more commands than can be looked at)"

// BuiltIn returns the rules that always hold: those of DefaultDeny, and two that no
// pattern can express.
func BuiltIn() []string { return append(slices.Clone(DefaultDeny), forkBomb, tooLong) }

// denyRule is a rule, read.
type denyRule struct {
	text    string
	tool    string
	pattern string   // "" is every call
	flags   []string // words that begin with -
	words   []string // the others, in their order
}

var ruleForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*|\*)(\((.+)\))?$`)

func parseDeny(text string) (denyRule, error) {
	m := ruleForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return denyRule{}, fmt.Errorf("the rule %q cannot be read; write TOOL or TOOL(PATTERN), as in execute_command(git push)", text)
	}
	r := denyRule{text: strings.TrimSpace(text), tool: m[1], pattern: strings.TrimSpace(m[3])}
	if m[2] != "" && r.pattern == "" {
		return denyRule{}, fmt.Errorf("the rule %q has an empty pattern; write %s alone to forbid every call", text, r.tool)
	}
	for w := range strings.FieldsSeq(r.pattern) {
		if strings.HasPrefix(w, "-") {
			r.flags = append(r.flags, w)
		} else {
			r.words = append(r.words, w)
		}
	}
	return r, nil
}

// forbids is the deny rule that a call falls under, or "".
func (p *Policy) forbids(c Call, a command.Analysis) string {
	switch {
	case a.Bomb:
		return forkBomb
	case a.Lost:
		return tooLong
	}
	at := pathFormsAt(c.Place)
	texts := c.texts(at)
	seen := make([][]term, len(a.Seen))
	for i, call := range a.Seen {
		seen[i] = at.terms(call.Words, call.Starts)
		if at.enter(call.Words); len(at.dirs) > maxDirs {
			return tooLong
		}
	}
	for _, r := range p.deny {
		if r.tool != "*" && r.tool != c.Tool {
			continue
		}
		if r.pattern == "" || (c.Line == "" || r.tool == "*") && matchAny(r.pattern, texts) {
			return r.text
		}
		for i, terms := range seen {
			if r.command(terms) || a.Seen[i].Starts && r.startedBy(terms) || r.tool == "*" && r.named(terms) {
				return r.text
			}
		}
	}
	return ""
}

// texts are those among the arguments, in every spelling, and the host, with its
// port and without.
func (c Call) texts(at *pathForms) (out []string) {
	if c.Host != "" {
		out = append(out, c.Host)
		if name, _, err := net.SplitHostPort(c.Host); err == nil {
			out = append(out, name)
		}
	}
	var v any
	_ = json.Unmarshal(c.Args, &v) // arguments that are no JSON contain no text
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, at.file(v)...)
		case []any:
			for _, x := range v {
				visit(x)
			}
		case map[string]any:
			for _, x := range v {
				visit(x)
			}
		}
	}
	visit(v)
	return out
}

// command decides whether the pattern of a deny rule fits one command: its words in their order,
// which inOrder compares, and its flags anywhere, which hasFlag finds.
func (r denyRule) command(terms []term) bool {
	if len(terms) == 0 {
		return false
	}
	args := []term{{forms: terms[0].program()}}
	either := slices.ContainsFunc(args[0].forms, func(name string) bool { return slices.Contains(eitherCase, name) })
	var flags []string
	for _, t := range terms[1:] {
		if !t.flag {
			args = append(args, t)
			continue
		}
		flags = append(flags, t.forms[0])
		if either && !strings.HasPrefix(t.forms[0], "--") && strings.ContainsAny(t.forms[0], "rR") {
			flags = append(flags, "--recursive")
		}
	}
	for _, f := range r.flags {
		if !hasFlag(f, flags) {
			return false
		}
	}
	return inOrder(r.words, args)
}

// maxStarts bounds how often a command may seem to begin in the words of
// another. Nobody means to write so many.
const maxStarts = 8

// startedBy compares the pattern with the commands that the arguments of an unknown program
// may start. A single word is not enough: vagrant halt is not a halt. One that any command
// begins with was compared with the whole already.
func (r denyRule) startedBy(terms []term) bool {
	if len(r.words) == 0 || len(r.words)+len(r.flags) < 2 || r.words[0] == "*" {
		return false
	}
	starts := 0
	for i := 1; i < len(terms); i++ {
		if terms[i].flag || !matchAny(r.words[0], terms[i].program()) {
			continue
		}
		if starts++; starts > maxStarts || r.command(terms[i:]) {
			return true
		}
	}
	return false
}

// named compares the whole pattern with each word by itself.
func (r denyRule) named(terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return matchAny(r.pattern, t.forms) })
}

// eitherCase are programs that are recursive with -r as well as with -R. For others one of them means something else:
// ls -r turns the order around, chmod -r takes a right away.
var eitherCase = strings.Fields("rm cp grep egrep fgrep")

// shorts are the letters that usual programs take for these long flags.
var shorts = map[string]string{"--force": "f", "--recursive": "r"}

// hasFlag reports whether one of a pattern's alternatives is among the flags: as a word, with a value
// behind =, or, if it is up to three letters, as letters in any words of short flags. --force counts as -f,
// --recursive as -r and -R, and the other way round.
func hasFlag(alternatives string, flags []string) bool {
	var letters strings.Builder
	for _, f := range flags {
		switch {
		case !strings.HasPrefix(f, "--"):
			letters.WriteString(f[1:])
		case short(f, "--recursive"):
			letters.WriteString("rR")
		case short(f, "--force"):
			letters.WriteString("f")
		}
	}
	for want := range strings.SplitSeq(alternatives, "|") {
		for _, f := range flags {
			name, _, _ := strings.Cut(f, "=")
			if matchOne(want, f) || matchOne(want, name) || short(name, want) {
				return true
			}
		}
		wanted := strings.TrimPrefix(want, "-")
		if letter, ok := shorts[want]; ok {
			wanted = letter
		}
		if strings.HasPrefix(wanted, "-") || len(wanted) == 0 || len(wanted) > 3 {
			continue
		}
		all := true
		for _, r := range wanted {
			all = all && strings.ContainsRune(letters.String(), r)
		}
		if all {
			return true
		}
	}
	return false
}

// short reports whether a flag is a long one or the begin of it, which many programs take for the same.
func short(flag, long string) bool {
	return len(flag) > 2 && strings.HasPrefix(flag, "--") && strings.HasPrefix(long, flag)
}

// inOrder reports whether the words fit the pattern from the first one on; what
// follows the pattern does not matter. * as a word is any number of words. A possible value of a flag may be skipped.
func inOrder(pattern []string, words []term) bool {
	reached := make([]bool, len(words)+1) // how many words may have been used up
	reached[0] = true
	for _, p := range pattern {
		next, found := make([]bool, len(words)+1), false
		for i := range reached {
			switch {
			case !reached[i]:
				continue
			case p == "*":
				next[i] = true
			case i < len(words) && matchAny(p, words[i].forms):
				next[i+1] = true
			}
			found = found || p == "*" || i < len(words) && next[i+1]
			if i < len(words) && (p == "*" || words[i].optional) {
				reached[i+1] = true
			}
		}
		if reached = next; !found {
			return false
		}
	}
	return true
}

func matchAny(pattern string, forms []string) bool {
	return slices.ContainsFunc(forms, func(s string) bool { return matchWord(pattern, s) })
}

// matchWord compares a word with the alternatives of a pattern, between which | stands.
func matchWord(alternatives, s string) bool {
	for p := range strings.SplitSeq(alternatives, "|") {
		if matchOne(p, s) {
			return true
		}
	}
	return false
}

// matchOne compares a text with a pattern in which * is any text and \ takes the
// meaning of the next character away.
func matchOne(pattern, s string) bool {
	star, mark, i, j := -1, 0, 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i+1 < len(pattern) && pattern[i] == '\\' && pattern[i+1] == s[j]:
			i, j = i+2, j+1
		case i < len(pattern) && pattern[i] != '\\' && pattern[i] == s[j]:
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}
