package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func (at Place) isDir(text string) bool {
	if !filepath.IsAbs(text) {
		text = filepath.Join(at.Dir, text)
	}
	info, err := os.Stat(text)
	return err == nil && info.IsDir()
}

// ripgrep reads flags from a file that a variable names. One of the user's own is
// his affair, one in the workspace is not.
func ripgrep(c *parsed, at Place) objection {
	if config, _ := at.variable("RIPGREP_CONFIG_PATH"); config != "" && !c.has("--no-config") {
		if real, err := filepath.EvalSymlinks(config); !filepath.IsAbs(config) || err != nil || at.within(real) {
			return objection{why: "rg reads its flags from " + config}
		}
	}
	return objection{}
}

// verbs are the conversions of printf that only print, in widths that fit the memory. %n is none of them: Bash
// evaluates what it names.
var verbs = late(`%[-+ #0]*[0-9]{0,3}(\.[0-9]{1,3})?[sdiuxXocbeEfgGq%]`)

func format(c *parsed, _ Place) objection {
	if len(c.operands) == 0 {
		return objection{}
	}
	first := c.operands[0]
	if strings.HasPrefix(first.text, "-") || first.glob {
		return objection{why: "printf with a flag is not known to only read"}
	}
	for _, w := range c.operands[1:] { // some shells calculate where a number is wanted
		if w.glob || strings.ContainsAny(w.text, "[$`") {
			return objection{why: fmt.Sprintf("printf of %s is not known to only read", quotedName(w.text))}
		}
	}
	if strings.Contains(verbs().ReplaceAllString(first.text, ""), "%") {
		return objection{why: "printf with an unusual format is not known to only read"}
	}
	return objection{}
}

// tests are the operators of test that evaluate nothing. -v and -R are missing:
// Bash evaluates the index of an array in them.
var tests = strings.Fields("-e -f -d -r -w -x -s -L -h -p -S -b -c -z -n = != -eq -ne -gt -ge -lt -le -nt -ot -ef ! -a -o")

func condition(c *parsed, _ Place) objection {
	list := c.operands
	if c.name == "[" {
		if len(list) == 0 || list[len(list)-1].text != "]" {
			return objection{why: "[ without ]"}
		}
		list = list[:len(list)-1]
		c.operands = list
	}
	for _, w := range list {
		operator := strings.HasPrefix(w.text, "-") && !slices.Contains(tests, w.text) && strings.Trim(w.text[1:], "0123456789") != ""
		if operator || w.glob || strings.ContainsAny(w.text, "[$`") {
			return objection{why: fmt.Sprintf("test %s is not known to only read", quotedName(w.text))}
		}
	}
	return objection{}
}

// clock lets date print: an operand without + sets it.
func clock(c *parsed, _ Place) objection {
	for _, w := range c.operands {
		if w.glob || !strings.HasPrefix(w.text, "+") {
			return objection{why: "date sets the clock"}
		}
		if o := roomy("date", w, wideFormat()); o.why != "" {
			return o
		}
	}
	return objection{}
}

// reaching are the functions of jq that read more than its input.
var reaching = late(`env|ENV|import|include|modulemeta|get_search_list|input_filename|\$__`)

// endless are the words of jq's language that make more of what they are given.
var endless = late(`\b(def|range|repeat|while|until|recurse|limit|combinations|reduce|foreach|setpath|pow|pow10|exp|exp2|exp10|ldexp|scalb|scalbln|infinite)\b`)

// jqText is a text in jq's language; one with a \( in it holds a filter.
var jqText = late(oneText)

const oneText = `"([^"\\]|\\[^(])*"`

// jqIndex and jqSets are an index that is no text, and an assignment: both together make an array as long
// as the index says.
var (
	jqIndex = late(`\[\s*[^\s\]"]`)
	jqSets  = late(`[^=!<>]=([^=]|$)`)
)

// jqReplace are the functions that replace, and jqReplaces are calls of them that end: sub in its place alone, and both of
// something that is not empty. Of what may be empty jq finds no end, and the flag x makes blanks nothing.
var (
	jqReplace  = late(`\bg?sub\b`)
	jqReplaces = late(`\bsub\(\s*` + oneText + `\s*;\s*` + oneText + `\s*\)|` +
		`\bg?sub\(\s*"([^"*?|{}()^$\\]|\\\\[swdn.])+"\s*;\s*` + oneText + `\s*(;\s*"[gin]*"\s*)?\)`)
)

// filling reports whether a filter may make something of any size, or without end: texts multiplied, wide times, arrays with holes.
func filling(filter string) bool {
	if wideFormat().MatchString(filter) || len(jqReplaces().FindAllString(filter, -1)) < len(jqReplace().FindAllString(filter, -1)) {
		return true
	}
	rest := jqText().ReplaceAllString(filter, `"`)
	return strings.Contains(rest, "*") || jqIndex().MatchString(rest) && jqSets().MatchString(rest)
}

