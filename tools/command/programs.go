package command

import (
	"fmt"
	"slices"
	"strings"
)

// operands are what the arguments of a program that are no flags mean.
type operands int

const (
	paths   operands = iota // files and directories
	files                   // files: directories would be entered and links in them followed
	text                    // no files at all
	pattern                 // the first one is a pattern, the rest are paths
	nothing                 // there may be none
)

// sharing is what may stand in one word with the letter of a flag. Whoever is
// wrong about where a value ends takes -o for one.
type sharing int

const (
	getopt sharing = iota // as getopt has it: letters, and then the value of the last one
	first                 // a letter with a value is the first one
	apart                 // values are words of their own, in the order of their letters: tree
	alone                 // nothing but the value: xxd
)

// program is how a program may be called to only read. A flag that is not listed
// is not known to: most that are missing follow links, write, or run something.
type program struct {
	flags  string   // letters of flags without a value
	valued string   // letters of flags with a value that is no file
	counts string   // letters of flags that may have a number right behind them, and nothing else
	long   []string // names of long flags; "name=" takes a value, "name?" may, behind =
	widths string   // letters of flags whose value makes room; of long ones all count
	number bool     // -5 is a flag
	shares sharing
	args   operands
	most   int // operands; 0: any number. Where it counts, patterns stand for too many.
	check  func(c *parsed, at Place) objection
}

// parsed are the arguments of a call, sorted.
type parsed struct {
	name     string
	flags    []string // "-n", "--color"
	operands []word
}

func (p *parsed) has(flag string) bool {
	for _, f := range p.flags {
		if f == flag {
			return true
		}
	}
	return false
}

var grepLong = []string{"color?", "colour?", "count", "ignore-case", "line-number", "files-with-matches", "files-without-match", "word-regexp",
	"extended-regexp", "fixed-strings", "invert-match", "only-matching", "no-messages", "quiet", "recursive", "include=", "exclude=", "exclude-dir=",
	"max-count=", "context=", "after-context=", "before-context=", "regexp=", "with-filename", "no-filename", "text"}

var grep = program{flags: "nilLcwxvoEFGPsqHhraI", valued: "ABCme", long: grepLong, args: pattern, number: true}

var digest = program{flags: "bt"}

// programs are those that can only read. What is missing: whatever runs other
// programs, follows what it finds (ps, printenv), waits (sleep, tail -f), or writes to a file
// by an operand (uniq a b, which is limited to one).
var programs = map[string]program{
	"ls":   {flags: "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1", long: []string{"all", "almost-all", "color?", "human-readable", "group-directories-first", "sort=", "time=", "full-time", "recursive", "reverse", "directory", "size", "inode"}},
	"cat":  {flags: "nbsAetvETu", long: []string{"number", "show-all"}},
	"tac":  {},
	"nl":   {valued: "bwsnv", widths: "w"},
	"rev":  {},
	"head": {flags: "qv", valued: "nc", counts: "nc", long: []string{"lines=", "bytes=", "quiet"}, number: true},
	"tail": {flags: "qv", valued: "nc", counts: "nc", long: []string{"lines=", "bytes=", "quiet"}, number: true, shares: first, check: ended},
	"wc":   {flags: "lwcmL", long: []string{"lines", "words", "bytes", "chars"}},
	"stat": {valued: "c", widths: "c", long: []string{"format=", "printf="}},
	"du":   {flags: "shackmbxS", valued: "d", long: []string{"max-depth=", "summarize", "human-readable", "all", "total", "apparent-size"}},
	"file": {flags: "bi", long: []string{"brief", "mime", "mime-type", "mime-encoding"}},
	"tree": {flags: "adfshpugDiCnF", valued: "LIP", shares: apart, long: []string{"dirsfirst", "noreport"}},

	"grep": grep, "egrep": grep, "fgrep": grep,
	"rg": {flags: "nNilcwvoFSsHhaUx.", valued: "ABCmegtT", args: pattern, check: ripgrep,
		long: []string{"files", "hidden", "no-ignore", "glob=", "type=", "type-not=", "count", "color=", "heading", "no-heading", "line-number", "ignore-case", "smart-case", "files-with-matches", "fixed-strings", "word-regexp", "max-count=", "max-depth=", "context=", "after-context=", "before-context=", "regexp=", "multiline", "json", "sort=", "stats", "trim", "vimgrep", "no-config"}},

	"diff": {flags: "uqywBbiacps", valued: "UC", long: []string{"color?", "unified?", "brief", "side-by-side", "ignore-all-space", "ignore-space-change", "ignore-blank-lines"}, number: true, args: files, most: 2},
	"cmp":  {flags: "lsb", args: files, most: 2},
	"comm": {flags: "123", args: files, most: 2},

	"sort":   {flags: "nruhVbfdiMscCzg", valued: "kt", long: []string{"numeric-sort", "reverse", "unique", "human-numeric-sort", "version-sort", "key=", "field-separator=", "ignore-case", "check"}},
	"uniq":   {flags: "cdui", valued: "fsw", long: []string{"count", "repeated", "unique", "ignore-case"}, most: 1},
	"cut":    {flags: "sn", valued: "dfcb", widths: "fcb", long: []string{"delimiter=", "fields=", "characters=", "bytes=", "output-delimiter=", "complement", "only-delimited"}},
	"paste":  {flags: "s", valued: "d"},
	"fold":   {flags: "s", valued: "w", widths: "w"},
	"expand": {valued: "t", widths: "t"},
	"column": {flags: "t", valued: "s"},
	"tr":     {flags: "dscC", args: text, check: translation},
	"od":     {flags: "cxbdov", valued: "AtNj"},
	"xxd":    {flags: "pbiu", valued: "lscg", widths: "cg", shares: alone, most: 1},

	"md5sum": digest, "sha1sum": digest, "sha256sum": digest, "sha512sum": digest, "cksum": {},

	"pwd":      {flags: "LP", args: nothing},
	"echo":     {args: text},
	"printf":   {args: text, check: format},
	"true":     {args: nothing},
	"false":    {args: nothing},
	"test":     {args: paths, check: condition},
	"[":        {args: paths, check: condition},
	"basename": {args: text, valued: "s", flags: "a"},
	"dirname":  {args: text},
	"realpath": {flags: "e"},
	"readlink": {flags: "efn"},
	"seq":      {args: text, valued: "sf", widths: "f", flags: "w", check: counting},
	"date":     {args: text, flags: "uR", counts: "I", long: []string{"utc", "iso-8601?", "rfc-3339="}, check: clock},
	"uname":    {args: nothing, flags: "asnrvmpoi"},
	"whoami":   {args: nothing},
	"id":       {args: nothing, flags: "ugnG"},
	"nproc":    {args: nothing},
	"arch":     {args: nothing},
	"which":    {args: text, flags: "a"},
	"type":     {args: text},
	"command":  {args: text, flags: "vV"}, // see parse
	"df":       {flags: "hkTiPal"},

	"jq":   {flags: "rcnesSMCaj", long: []string{"raw-output", "compact-output", "null-input", "slurp", "sort-keys", "tab", "exit-status"}, args: pattern, check: filter},
	"awk":  {valued: "F", args: pattern, shares: first, check: prints},
	"sed":  {flags: "nE", args: pattern, check: selection},
	"go":   {args: text, check: goVersion},
	"find": {}, "git": {}, // these have functions of their own
}

