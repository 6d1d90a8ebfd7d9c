package demo

import (
	"fmt"
	"strings"
)

var (
	runForm   = lazy(`(?is)^(?:(?:run|execute|exec)\s+(?:(?:the\s+)?(?:shell\s+)?command\b\s*:?\s*)?|\$\s+)(\S.*)$`)
	printForm = lazy("(?is)^what\\s+does\\s+(?:the\\s+command\\s+)?(`[^`]+`)\\s+(?:print|say|output|give|do|return)$")
	quoted    = lazy("`([^`]+)`")
	afterward = lazy(`(?is)[\s,]+(?:and|then)\s+(?:then\s+)?(?:tell|show|give|explain|summari[sz]e|report|say)\b.*$`)
	noCommand = lazy(`(?i)^(?:the|a|an|my|all|some|it|this|that|these|your)\b`)
)

// matchCommand gives the command line of "run …", "" if it is only spoken of
// ("run the tests").
func matchCommand(goal string) []string {
	m := runForm().FindStringSubmatch(goal)
	if m == nil {
		m = printForm().FindStringSubmatch(goal)
	}
	if m == nil {
		return nil
	}
	if q := quoted().FindStringSubmatch(m[1]); q != nil && !strings.HasPrefix(goal, "$") {
		return q[1:]
	}
	if noCommand().MatchString(m[1]) {
		return []string{""}
	}
	return []string{unquote(strings.TrimSpace(afterward().ReplaceAllString(m[1], "")))}
}

func runCommand(t *turn, m []string) string {
	command := m[0]
	if command == "" {
		return "I run a command when you spell it out, for instance: run `go test ./...`"
	}
	o, reply := t.use("I will run that.", "execute_command", map[string]any{"command": command})
	if reply != "" {
		return reply
	}
	printed := strings.TrimSpace(o.body)
	switch {
	case !o.ok:
		why, rest, printed := strings.Cut(printed, "\n")
		if !printed {
			return fmt.Sprintf("`%s` failed: %s", command, why)
		}
		return fmt.Sprintf("`%s` failed: %s\n\n%s", command, why, show(rest, "That is what it printed."))
	case printed == "" || printed == "(no output)":
		return fmt.Sprintf("`%s` ran without error and printed nothing.", command)
	case !strings.Contains(printed, "\n"):
		return fmt.Sprintf("`%s` printed: %s", command, printed)
	}
	return fmt.Sprintf("`%s` ran without error and printed %s:\n\n%s", command, plural(lineCount(printed), "line"), show(printed, "That is all of it."))
}

// shownLines is how much of a text an answer quotes.
const shownLines = 20

// show quotes a text, shortened to its first lines.
func show(text, after string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > shownLines {
		after = fmt.Sprintf("These are the first %d lines of %d.", shownLines, len(lines))
		lines = lines[:shownLines]
	}
	return quote(strings.Join(lines, "\n"), after)
}

// quote puts a text into a fence with a sentence below it: a fence that ends a
// reply can be taken for a call.
func quote(text, after string) string {
	if strings.TrimSpace(text) == "" {
		return after
	}
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

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ry"): // directory, entry; but day
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}
