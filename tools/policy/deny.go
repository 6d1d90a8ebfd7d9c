package policy

import (
	"encoding/json"
	"fmt"
	"net"
	"path"
	"regexp"
	"strings"

	"mylm/tools/command"
)

// CommandTool is the tool that DefaultDeny speaks of.
const CommandTool = "execute_command"

// disks are the block devices of Linux, macOS and the BSDs.
const disks = "/dev/sd*|/dev/hd*|/dev/vd*|/dev/xvd*|/dev/nvme*|/dev/mmcblk*|/dev/mapper/*|/dev/dm-*|/dev/md*|/dev/disk*|/dev/rdisk*"

// places are what nobody wants to lose as a whole.
const places = `/|/\*|~|~/\*|$HOME|$HOME/\*|/bin|/boot|/dev|/etc|/home|/lib|/root|/sbin|/usr|/var|/Users|/System|/Library|/Applications`

// forkBomb is how the one rule is called that is no pattern.
const forkBomb = CommandTool + "(a fork bomb)"

// DefaultDeny are the rules that always hold: what destroys a machine's disks
// or a home directory, and what turns the machine off.
var DefaultDeny = []string{
	CommandTool + `(rm -r|-R|--recursive * ` + places + `)`,
	CommandTool + `(chmod|chown|chgrp -R|--recursive * ` + places + `)`,
	CommandTool + `(find ` + places + ` -delete)`,
	CommandTool + `(mkfs|mkfs.*|mke2fs|newfs|wipefs|mkswap)`,
	CommandTool + `(dd * of=` + strings.ReplaceAll(disks, "|", "|of=") + `)`,
	CommandTool + `(tee|shred|cp|mv|truncate * ` + disks + `)`,
	CommandTool + `(> ` + disks + `)`,
	CommandTool + `(shutdown|reboot|halt|poweroff)`,
	CommandTool + `(systemctl poweroff|reboot|halt|kexec)`,
	CommandTool + `(init|telinit 0|6)`,
}

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

// forbids is the deny rule that a call falls under, "" if there is none.
func (p *Policy) forbids(c Call, a command.Analysis) string {
	if a.Bomb {
		return forkBomb
	}
	home := homeOf(c.Place)
	for _, r := range p.deny {
		if r.tool != "*" && r.tool != c.Tool {
			continue
		}
		if r.pattern == "" || c.Line == "" && r.argument(c) {
			return r.text
		}
		for _, seen := range a.Seen {
			if r.command(seen.Words, home) {
				return r.text
			}
		}
	}
	return ""
}

func homeOf(at command.Place) (home string) {
	for _, kv := range at.Env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok && path.IsAbs(v) {
			home = path.Clean(v)
		}
	}
	return home
}

// argument compares the pattern with each text among the arguments, and with the
// host, with its port and without.
func (r denyRule) argument(c Call) bool {
	var v any
	_ = json.Unmarshal(c.Args, &v) // what is no JSON has no text in it
	found := false
	if c.Host != "" {
		name, _, err := net.SplitHostPort(c.Host)
		found = matchWord(r.pattern, c.Host) || err == nil && matchWord(r.pattern, name)
	}
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			found = found || matchWord(r.pattern, v)
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
	return found
}

// command compares the pattern with one command.
func (r denyRule) command(words []string, home string) bool {
	if len(words) == 0 {
		return false
	}
	args := [][]string{{words[0], path.Base(strings.ReplaceAll(words[0], `\`, "/"))}}
	var flags []string
	operands := false
	for _, w := range words[1:] {
		switch {
		case w == "--" && !operands:
			operands = true
		case strings.HasPrefix(w, "-") && !operands:
			flags = append(flags, w)
		default:
			args = append(args, spellings(w, home))
		}
	}
	for _, f := range r.flags {
		if !hasFlag(f, flags) {
			return false
		}
	}
	return inOrder(r.words, args)
}

// spellings are the ways in which a rule may name a word: as it is, and as a
// path without detours, from the home directory if it is there.
func spellings(w, home string) []string {
	out := []string{w}
	clean := w
	if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") || strings.HasPrefix(w, "$") {
		clean = path.Clean(w)
		out = append(out, clean)
	}
	if rest, ok := strings.CutPrefix(clean, home); home != "" && home != "/" && ok && (rest == "" || rest[0] == '/') {
		out = append(out, "~"+rest)
	}
	return out
}

// hasFlag reports whether one of the alternatives is among the flags: as a word, with a value
// behind =, or, if it is up to three letters, as letters in any words of short flags.
func hasFlag(alternatives string, flags []string) bool {
	var letters strings.Builder
	for _, f := range flags {
		if !strings.HasPrefix(f, "--") {
			letters.WriteString(f[1:])
		}
	}
	for want := range strings.SplitSeq(alternatives, "|") {
		for _, f := range flags {
			name, _, _ := strings.Cut(f, "=")
			if matchOne(want, f) || matchOne(want, name) {
				return true
			}
		}
		short := strings.TrimPrefix(want, "-")
		if strings.HasPrefix(short, "-") || len(short) == 0 || len(short) > 3 {
			continue
		}
		all := true
		for _, r := range short {
			all = all && strings.ContainsRune(letters.String(), r)
		}
		if all {
			return true
		}
	}
	return false
}

// inOrder reports whether the words fit the pattern from the first one on. *
// alone is any number of words.
func inOrder(pattern []string, words [][]string) bool {
	reached := map[int]bool{0: true} // how many words may have been used up
	for _, p := range pattern {
		next := map[int]bool{}
		for i := range reached {
			if p == "*" {
				for j := i; j <= len(words); j++ {
					next[j] = true
				}
				continue
			}
			if i < len(words) && matchAny(p, words[i]) {
				next[i+1] = true
			}
		}
		reached = next
	}
	return len(reached) > 0
}

func matchAny(pattern string, spellings []string) bool {
	for _, s := range spellings {
		if matchWord(pattern, s) {
			return true
		}
	}
	return false
}

// matchWord compares a text with alternatives.
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