// known tells whether a program with these arguments only reads.
func known(name string, args []word, at Place) objection {
	p, ok := programs[name]
	switch {
	case at.version(name, args):
		return objection{}
	case !ok:
		return objection{why: fmt.Sprintf("%s is not among the programs that only read", quotedName(name))}
	case slices.Contains(searching, name) && explosive(name, args).why != "":
		return explosive(name, args)
	case name == "find":
		return find(args, at)
	case name == "git":
		return git(args, at)
	}
	c, o := p.parse(name, args, at)
	if o.why == "" && p.check != nil {
		o = p.check(c, at)
	}
	if o.why != "" {
		return o
	}
	return p.operands(c, at)
}

func quotedName(name string) string {
	if len(name) > 40 {
		name = name[:40] + "..."
	}
	return name
}

// parse sorts the arguments into flags and operands.
func (p program) parse(name string, args []word, at Place) (*parsed, objection) {
	c := &parsed{name: name}
	if name == "echo" || name == "printf" || name == "test" || name == "[" || name == "go" {
		c.operands = args // their arguments are words, whatever they look like
		return c, objection{}
	}
	if name == "command" && (len(args) == 0 || args[0].text != "-v" && args[0].text != "-V") {
		return nil, objection{why: "command starts another program"} // also with -v behind its name
	}
	for i := 0; i < len(args); i++ {
		t, behind := args[i].text, len(c.operands) > 0
		if len(t) < 2 || t[0] != '-' || name == "seq" && isAmount(t) {
			c.operands = append(c.operands, args[i])
			continue
		}
		if o := p.late(name, t, at); behind && o.why != "" {
			return nil, o
		}
		if t == "--" {
			if p.shares == alone {
				return nil, unknown(name, t)
			}
			c.operands = append(c.operands, args[i+1:]...)
			return c, objection{}
		}
		takes, o := p.flag(c, t)
		if o.why != "" {
			return nil, o
		}
		if takes && i+1 < len(args) {
			i++
			if o := p.value(name, t, args[i], behind, at); o.why != "" {
				return nil, o
			}
		}
	}
	return c, objection{}
}

// late checks a flag that stands behind a file. Not every system's program takes
// it for a flag there; xxd and some uniq write to a file of this name.
func (p program) late(name, t string, at Place) objection {
	if p.most == 1 {
		return objection{why: fmt.Sprintf("%s may write to %s, which stands behind a file", name, quotedName(t))}
	}
	return at.path(t)
}

