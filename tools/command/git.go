package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	gitShow = program{flags: "pszabw", valued: "nSG", counts: "UMC", number: true, shares: first, long: []string{"oneline", "stat", "shortstat", "numstat", "name-only", "name-status", "graph", "decorate?", "all", "format=", "pretty?", "abbrev-commit", "no-merges", "merges", "follow", "reverse", "patch", "no-patch", "since=", "until=", "after=", "before=", "author=", "grep=", "max-count=", "skip=", "date=", "first-parent", "unified?", "word-diff?", "no-color", "color?", "no-ext-diff", "no-textconv", "summary", "branches", "tags", "remotes", "cached", "staged", "check", "quiet", "minimal", "ignore-all-space", "ignore-space-change", "diff-filter=", "exit-code", "raw"}}
	gitList = program{flags: "avr", long: []string{"list", "all", "remotes", "show-current", "verbose", "no-color"}}
)

// gitCommands are the subcommands of git that can only read. Of branch, tag,
// remote and stash only what lists is here: their operands make and delete.
var gitCommands = map[string]program{
	"status":    {flags: "sbv", counts: "u", long: []string{"short", "branch", "porcelain?", "long", "untracked-files?", "ignored?", "no-renames"}},
	"log":       gitShow,
	"show":      gitShow,
	"diff":      gitShow,
	"shortlog":  {flags: "sne", long: []string{"summary", "numbered", "email", "all"}},
	"blame":     {flags: "wse", valued: "L", counts: "MC", shares: first, long: []string{"date=", "show-email"}},
	"rev-parse": {long: []string{"abbrev-ref?", "short?", "show-toplevel", "verify", "is-inside-work-tree", "show-prefix", "symbolic-full-name", "quiet"}},
	"rev-list":  {valued: "n", shares: first, long: []string{"count", "all", "max-count=", "no-merges"}},
	"ls-files":  {flags: "cdmoszt", long: []string{"cached", "others", "modified", "deleted", "stage", "exclude-standard", "error-unmatch"}},
	"ls-tree":   {flags: "rdtlz", long: []string{"name-only", "long", "full-tree"}},
	"cat-file":  {flags: "tpse"},
	"describe":  {long: []string{"tags", "always", "dirty?", "all", "long", "abbrev="}},
	"grep":      {flags: "niIlcwvEFPhH", valued: "ABCe", long: []string{"line-number", "ignore-case", "count", "files-with-matches", "name-only", "word-regexp", "cached", "untracked"}, number: true},
	"branch":    gitList,
	"tag":       {flags: "l", long: []string{"list"}},
	"remote":    {flags: "v"},
}

// git tells whether git with these arguments only reads.
func git(args []word, at Place) objection {
	if len(args) == 1 && args[0].text == "--version" {
		return objection{}
	}
	if len(args) == 0 {
		return objection{why: "git without a subcommand"}
	}
	name := args[0].text
	p, ok := gitCommands[name]
	if !ok {
		if strings.HasPrefix(name, "-") {
			return unknown("git", name)
		}
		return objection{why: fmt.Sprintf("git %s is not among the subcommands that only read", quotedName(name))}
	}
	c, o := p.parse("git "+name, args[1:], at)
	if o.why != "" {
		return o
	}
	lists := name == "branch" || name == "remote" || name == "tag"
	if lists && len(c.operands) > 0 {
		return objection{why: fmt.Sprintf("git %s %s may change something", name, quotedName(c.operands[0].text))}
	}
	for _, w := range args[1:] {
		if strings.Contains(w.text, "%G") {
			return objection{why: "git runs another program to check signatures (%G)"}
		}
	}
	for _, w := range c.operands {
		if filepath.IsAbs(w.text) || strings.Contains(w.text, "../") || strings.HasSuffix(w.text, "/..") || w.text == ".." || strings.HasSuffix(w.text, ":..") {
			return leaves(w.text)
		}
		if _, err := os.Lstat(filepath.Join(at.Dir, w.text)); err == nil {
			if o := at.path(w.text); o.why != "" {
				return o
			}
		}
	}
	return at.repository()
}

