package demo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// file is an entry that has a size.
type file struct {
	name string
	size int
}

// listing is what list_dir returned.
type listing struct {
	names []string // all that are shown
	files []file   // those that are plain files
	dirs  int
	total int // entries, also those that are not shown
}

func withSize() *regexp.Regexp { return lazy(`^(.+) \((\d+) bytes\)$`) }
func partial() *regexp.Regexp  { return lazy(`^\[\d+ of (\d+) entries;.*\]$`) }
func emptyDir() *regexp.Regexp { return lazy(`^\(.* is empty\)$`) }

// look lists a directory; reply is the reply until it is listed.
func (t *turn) look(dir string) (l listing, reply string) {
	o, reply := t.use("I will look at the directory.", "list_dir", map[string]any{"path": dir})
	if reply == "" && !o.ok {
		reply = failed("list "+dir, o)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(o.body), "\n") {
		if m := partial().FindStringSubmatch(line); m != nil {
			l.total, _ = strconv.Atoi(m[1])
		} else if m := withSize().FindStringSubmatch(line); m != nil {
			size, _ := strconv.Atoi(m[2]) // digits
			l.names, l.files = append(l.names, m[1]), append(l.files, file{m[1], size})
		} else if line != "" && line[0] != '[' && !emptyDir().MatchString(line) {
			l.names = append(l.names, line)
			if strings.HasSuffix(line, "/") && !strings.Contains(line, " -> ") {
				l.dirs++
			}
		}
	}
	l.total = max(l.total, len(l.names))
	return l, reply
}

// directory is the one that a rule found, and how to call it.
func directory(m []string) (dir, where string) {
	if len(m) == 0 {
		return ".", "here"
	}
	return m[len(m)-1], "in " + m[len(m)-1]
}

func listFiles(t *turn, m []string) string {
	dir, where := directory(m)
	l, reply := t.look(dir)
	switch {
	case reply != "":
		return reply
	case l.total == 0:
		return fmt.Sprintf("There is nothing %s: the directory is empty.", where)
	case l.total == 1:
		return fmt.Sprintf("There is 1 entry %s: %s.", where, l.names[0])
	}
	const most = 12
	names := strings.Join(l.names[:min(len(l.names), most)], ", ")
	if l.total > most {
		names += fmt.Sprintf(" and %d more", l.total-most)
	}
	return fmt.Sprintf("There are %d entries %s: %s.", l.total, where, names)
}

func countFiles(t *turn, m []string) string {
	dir, where := directory(m)
	l, reply := t.look(dir)
	switch {
	case reply != "":
		return reply
	case l.total > len(l.names):
		return fmt.Sprintf("There are %d entries %s, more than I was shown.", l.total, where)
	}
	return fmt.Sprintf("I count %s and %s %s.", plural(len(l.files), "file", "files"),
		plural(l.dirs, "directory", "directories"), where)
}

// compareSizes answers which file is the largest, or a similar question.
func compareSizes(t *turn, m []string) string {
	dir, where := directory(m[1:])
	l, reply := t.look(dir)
	if reply != "" {
		return reply
	}
	which, at := strings.ToLower(m[0]), 0
	slices.SortStableFunc(l.files, func(a, b file) int { return cmp.Compare(b.size, a.size) })
	switch which {
	case "second largest":
		at = 1
	case "smallest":
		at = len(l.files) - 1
	}
	if at < 0 || at >= len(l.files) {
		return fmt.Sprintf("There are too few files %s to say.", where)
	}
	return fmt.Sprintf("The %s of the %s %s is %s, with %s.", which, plural(len(l.files), "file", "files"), where,
		l.files[at].name, plural(l.files[at].size, "byte", "bytes"))
}

// content is what read_file returned.
type content struct {
	text  string // the lines, or a description in parentheses
	lines string // how many the file has, in words
	cut   bool   // text is not all of it
	odd   bool   // text is a description
}

