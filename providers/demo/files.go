package demo

import (
	"fmt"
	"strconv"
	"strings"
)

var (
	withSize = lazy(`^(.+) \(\d+ bytes\)$`)
	partial  = lazy(`^\[\d+ of (\d+) entries;.*\]$`)
	emptyDir = lazy(`^\(.* is empty\)$`)
)

// listFiles answers from what list_dir returned.
func listFiles(t *turn, m []string) string {
	dir, where := ".", "here"
	if len(m) > 0 {
		dir, where = m[0], "in "+m[0]
	}
	o, reply := t.use("I will look at the directory.", "list_dir", map[string]any{"path": dir})
	switch {
	case reply != "":
		return reply
	case !o.ok:
		return failed("list "+dir, o)
	}
	var names []string
	total := 0
	for line := range strings.SplitSeq(strings.TrimSpace(o.body), "\n") {
		if m := partial().FindStringSubmatch(line); m != nil {
			total, _ = strconv.Atoi(m[1]) // digits
		} else if line != "" && line[0] != '[' && !emptyDir().MatchString(line) {
			names = append(names, withSize().ReplaceAllString(line, "$1"))
		}
	}
	const most = 12
	total = max(total, len(names))
	list := strings.Join(names[:min(len(names), most)], ", ")
	switch {
	case total == 0:
		return fmt.Sprintf("There is nothing %s: the directory is empty.", where)
	case total == 1:
		return fmt.Sprintf("There is 1 entry %s: %s.", where, list)
	case total > most:
		list += fmt.Sprintf(" and %d more", total-most)
	}
	return fmt.Sprintf("There are %d entries %s: %s.", total, where, list)
}

var (
	pageNote  = lazy(`\n?\[lines? (\d+)(?:-\d+)? of (at least )?(\d+)[;,\]][^\n]*$`)
	leftOut   = lazy(`\[\.\.\. left out: (?:(\d+) lines?, )?[^\n]*\.\.\.\]`)
	described = lazy(`^\((.+ (?:is empty|is a binary file, .*|holds nothing but .*))\)$`)
)

// readFile shows the beginning of a file, countLines only how many lines it has.
func readFile(t *turn, m []string) string   { return aboutFile(t, m[0], true) }
func countLines(t *turn, m []string) string { return aboutFile(t, m[0], false) }

func aboutFile(t *turn, name string, quoted bool) string {
	o, reply := t.use("I will read "+name+".", "read_file", map[string]any{"path": name})
	switch {
	case reply != "":
		return reply
	case !o.ok:
		return failed("read "+name, o)
	}
	text := strings.TrimRight(o.body, "\n")
	if m := described().FindStringSubmatch(text); m != nil {
		return m[1] + "."
	}
	n, least := strings.Count(text, "\n")+1, ""
	note, gap := pageNote().FindStringSubmatch(text), leftOut().FindStringSubmatch(text)
	switch {
	case note != nil:
		least = note[2]
		n, _ = strconv.Atoi(note[3]) // digits
		text = strings.TrimSuffix(text, note[0])
	case gap != nil && gap[1] == "": // a part of a line
		least = "at least "
	case gap != nil:
		hidden, _ := strconv.Atoi(gap[1]) // digits
		n += hidden - 1
	}
	head := fmt.Sprintf("%s has %s%d lines", name, least, n)
	if n == 1 {
		head = name + " has 1 line"
	}
	switch {
	case !quoted:
		return head + "."
	case note != nil || gap != nil:
		return head + ". It begins:\n\n" + show(text, "There is more.")
	}
	return head + ":\n\n" + show(text, "That is all of it.")
}

// shownLines is how much of a text an answer quotes.
const shownLines = 20

// show quotes a text, shortened to its first lines, in a fence with a sentence
// below it: a fence that ends a reply can be taken for a call.
func show(text, after string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > shownLines {
		lines, after = lines[:shownLines], fmt.Sprintf("These are the first %d lines.", shownLines)
	}
	text = strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n\n" + after
}