// gitVariables move git to another repository or another configuration.
var gitVariables = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}

// repository checks that the repository that git finds is one of the workspace
// and names no program that git would run.
func (at Place) repository() objection {
	for _, name := range gitVariables {
		if _, set := at.variable(name); set {
			return objection{why: name + " is set, and leads git elsewhere"}
		}
	}
	for dir := at.Dir; at.within(dir); dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			if !info.IsDir() {
				return objection{why: ".git is no directory: the repository is elsewhere"}
			}
			return harmless(filepath.Join(dir, ".git"))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return objection{why: ".git cannot be looked at"}
		}
		// A directory with these three is a repository too, with a configuration of its own.
		if present(dir, "HEAD") && present(dir, "objects") && present(dir, "refs") {
			return objection{why: dir + " looks like a repository without a work tree"}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return objection{"the repository lies outside the workspace", true}
}

func present(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// elsewhere are files of a repository that let it read from, or be configured
// from, another place; hooks that reading commands run; and submodules, in which
// git status and git diff run git again.
var elsewhere = []string{"commondir", "config.worktree", "modules", "worktrees", "objects/info/alternates", "objects/info/http-alternates",
	"hooks/post-index-change", "hooks/fsmonitor-watchman", "hooks/query-watchman"}

// harmless checks the directory .git.
func harmless(dir string) objection {
	for _, name := range elsewhere {
		if present(dir, name) {
			return objection{why: fmt.Sprintf("the repository has .git/%s, by which git may run or read something else", name)}
		}
	}
	for _, name := range []string{"config", "objects", "refs", "HEAD", "index", "hooks", "packed-refs"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return objection{why: fmt.Sprintf(".git/%s is a link: the repository is elsewhere", name)}
		}
	}
	text, err := small(filepath.Join(dir, "config"), 64<<10)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return objection{why: "the configuration of the repository cannot be read"}
	}
	if setting := strange(string(text)); setting != "" {
		return objection{why: fmt.Sprintf("the configuration of the repository sets %s, by which git may run something", quotedName(setting))}
	}
	if nests, err := submodules(filepath.Join(dir, "index")); err != nil {
		return objection{why: fmt.Sprintf("the index of the repository cannot be read (%v)", err)}
	} else if nests {
		return objection{why: "the repository has submodules, whose own configuration may run something"}
	}
	return objection{}
}

// small reads a file of at most so many bytes.
func small(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return os.ReadFile(path)
}

// The form of a git configuration that is read here is stricter than git's own:
// what does not fit may mean something else.
var (
	configBlank   = regexp.MustCompile(`^[ \t]*([#;].*)?$`)
	configSection = regexp.MustCompile(`^[ \t]*\[([A-Za-z]+)( "[^"\\\]]*")?\][ \t]*$`)
	configSetting = regexp.MustCompile(`^[ \t]*([A-Za-z]+)[ \t]*=[ \t]*[^"\\\x00-\x08\x0a-\x1f]*$`)
)

// plainSettings are those that git clone, init, commit and branch write. None
// names a program, a file or another configuration.
var plainSettings = map[string][]string{
	"core":   {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol"},
	"remote": {"url", "fetch", "pushurl", "tagopt", "prune"},
	"branch": {"remote", "merge", "rebase", "description"},
	"user":   {"name", "email"},
	"init":   {"defaultbranch"},
	"pull":   {"rebase", "ff"},
	"push":   {"default", "autosetupremote"},
}

// strange is the first line of a configuration that is not known to be harmless.
func strange(text string) string {
	var section string
	for line := range strings.SplitSeq(text, "\n") {
		if configBlank.MatchString(line) {
			continue
		}
		if m := configSection.FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := configSetting.FindStringSubmatch(line)
		if m == nil {
			return strings.TrimSpace(line)
		}
		name := strings.ToLower(m[1])
		known := false
		for _, k := range plainSettings[section] {
			known = known || k == name
		}
		if !known {
			return section + "." + name
		}
	}
	return ""
}
