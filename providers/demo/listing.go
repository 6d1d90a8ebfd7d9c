package demo

import (
	"fmt"
	"strconv"
	"strings"
)

var (
	listForms = []string{
		`(?:list|show|display)(?: me)?(?: all)?(?: of)?(?: the| my)? (?:files|directory|folder|entries|contents?|everything)(?: and (?:folders|directories))?` + where,
		`(?:what|which) (?:files|folders|directories|entries)(?: and \w+)? (?:are|do|can|exist)(?: there| we have| i have| you see| exist)?` + where,
		`(?:what(?:'s| is| do you see)|list|ls|dir)(?: in)? ?` + here,
		`what(?:'s| is) in the (?:directory|folder) ` + path,
		`what(?:'s| is) in (?:the )?` + path + ` (?:directory|folder)`,
		`(?:list|ls|dir)(?: the)?(?: directory| folder)?(?: ` + path + `)?`,
	}
	countForms = []string{
		`(?:how many|count)(?: the| all| of)*(?: files| directories| folders| entries)(?: and (?:folders|directories))?(?: are| do| does| is| we| i| you| have| see| exist)*(?: there)?` + where,
	}
	partial  = lazy(`^\[(\d+) of (\d+) entries;.*\]$`)
	withSize = lazy(`^(.+) \((\d+) bytes\)$`)
	emptyDir = lazy(`^\(.* is empty\)$`)
)

// listing is what list_dir told of a directory.
type listing struct {
	dirs, files, others []string
	total               int // entries, also those that are not shown
}

func readListing(body string) listing {
	var l listing
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		if m := partial().FindStringSubmatch(line); m != nil {
			l.total, _ = strconv.Atoi(m[2])
			continue
		}
		switch m := withSize().FindStringSubmatch(line); {
		case line == "" || line[0] == '[' || emptyDir().MatchString(line):
		case m != nil:
			l.files = append(l.files, m[1])
		case strings.HasSuffix(line, "/") && !strings.Contains(line, " -> "):
			l.dirs = append(l.dirs, line)
		default:
			l.others = append(l.others, line)
		}
	}
	l.total = max(l.total, l.shown())
	return l
}

func (l listing) shown() int { return len(l.dirs) + len(l.files) + len(l.others) }

// summary says how much of what there is: "4 directories (a/, b/, …) and 2 files (…)".
func (l listing) summary() string {
	var parts []string
	for _, kind := range []struct {
		names []string
		what  string
	}{{l.dirs, "directory"}, {l.files, "file"}, {l.others, "other entry"}} {
		if n := len(kind.names); n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", plural(n, kind.what), someOf(kind.names)))
		}
	}
	if len(parts) == 3 {
		return parts[0] + ", " + parts[1] + " and " + parts[2]
	}
	return strings.Join(parts, " and ")
}

// sentence tells what is in dir.
func (l listing) sentence(dir string) string {
	where := "in " + dir
	if dir == "." {
		where = "here"
	}
	switch {
	case l.total == 0:
		return fmt.Sprintf("There is nothing %s: the directory is empty.", where)
	case l.total == 1:
		return fmt.Sprintf("There is 1 entry %s: %s.", where, l.summary())
	case l.total > l.shown():
		return fmt.Sprintf("There are %d entries %s. Of the first %d, these are %s.", l.total, where, l.shown(), l.summary())
	}
	return fmt.Sprintf("There are %d entries %s: %s.", l.total, where, l.summary())
}

// someOf joins the first names of a list.
func someOf(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// look lists a directory; reply is what to say as long as it has not been listed.
func (t *turn) look(dir string) (l listing, reply string) {
	o, reply := t.use("I will look at the directory.", "list_dir", map[string]any{"path": dir})
	if reply == "" && !o.ok {
		reply = failed("list "+dir, o)
	}
	return readListing(o.body), reply
}

// directory is the one a pattern found, "." if it found none.
func directory(m []string) string {
	if len(m) == 0 {
		return "."
	}
	return m[len(m)-1]
}

func listFiles(t *turn, m []string) string {
	dir := directory(m)
	l, reply := t.look(dir)
	if reply != "" {
		return reply
	}
	return l.sentence(dir)
}

func countFiles(t *turn, m []string) string {
	dir := directory(m)
	l, reply := t.look(dir)
	switch {
	case reply != "":
		return reply
	case l.total > l.shown():
		return l.sentence(dir)
	}
	text := fmt.Sprintf("%s and %s", plural(len(l.files), "file"), plural(len(l.dirs), "directory"))
	if len(l.others) > 0 {
		text += fmt.Sprintf(", and %s", plural(len(l.others), "other entry"))
	}
	if dir == "." {
		return fmt.Sprintf("I count %s here, not counting what is in the directories.", text)
	}
	return fmt.Sprintf("I count %s in %s, not counting what is in its directories.", text, dir)
}