func pageNote() *regexp.Regexp {
	return lazy(`\n?\[lines? (\d+)(?:-\d+)? of (at least )?(\d+)[;,\]][^\n]*$`)
}
func shortened() *regexp.Regexp { return lazy(`\[\.\.\. left out: \d+ [^\n]*\.\.\.\]`) }
func described() *regexp.Regexp {
	return lazy(`^\((.+ (?:is empty|is a binary file, .*|holds nothing but .*))\)$`)
}

// fetch reads a file; reply is the reply until it is read.
func (t *turn) fetch(name string) (c content, reply string) {
	args := map[string]any{"path": name}
	o, reply := t.use("I will read "+name+".", "read_file", args)
	if reply == "" && shortened().MatchString(o.body) { // a page says how many lines there are
		args["start_line"], args["end_line"] = 1, shownLines
		o, reply = t.use("That is too long to be shown at once. I will read its beginning.", "read_file", args)
	}
	if reply == "" && !o.ok {
		reply = failed("read "+name, o)
	}
	c.text = strings.TrimRight(o.body, "\n")
	if m := pageNote().FindStringSubmatch(c.text); m != nil {
		n, _ := strconv.Atoi(m[3])
		c.text, c.lines, c.cut = c.text[:len(c.text)-len(m[0])], m[2]+plural(n, "line", "lines"), true
		return c, reply
	}
	if m := described().FindStringSubmatch(c.text); m != nil {
		c.text, c.odd = m[1]+".", true
	}
	c.lines = plural(lineCount(c.text), "line", "lines")
	return c, reply
}

// about reads a file and answers a question about its lines.
func (t *turn) about(name string, say func(c content) string) string {
	c, reply := t.fetch(name)
	switch {
	case reply != "":
		return reply
	case c.odd:
		return c.text
	}
	return fmt.Sprintf("%s has %s", name, say(c))
}

func countLines(t *turn, m []string) string {
	return t.about(m[0], func(c content) string { return c.lines + "." })
}

func readFile(t *turn, m []string) string {
	return t.about(m[0], func(c content) string {
		if c.cut {
			return fmt.Sprintf("%s. It begins:\n\n%s", c.lines, show(c.text, "There is more."))
		}
		return fmt.Sprintf("%s:\n\n%s", c.lines, show(c.text, "That is all of it."))
	})
}

// tellAbout quotes the beginning of the README.
func tellAbout(t *turn, _ []string) string {
	l, reply := t.look(".")
	if reply != "" {
		return reply
	}
	at := slices.IndexFunc(l.files, func(f file) bool { return strings.HasPrefix(strings.ToLower(f.name), "readme") })
	if at < 0 {
		return fmt.Sprintf("I found no README among the %s here.", plural(l.total, "entry", "entries"))
	}
	name := l.files[at].name
	c, reply := t.fetch(name)
	if reply != "" {
		return reply
	}
	var title string
	var prose []string
	for line := range strings.SplitSeq(c.text, "\n") {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "#") && title == "":
			title = strings.TrimSpace(strings.TrimLeft(line, "#"))
		case line != "" && line[0] != '#' && (len(prose) > 0 || strings.IndexByte("!<`|=-[*", line[0]) < 0):
			prose = append(prose, line)
			continue
		}
		if len(prose) > 0 {
			break
		}
	}
	if len(prose) == 0 {
		return fmt.Sprintf("%s has %s, but no text that says what this is.", name, c.lines)
	}
	return fmt.Sprintf("According to %s (%s): %s", name, cmp.Or(title, "no title"), strings.Join(prose, " "))
}

// shownLines is how much of a text an answer quotes.
const shownLines = 20

// show quotes a text, shortened to its first lines, in a fence with a sentence
// below it: a fence that ends a reply can be taken for a call.
func show(text, after string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > shownLines {
		after = fmt.Sprintf("These are the first %d lines of %d.", shownLines, len(lines))
		lines = lines[:shownLines]
	}
	text = strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n\n" + after
}

func lineCount(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
