package demo

import (
	"fmt"
	"strings"
)

var (
	rememberForms = []string{
		`(?:remember|memori[sz]e|note|keep in mind|do not forget|don't forget)(?: that|:| this:)? (.+)`,
		`make a note (?:that|of) (.+)`,
	}
	recallForms = []string{
		`(?:what|which).* (?:did i (?:say|tell you)|do you (?:remember|recall))(?: about| of)? (.+)`,
		`(?:search|look (?:in|into)|ask)(?: your| the)? memory (?:for|about) (.+)`,
		`do you (?:remember|recall) (.+)`,
		`((?:who|what|which|where|when|how|why|whose)(?:'s)? .+)`,
	}
	memoryHead = lazy(`^\[(\S+) \| (\d{4}-\d{2}-\d{2})[^|]*\|(?:.*\| )?([^|\]]+)\]$`)
)

// keepNote has a sentence remembered.
func keepNote(t *turn, m []string) string {
	note := strings.TrimSpace(m[len(m)-1])
	o, reply := t.use("I will keep that in mind.", "remember", map[string]any{"text": note})
	switch {
	case reply != "":
		return reply
	case !o.ok:
		return failed("remember that", o)
	}
	return "I will remember that " + note + "."
}

// lookBack answers a question from what was remembered.
func lookBack(t *turn, m []string) string {
	if !t.has("search_memory") {
		return unknown()
	}
	o, reply := t.use("I will look for that in the memory.", "search_memory", map[string]any{"query": t.goal})
	switch {
	case reply != "":
		return reply
	case !o.ok:
		return failed("search the memory", o)
	}
	best, ok := remembered(o.body)
	if !ok {
		return "I was never told that, and nothing like it is remembered.\n\n" + unknown()
	}
	return fmt.Sprintf("From memory (%s): %s", best.day, sentences(best.text, 3))
}

// recollection is one memory that search_memory showed.
type recollection struct{ day, who, text string }

// remembered takes the best memory that tells something: a note rather than
// what was said, and nothing that only asks.
func remembered(body string) (best recollection, ok bool) {
	for _, r := range recollections(body) {
		switch {
		case r.who == "note":
			return r, true
		case !ok && r.who != "tool" && !strings.HasSuffix(r.text, "?"):
			best, ok = r, true
		}
	}
	return best, ok
}

// recollections reads what search_memory shows: a head at the margin, and the
// text indented below it.
func recollections(body string) (all []recollection) {
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\r\n")
		if m := memoryHead().FindStringSubmatch(line); m != nil {
			all = append(all, recollection{day: m[2], who: strings.TrimSpace(m[3])})
			continue
		}
		if text, indented := strings.CutPrefix(line, "  "); indented && len(all) > 0 {
			last := &all[len(all)-1]
			last.text = strings.TrimSpace(last.text + " " + text)
		}
	}
	return all
}
