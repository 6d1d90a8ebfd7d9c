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
	args, at, o := at.gitPlace(args)
	if o.why != "" {
		return o
	}
	if len(args) == 0 {
		return objection{why: "git without a subcommand"}
	}
	name := args[0].text
	switch two := strings.Join(texts(args[1:min(2, len(args))]), ""); {
	case name == "remote" && two == "get-url" && len(args) == 3 && !strings.HasPrefix(args[2].text, "-") && !args[2].glob,
		name == "stash" && two == "list" && len(args) == 2:
		return at.repository()
	}
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
		if signature().MatchString(w.text) {
			return objection{why: "git runs another program to check signatures (%G)"}
		}
		for _, form := range []*regexp.Regexp{wideFormat(), wrapFormat()} {
			if o := roomy("git "+name, w, form); o.why != "" {
				return o
			}
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

// gitPlace takes what stands in front of the subcommand: where git goes to first.
func (at Place) gitPlace(args []word) ([]word, Place, objection) {
	for len(args) > 0 {
		switch {
		case args[0].text == "--no-pager":
			args = args[1:]
		case args[0].text == "-C" && len(args) > 1:
			moved, o := at.in(args[1])
			if o.why != "" {
				return nil, at, o
			}
			at, args = moved, args[2:]
			for _, w := range args {
				if w.glob {
					return nil, at, objection{why: "git -C with a pattern, which stands for files of another directory"}
				}
			}
		default:
			return args, at, objection{}
		}
	}
	return args, at, objection{}
}

// in is the place in a directory of the workspace.
func (at Place) in(dir word) (Place, objection) {
	if dir.text == "" || dir.text == "-" || dir.glob || dir.tilde {
		return at, objection{why: "it is not known which directory " + quotedName(dir.text) + " is"}
	}
	if o := at.path(dir.text); o.why != "" {
		return at, o
	}
	path := dir.text
	if !filepath.IsAbs(path) {
		path = at.Dir + string(filepath.Separator) + path
	}
	// The point at the end is there only for those who may enter.
	info, err := os.Stat(path + string(filepath.Separator) + ".")
	real, linked := filepath.EvalSymlinks(path)
	if err != nil || linked != nil || !info.IsDir() {
		return at, objection{why: dir.text + " is no directory that can be entered"}
	}
	at.Dir = real
	return at, objection{}
}

func texts(words []word) (out []string) {
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
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
		// What a repository has, or says by commondir where it is: git may take the directory for one, with a configuration of its own.
		if present(dir, "HEAD") || present(dir, "commondir") {
			return objection{why: dir + " looks like a repository without a work tree"}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return objection{"the repository lies outside the workspace", true}
}

// signature is a part of a format for which git has a signature checked. Signs
// and blanks may stand behind the %.
var signature = late(`%[-+ ]*G`)

func present(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// elsewhere are files of a repository that let it read from, or be configured
// from, another place; hooks that reading commands run; and submodules, in which
// git status and git diff run git again.
var elsewhere = []string{"commondir", "config.worktree", "modules", "worktrees", "objects/info/alternates", "objects/info/http-alternates",
	"hooks/post-index-change", "hooks/fsmonitor-watchman", "hooks/query-watchman"}

// maxOwn is how many files and directories a repository may have to be looked at, all the time. Of loose objects there are
// few thousands before git packs them.
const maxOwn = 20_000

// ownFiles checks that all of .git is made of files and directories of its own. A link leads to another repository, or has
// git print a file of another place, whatever git keeps under its name; at a pipe it waits.
func ownFiles(dir string) objection {
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch seen++; {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && !d.Type().IsRegular():
			rel, _ := filepath.Rel(filepath.Dir(dir), path) // both are of one root
			return fmt.Errorf("%s is a link, or no file: git may read something else", quotedName(rel))
		case seen > maxOwn:
			return errors.New(".git has too many files to look at")
		}
		return nil
	})
	if err != nil {
		return objection{why: err.Error()}
	}
	return objection{}
}

// head is what HEAD of a repository holds: a branch, or a commit.
var head = late(`^(ref: refs/[^\x00-\x20\x7f~^:?*\[\\]+|[0-9a-f]{40})\n?$`)

// valid reports whether a directory has all that git demands of a repository. Where something is missing, git goes
// on to the directory above.
func valid(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name) + "/."); err != nil || !info.IsDir() { // the point is there only for those who may enter
			return false
		}
	}
	text, err := small(filepath.Join(dir, "HEAD"), 4<<10)
	return err == nil && head().Match(text)
}

// harmless checks the directory .git.
func harmless(dir string) objection {
	for _, name := range elsewhere {
		if present(dir, name) {
			return objection{why: fmt.Sprintf("the repository has .git/%s, by which git may run or read something else", name)}
		}
	}
	if o := ownFiles(dir); o.why != "" {
		return o
	}
	if !valid(dir) {
		return objection{why: dir + " is no repository that git would take, so that it looks for another further up"}
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
	configBlank   = late(`^[ \t]*([#;].*)?$`)
	configSection = late(`^[ \t]*\[([A-Za-z]+)( "[^"\\\]]*")?\][ \t]*$`)
	configSetting = late(`^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*[^"\\\x00-\x08\x0a-\x1f]*$`)
)

// plainSettings are those that git clone, init, commit and branch write. None
// names a program, a file or another configuration.
var plainSettings = map[string][]string{
	"core":   {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol"},
	"remote": {"url", "fetch", "pushurl", "tagopt", "prune"},
	"branch": {"*"}, // they say where a branch comes from, and to editors what they noted
	"lfs":    {"repositoryformatversion"},
	"user":   {"name", "email"},
	"init":   {"defaultbranch"},
	"pull":   {"rebase", "ff"},
	"push":   {"default", "autosetupremote"},
}

// strange is the first line of a configuration that is not known to be harmless.
func strange(text string) string {
	var section string
	for line := range strings.SplitSeq(text, "\n") {
		if configBlank().MatchString(line) {
			continue
		}
		if m := configSection().FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := configSetting().FindStringSubmatch(line)
		if m == nil {
			return strings.TrimSpace(line)
		}
		name := strings.ToLower(m[1])
		known := false
		for _, k := range plainSettings[section] {
			known = known || k == name || k == "*"
		}
		if !known {
			return section + "." + name
		}
	}
	return ""
}