func filter(c *parsed, _ Place) objection {
	if len(c.operands) == 0 {
		return objection{}
	}
	if w := c.operands[0]; w.glob || reaching().MatchString(w.text) {
		return objection{why: "jq with this filter may read more than its input"}
	} else if endless().MatchString(w.text) || filling(w.text) {
		return objection{why: "jq with this filter may not end"}
	}
	return objection{}
}

// ranges is the one kind of sed program that is known: print some lines.
var ranges = late(`^(` + oneRange + `)(;(` + oneRange + `))*$`)

const oneRange = `[0-9]+(,([0-9]+|\$))?[pdq]|\$p`

func selection(c *parsed, _ Place) objection {
	if len(c.operands) == 0 || !ranges().MatchString(c.operands[0].text) {
		return objection{why: "sed is only known to read when it prints a range of lines"}
	}
	return objection{}
}

// ended are the operands of a program that is asked to follow a file by one of
// them: +3f is a flag of GNU's tail, in its old form.
func ended(c *parsed, _ Place) objection {
	for _, w := range c.operands {
		if strings.HasPrefix(w.text, "+") {
			return objection{why: "tail may take " + quotedName(w.text) + " for a flag"}
		}
	}
	return objection{}
}

// counting lets seq count as far as somebody reads.
func counting(c *parsed, _ Place) objection {
	for i, w := range c.operands {
		if i == 1 && len(c.operands) == 3 && strings.Trim(w.text, "-0") == "" {
			return objection{why: "seq in steps of nothing does not end"}
		}
		if digits := strings.TrimPrefix(w.text, "-"); len(digits) > 6 || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return objection{why: "seq may not end, or end late"}
		}
	}
	return objection{}
}

// versions are programs that print their version and look at no file of the
// project for it. rustc, cargo, npm, yarn and pnpm are none of them: a file of the project says which version runs.
var versions = strings.Fields("python python3 node ruby perl php lua gcc g++ cc c++ clang clang++ make gmake cmake ninja bash sqlite3 psql docker git jq rg java javac")

// systemDirs are where programs are that nobody puts together for a project. Those in a home directory may be the
// shims of a version manager.
var systemDirs = []string{"/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/sbin", "/sbin"}

// version reports whether a call only has a program say its version, and
// whether that is known to read nothing else.
func (at Place) version(name string, args []word) bool {
	if len(args) != 1 || args[0].text != "--version" || !slices.Contains(versions, name) {
		return false
	}
	path, _ := at.variable("PATH")
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if _, err := os.Lstat(file); err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		inSystem := slices.ContainsFunc([]string{"/usr/", "/bin/", "/opt/homebrew/", "/etc/alternatives/"}, func(dir string) bool { return strings.HasPrefix(real, dir) })
		base := filepath.Base(real)
		return err == nil && slices.Contains(systemDirs, dir) && inSystem && !at.within(real) &&
			(strings.Contains(base, strings.TrimRight(name, "3+")) || name == "cc" || name == "c++")
	}
	return true // there is none
}

// goVersion lets go version print. In a module it may fetch and run another Go,
// if go.mod or go.work names one.
func goVersion(c *parsed, at Place) objection {
	if len(c.operands) == 0 {
		return objection{why: "go without a subcommand"}
	}
	if name := c.operands[0].text; name != "version" || len(c.operands) > 1 {
		return objection{why: fmt.Sprintf("go %s is not known to only read", quotedName(name))}
	}
	if chain, _ := at.variable("GOTOOLCHAIN"); chain == "local" {
		return objection{}
	}
	for dir := at.Dir; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"go.mod", "go.work"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return objection{why: fmt.Sprintf("go fetches and runs the version of Go that %s asks for", name)}
			}
		}
		if dir == filepath.Dir(dir) {
			return objection{}
		}
	}
}

// tests of find, by whether they take a value.
var (
	findAlone  = strings.Fields("-print -print0 -prune -depth -empty -true -false -not -a -and -o -or ! ( ) , -xdev -mount -quit -ls -readable -writable -executable -nouser -nogroup -daystart")
	findValued = strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -size -mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -perm -user -group -links -printf -newermt")
	findFile   = strings.Fields("-newer -anewer -cnewer -samefile")
)

// find knows the tests that only look. -exec, -ok, -delete, -fprint, -fls and
// -follow are not among them.
func find(args []word, at Place) objection {
	start := true // the directories come first
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if start && (t == "" || t[0] != '-' && t != "!" && t != "(" && t != ",") {
			if o := at.path(t); o.why != "" && !args[i].glob {
				return o
			}
			continue
		}
		start = false
		switch {
		case slices.Contains(findAlone, t):
		case slices.Contains(findValued, t):
			if i++; i < len(args) && args[i].glob {
				return objection{why: fmt.Sprintf("find %s with a pattern that the shell may replace first; quote it", t)}
			} else if t == "-printf" && i < len(args) && wideFormat().MatchString(args[i].text) {
				return roomy("find -printf", args[i], wideFormat())
			}
		case slices.Contains(findFile, t):
			if i++; i < len(args) {
				if o := at.path(args[i].text); o.why != "" {
					return o
				}
			}
		default:
			return unknown("find", t)
		}
	}
	return objection{}
}
