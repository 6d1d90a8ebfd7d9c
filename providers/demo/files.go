package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	withSize = expression{text: `^(.+) \((\d+) bytes\)$`}
	partial  = expression{text: `^\[\d+ of (\d+) entries;.*\]$`}
	// paragraph finds the first one that is not a heading, a badge, a list or a tag.
	paragraph = expression{text: `(?m)^[ \t]*(?:\pL|\*\*)[^\n]*(?:\n[^\n#]+)*`}
	emptyDir  = expression{text: `^\(.* is empty\)$`}
)

// entry is one line of a listing.
type entry struct {
	name string
	size int // in bytes; -1 if it is not a plain file
}

// entries lists a directory; total also counts entries that are not shown. reply
// is the reply until the directory is listed.
func (t *turn) entries(dir string) (shown []entry, total int, reply string) {
	body, reply := t.use("I will look at the directory.", "list "+dir, "list_dir", map[string]any{"path": dir})
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		if m := partial.get().FindStringSubmatch(line); m != nil {
			total, _ = strconv.Atoi(m[1]) // digits
		} else if m := withSize.get().FindStringSubmatch(line); m != nil {
			size, _ := strconv.Atoi(m[2]) // digits
			shown = append(shown, entry{m[1], size})
		} else if line != "" && line[0] != '[' && !emptyDir.get().MatchString(line) {
			shown = append(shown, entry{line, -1})
		}
	}
	return shown, max(total, len(shown)), reply
}

// directory is the one that a rule found, and its name in an answer.
func directory(m []string) (dir, where string) {
	if len(m) == 0 {
		return ".", "here"
	}
	return m[0], "in " + m[0]
}

func listFiles(t *turn, m []string) string {
	dir, where := directory(m)
	shown, total, reply := t.entries(dir)
	var names []string
	for _, e := range shown {
		names = append(names, e.name)
	}
	const most = 12
	list := strings.Join(names[:min(len(names), most)], ", ")
	switch {
	case reply != "":
		return reply
	case total == 0:
		return fmt.Sprintf("There is nothing %s: the directory is empty.", where)
	case total == 1:
		return fmt.Sprintf("There is 1 entry %s: %s.", where, list)
	case total > most:
		list += fmt.Sprintf(" and %d more", total-most)
	}
	return fmt.Sprintf("There are %d entries %s: %s.", total, where, list)
}

// compareSizes answers which file is the largest, or how many there are.
func compareSizes(t *turn, m []string) string {
	dir, where := directory(m[1:])
	shown, total, reply := t.entries(dir)
	if reply != "" {
		return reply
	}
	files := slices.DeleteFunc(slices.Clone(shown), func(e entry) bool { return e.size < 0 })
	slices.SortStableFunc(files, func(a, b entry) int { return cmp.Compare(b.size, a.size) })
	which, at := strings.ToLower(m[0]), 0
	switch which {
	case "how many", "count":
		if total > len(shown) {
			return fmt.Sprintf("There are %d entries %s, more than I was shown.", total, where)
		}
		return fmt.Sprintf("Files %s: %d. Other entries: %d.", where, len(files), total-len(files))
	case "second largest":
		at = 1
	case "smallest":
		at = len(files) - 1
	}
	if at < 0 || at >= len(files) {
		return fmt.Sprintf("There are too few files %s to say.", where)
	}
	return fmt.Sprintf("The %s file %s is %s (%d bytes).", which, where, files[at].name, files[at].size)
}

var (
	pageNote  = expression{text: `\n?\[lines? (\d+)(?:-\d+)? of (at least )?(\d+)[;,\]][^\n]*$`}
	leftOut   = expression{text: `\[\.\.\. left out: (?:(\d+) lines?, )?[^\n]*\.\.\.\]`}
	described = expression{text: `^\((.+ (?:is empty|is a binary file, .*|has only .* without text))\)$`}
)

// readFile shows the beginning of a file, countLines only how many lines it has.
func readFile(t *turn, m []string) string   { return aboutFile(t, m[0], true) }
func countLines(t *turn, m []string) string { return aboutFile(t, m[0], false) }

func (t *turn) read(name string) (body, reply string) {
	return t.use("I will read "+name+".", "read "+name, "read_file", map[string]any{"path": name})
}

func aboutFile(t *turn, name string, quoted bool) string {
	body, reply := t.read(name)
	if reply != "" {
		return reply
	}
	text := strings.TrimRight(body, "\n")
	if m := described.get().FindStringSubmatch(text); m != nil {
		return m[1] + "."
	}
	n, least := strings.Count(text, "\n")+1, ""
	note, gap := pageNote.get().FindStringSubmatch(text), leftOut.get().FindStringSubmatch(text)
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
	head := name + " has " + least + lines(n)
	switch {
	case !quoted:
		return head + "."
	case note != nil || gap != nil:
		return head + ". It begins:\n\n" + show(text, "There is more.")
	}
	return head + ":\n\n" + show(text, "That is all of it.")
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// describeProject quotes the first paragraph of the README.
func describeProject(t *turn, _ []string) string {
	shown, _, reply := t.entries(".")
	at := slices.IndexFunc(shown, func(e entry) bool { return e.size >= 0 && strings.HasPrefix(strings.ToLower(e.name), "readme") })
	switch {
	case reply != "":
		return reply
	case at < 0:
		return "I found no README here."
	}
	name := shown[at].name
	body, reply := t.read(name)
	if reply != "" {
		return reply
	}
	if m := paragraph.get().FindString(body); m != "" {
		return fmt.Sprintf("%s says: %s", name, strings.Join(strings.Fields(m), " "))
	}
	return fmt.Sprintf("%s has no text that says what this is.", name)
}

// attachment is the first text that came with a question.
func (t *turn) attachment() (name, text string) {
	at := attachmentHead.get().FindStringSubmatchIndex(t.last)
	if at == nil {
		return "", ""
	}
	name = t.last[at[2]:at[3]]
	text, _, _ = strings.Cut(t.last[at[1]:], "\n--- end of "+name+" ---")
	return name, strings.TrimPrefix(text, "\n")
}

var comment = expression{text: `(?m)^[ \t]*(?://|#|--|/?\*)+[ \t]*(\pL[^\n]*(?:\n[ \t]*(?://|#|--|\*)[ \t]*\pL[^\n]*)*)`}

// describeAttachment quotes the first comment of a file, or else its first lines.
func describeAttachment(t *turn, _ []string) string {
	name, text := t.attachment()
	if name == "" {
		return "Nothing came with that question: send a file or a text along."
	}
	head := name + " has " + lines(strings.Count(text, "\n")+1)
	if m := comment.get().FindStringSubmatch(text); m != nil {
		words := strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(" \t\n/#*", r) })
		return head + ". A comment in it says: " + strings.Join(words, " ")
	}
	return head + ". It begins:\n\n" + show(text, "A language model would say more.")
}

var changedFile = expression{text: `(?m)^(?:\+\+\+ b/|--- a/)(\S.*?)\r?$`}

// commitMessage names the files of a diff.
func commitMessage(t *turn, _ []string) string {
	_, text := t.attachment()
	var names []string
	for _, m := range changedFile.get().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	switch n := len(names); {
	case n == 0:
		return "There is no diff to write about. Send along what `git diff` prints, through a pipe or in a file."
	case n > 3:
		return fmt.Sprintf("Change %s and %d more files", names[0], n-1)
	}
	return "Change " + strings.Join(names, ", ")
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