// value checks the word behind a flag that takes it. Were it not taken, it would be a flag
// or a file.
func (p program) value(name, flag string, w word, behind bool, at Place) objection {
	amount := isAmount(w.text)
	switch last := flag[len(flag)-1:]; {
	case strings.Contains(p.widths, last) && wide().MatchString(w.text):
		return roomy(name, w, wide())
	case w.glob:
		return objection{why: fmt.Sprintf("%s %s takes the first file that the pattern %s stands for", name, quotedName(flag), w.text)}
	case strings.HasPrefix(w.text, "-") && !amount, strings.Contains(p.counts, last) && flag[1] != '-' && !amount:
		return objection{why: fmt.Sprintf("%s %s %s is not known to only read", name, quotedName(flag), quotedName(w.text))}
	case behind:
		return at.path(w.text)
	}
	return objection{}
}

// isAmount reports whether a text is a number with a sign, as head -n takes it.
func isAmount(t string) bool {
	t = strings.TrimRight(strings.TrimLeft(t, "+-"), "kKMGbB")
	return t != "" && strings.Trim(t, "0123456789") == ""
}

// flag reads a word that is a flag, or several. takes tells that the next word
// is its value.
func (p program) flag(c *parsed, t string) (takes bool, o objection) {
	if !strings.HasPrefix(t, "--") {
		return p.letters(c, t)
	}
	flag, _, has := strings.Cut(t, "=")
	kind := p.longFlag(flag[2:])
	switch {
	case kind == 0 || kind == ' ' && has, p.widths != "" && wide().MatchString(t),
		kind == '=' && !has && strings.HasPrefix(c.name, "git "): // which does not always take the next word
		return false, unknown(c.name, flag)
	}
	c.flags = append(c.flags, flag)
	return kind == '=' && !has, o
}

// counted is what may follow a flag that has its value right behind it, or none:
// -U5, -M90%, -uno, -Iseconds.
var counted = late(`^([0-9+]*%?|no|normal|all|date|hours|minutes|seconds|ns)$`)

// letters reads a word of short flags.
func (p program) letters(c *parsed, t string) (takes bool, o objection) {
	if p.number && strings.Trim(t[1:], "0123456789") == "" {
		return false, o
	}
	for i, r := range t[1:] {
		flag, rest := "-"+string(r), t[1+i+len(string(r)):]
		c.flags = append(c.flags, flag)
		valued, counts := strings.ContainsRune(p.valued, r), strings.ContainsRune(p.counts, r)
		switch {
		case counts && !counted().MatchString(rest), strings.ContainsRune(p.widths, r) && wide().MatchString(rest):
			return false, unknown(c.name, t)
		case valued && p.mayStand(i, rest):
			return rest == "", o
		case counts && !valued:
			return false, o
		case !strings.ContainsRune(p.flags, r) || p.shares == alone && len(t) > 2:
			return false, unknown(c.name, t)
		}
	}
	return false, o
}

// mayStand reports whether a letter with a value may be the one with this index
// in its word, with the rest behind it.
func (p program) mayStand(i int, rest string) bool {
	switch p.shares {
	case getopt:
		return true
	case apart:
		return rest == ""
	}
	return i == 0
}

func unknown(name, flag string) objection {
	return objection{why: fmt.Sprintf("%s %s is not known to only read", name, quotedName(flag))}
}

// longFlag is how a long flag takes a value: '=' always, '?' perhaps, ' ' never;
// 0 if it is not known.
func (p program) longFlag(name string) byte {
	for _, l := range p.long {
		base := strings.TrimRight(l, "=?")
		if base == name {
			if l == base {
				return ' '
			}
			return l[len(l)-1]
		}
	}
	return 0
}

// operands checks what is no flag.
func (p program) operands(c *parsed, at Place) objection {
	list := c.operands
	if p.most > 0 {
		for _, w := range list {
			if w.glob {
				return objection{why: fmt.Sprintf("%s may get more files than it only reads", c.name)}
			}
		}
		if len(list) > p.most {
			return objection{why: fmt.Sprintf("%s may write to the last of so many files", c.name)}
		}
	}
	switch p.args {
	case text:
		return objection{}
	case nothing:
		if len(list) > 0 {
			return objection{why: fmt.Sprintf("%s %s is not known to only read", c.name, quotedName(list[0].text))}
		}
	case pattern:
		if !c.has("-e") && !c.has("--regexp") && !c.has("--files") && len(list) > 0 {
			list = list[1:]
		}
	}
	for _, w := range list {
		if w.glob {
			continue // judged by the names that it stands for
		}
		if o := at.path(w.text); o.why != "" {
			return o
		}
		if p.args == files && at.isDir(w.text) {
			return objection{why: fmt.Sprintf("%s follows links in a directory (%s)", c.name, w.text)}
		}
	}
	return objection{}
}
