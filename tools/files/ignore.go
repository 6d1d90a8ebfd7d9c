package files

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"mylm/tools/files/internal/open"
)

const (
	ignoreName = ".gitignore"

	// maxIgnore bounds one .gitignore; the largest collections of templates
	// have a hundredth of it.
	maxIgnore = 1 << 20
)

// rule is one line of a .gitignore, as gitignore(5) has it.
type rule struct {
	pattern string // for doublestar
	plain   bool   // the pattern has no wildcard
	ending  string // of a pattern like *.o: what the name ends with
	negated bool   // what matches is not ignored after all
	dirs    bool   // only directories match
	base    bool   // the last part of the path is matched, wherever it is
}

// ruleset is a .gitignore and its directory, with slashes and relative to where
// the rules begin; "" is there.
type ruleset struct {
	dir   string
	rules []rule
}

func parseIgnore(text []byte) (rules []rule) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if r, ok := parseRule(line); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (r rule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if within, ok := strings.CutSuffix(line, "/**"); ok {
		line = within + "/**/*" // what is within, and not the directory
	}
	if rest := strings.TrimPrefix(line, "*"); rest != line && r.base && !strings.ContainsAny(rest, `*?[\`) {
		r.ending = rest
	}
	r.plain = !strings.ContainsAny(line, `*?[\`)
	r.pattern = translate(line)
	return r, true
}

// classes are the character classes of POSIX in ASCII, which doublestar does not support.
var classes = strings.NewReplacer("[:alnum:]", "a-zA-Z0-9", "[:alpha:]", "a-zA-Z", "[:digit:]", "0-9", "[:lower:]", "a-z",
	"[:upper:]", "A-Z", "[:xdigit:]", "0-9a-fA-F", "[:space:]", "\t-\r ", "[:blank:]", "\t ", "[:punct:]", "!-/:-@\\[-`{-~")

// translate escapes what means something to doublestar and nothing to git:
// braces.
func translate(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, c := range []byte(pattern) {
		if c == '{' && !escaped {
			b.WriteByte('\\')
		}
		escaped = c == '\\' && !escaped
		b.WriteByte(c)
	}
	return classes.Replace(b.String())
}

func (r *rule) matches(name string, dir bool) bool {
	if r.dirs && !dir {
		return false
	}
	if r.base {
		name = path.Base(name)
	}
	switch {
	case r.plain:
		return name == r.pattern || strings.Contains(r.pattern, `\{`) && doublestar.MatchUnvalidated(r.pattern, name)
	case r.ending != "":
		return strings.HasSuffix(name, r.ending)
	}
	ok, err := doublestar.Match(r.pattern, name)
	return ok && err == nil // in git, too, an invalid pattern matches nothing
}

// ignored reports whether the sets, the outer ones first, ignore a name. The
// last rule that matches decides.
func ignored(sets []ruleset, name string, dir bool) bool {
	for i := len(sets) - 1; i >= 0; i-- {
		below := name
		if sets[i].dir != "" {
			var ok bool
			if below, ok = strings.CutPrefix(name, sets[i].dir+"/"); !ok {
				continue
			}
		}
		rules := sets[i].rules
		for j := len(rules) - 1; j >= 0; j-- {
			if rules[j].matches(below, dir) {
				return !rules[j].negated
			}
		}
	}
	return false
}

// rulesFor returns the rules that apply in dir, an absolute path, because of
// its parents: up to the top of its repository. Prefix is the path from there
// to dir. If dir is ignored itself, no rules apply: it was asked for by name.
func rulesFor(dir string) (sets []ruleset, prefix string) {
	top := repository(dir)
	prefix, err := filepath.Rel(top, dir)
	if err != nil || prefix == "." {
		prefix = ""
	}
	prefix = filepath.ToSlash(prefix)
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, prefix
	}
	defer root.Close()
	if rules := readIgnore(root, filepath.Join(".git", "info", "exclude")); rules != nil {
		sets = append(sets, ruleset{"", rules})
	}
	if prefix == "" {
		return sets, ""
	}
	at := ""
	for part := range strings.SplitSeq(prefix, "/") {
		if rules := readIgnore(root, filepath.Join(filepath.FromSlash(at), ignoreName)); rules != nil {
			sets = append(sets, ruleset{at, rules})
		}
		at = path.Join(at, part)
		if ignored(sets, at, true) {
			return nil, prefix
		}
	}
	return sets, prefix
}

// repository is the nearest directory at or above dir that holds .git, else dir.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// readIgnore reads a file of rules. Anything else has no rules; git does not
// follow a link there either.
func readIgnore(root *os.Root, name string) []rule {
	f, _, err := open.Regular(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	return parseIgnore(text)
}
