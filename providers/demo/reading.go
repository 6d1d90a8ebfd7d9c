package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	readForms = []string{
		`(?:read|show|cat|print|open|display|view|summari[sz]e|describe|explain)(?: me)?(?: the)?(?: contents? of)?(?: the)?( file)? ` + path + `( file)?(?: to me)?`,
		`what(?:'s| is| are)(?: written)? (?:in|inside|the contents? of)(?: the)?( file)? ` + path + `( file)?`,
		`what does(?: the)?( file)? ` + path + ` (?:say|contain)`,
	}
	lineCountForms = []string{
		`(?:how many lines|count(?: the| all)* lines|number of lines)(?: are| there| does| do| has)*(?: in| of)?(?: the)?(?: file)? ` + path + `(?: have| has| contain)?`,
	}
	partForms = []string{
		`(?:(?:show|print|read|give|what(?:'s| is| are))(?: me)? )?(?:the )?(first|last|top|bottom)(?: (\w+))? (lines?) (?:of|in|from) (?:the )?(?:file )?` + path,
		`(head|tail)(?: -n ?| -| )(\d+) ` + path,
		`(head|tail) ` + path,
	}
	pageNote  = lazy(`\n?\[lines? (\d+)(?:-\d+)? of (at least )?(\d+)[;,\]][^\n]*$`)
	shortened = lazy(`\n\[\.\.\. left out: \d+ [^\n]*\.\.\.\]\n`)
	described = lazy(`^\(.+ (?:is empty|is a binary file, .*|holds nothing but .*)\)$`)
	fileLike  = lazy(`[./\\]|^[A-Z]{3,}|file$`)
)

// matchRead gives the path of a goal about a file. "show me" and the like are
// about a file only if the name looks like one.
func matchRead(goal string) []string {
	for i, form := range readForms {
		m := patterns([]string{form})(goal)
		if m == nil {
			continue
		}
		saidFile := slices.ContainsFunc(m, func(g string) bool { return strings.EqualFold(g, " file") })
		m = slices.DeleteFunc(m, func(g string) bool { return strings.EqualFold(g, " file") })
		if saidFile || i > 0 || fileLike().MatchString(m[0]) {
			return m
		}
	}
	return nil
}

// content is what read_file told of a file.
type content struct {
	text    string // the lines, or a description in parentheses
	total   int    // lines of the whole file
	atLeast bool   // total is not exact
	cut     bool   // text is not all of it
}

func readContent(body string) content {
	body = strings.TrimRight(body, "\n")
	m := pageNote().FindStringSubmatchIndex(body)
	if m == nil {
		c := content{text: body, total: lineCount(body)}
		if described().MatchString(body) {
			c.total = 0
		}
		return c
	}
	total, _ := strconv.Atoi(body[m[6]:m[7]])
	return content{text: body[:m[0]], total: total, atLeast: m[4] >= 0, cut: true}
}

func (c content) described() bool { return described().MatchString(c.text) }

// description is the description as a sentence.
func (c content) description() string {
	s := strings.TrimSuffix(strings.TrimPrefix(c.text, "("), ")")
	return s + "."
}

func (c content) size() string {
	if c.atLeast {
		return "at least " + plural(c.total, "line")
	}
	return plural(c.total, "line")
}

// fetch reads a file; reply is what to say as long as it has not been read.
func (t *turn) fetch(name string, args map[string]any) (c content, reply string) {
	args["path"] = name
	o, reply := t.use("I will read "+name+".", "read_file", args)
	if reply == "" && shortened().MatchString(o.body) { // a page tells how many lines there are
		args["start_line"], args["end_line"] = 1, shownLines
		o, reply = t.use("That is too long to be shown at once. I will read its beginning.", "read_file", args)
	}
	if reply == "" && !o.ok {
		reply = failed("read "+name, o)
	}
	return readContent(o.body), reply
}

// readFile shows a file. A name without a dot may well be a directory; the
// error for that is the tool's, and then the directory is listed.
func readFile(t *turn, m []string) string {
	name := m[0]
	if strings.HasSuffix(name, "/") || name == "." {
		return listFiles(t, m)
	}
	c, reply := t.fetch(name, map[string]any{})
	if reply != "" {
		if t.next > 0 && strings.Contains(reply, "is a directory") && t.has("list_dir") {
			return listFiles(t, m)
		}
		return reply
	}
	switch {
	case c.described():
		return c.description()
	case c.cut || c.total > shownLines:
		return fmt.Sprintf("%s has %s. It begins:\n\n%s", name, c.size(), firstLines(c.text, shownLines))
	}
	return fmt.Sprintf("%s has %s:\n\n%s", name, c.size(), show(c.text, "That is the whole file."))
}

func firstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	n = min(n, len(lines))
	return quote(strings.Join(lines[:n], "\n"), fmt.Sprintf("These are the first %s.", plural(n, "line")))
}

func countLines(t *turn, m []string) string {
	c, reply := t.fetch(m[0], map[string]any{})
	switch {
	case reply != "":
		return reply
	case c.described():
		return c.description()
	}
	return fmt.Sprintf("%s has %s.", m[0], c.size())
}

var numerals = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// readPart shows the first or last lines of a file.
func readPart(t *turn, m []string) string {
	end, name := strings.ToLower(m[0]), m[len(m)-1]
	n, ok := partSize(m[1 : len(m)-1])
	if !ok {
		return fmt.Sprintf("Say how many lines in digits, for instance: %s 5 lines of %s", end, name)
	}
	if end == "first" || end == "top" || end == "head" {
		c, reply := t.fetch(name, map[string]any{"start_line": 1, "end_line": n})
		return c.part("first", name, reply)
	}
	c, reply := t.fetch(name, map[string]any{})
	if reply == "" && c.cut && !c.atLeast {
		c, reply = t.fetch(name, map[string]any{"start_line": max(1, c.total-n+1)})
	}
	if lines := strings.Split(c.text, "\n"); len(lines) > n {
		c.text = strings.Join(lines[len(lines)-n:], "\n")
	}
	if c.atLeast {
		return fmt.Sprintf("%s is too long for me to find its end: it has %s.", name, c.size())
	}
	return c.part("last", name, reply)
}

// part is the answer that shows c.text as the first or last lines of a file.
func (c content) part(end, name, reply string) string {
	switch {
	case reply != "":
		return reply
	case c.described():
		return c.description()
	case lineCount(c.text) == 1:
		return fmt.Sprintf("The %s line of %s is: %s", end, name, c.text)
	}
	return fmt.Sprintf("The %s %s of %s:\n\n%s", end, plural(lineCount(c.text), "line"), name, quote(c.text, fmt.Sprintf("The file has %s.", c.size())))
}

// partSize reads the number of "first 5 lines", "first five lines", "first
// line" and "first lines".
func partSize(words []string) (int, bool) {
	if len(words) == 0 {
		return 10, true // head and tail
	}
	word := strings.ToLower(words[0])
	switch n, err := strconv.Atoi(word); {
	case word == "line":
		return 1, true
	case word == "lines" || word == "few":
		return 10, true
	case err == nil:
		return n, n > 0
	}
	n := slices.Index(numerals, word)
	return n, n > 0
}
