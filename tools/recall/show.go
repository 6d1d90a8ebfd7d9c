package recall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mylm/memory"
	"mylm/tools"
)

// shown is a memory with the words that it was found by.
type shown struct {
	memory.Document
	words []string
	older int // ones that say the same, or answered the same question
}

// show writes memories for the model.
func (r *recaller) show(order string, all []shown) tools.Result {
	sizes := make([]int, len(all))
	for i, m := range all {
		sizes[i] = len(m.Text)
	}
	rooms := share(r.MaxBytes, sizes)
	var b strings.Builder
	result := tools.Result{Origin: tools.Memory}
	if len(all) > 1 {
		fmt.Fprintf(&b, "%d memories, %s:\n", len(all), order)
	}
	for i, m := range all {
		// A tool may have shown what strangers wrote.
		if m.Project != r.Project || m.Kind == memory.Tool || slices.Contains(m.Tags, memory.ForeignTag) || r.ofAnother(m.Document) {
			result.Origin = tools.Elsewhere
		}
		text := m.Text
		if len(text) > rooms[i] {
			text = around(text, m.words, rooms[i])
			result.Truncated = true
		}
		fmt.Fprintf(&b, "\n%s\n  %s\n", r.head(m.Document, m.older), margin.Replace(text))
	}
	result.Text = strings.Trim(b.String(), "\n")
	return result
}

// ofAnother reports whether a note is of another program, whose notes had no tag in the past.
func (r *recaller) ofAnother(d memory.Document) bool {
	return d.Kind == memory.Note && d.Role == "assistant" && d.Source != "" && d.Source != cmp.Or(r.Source, RememberName)
}

// margin keeps a text away from the margin: whatever ends a line there is
// followed by spaces.
var margin = strings.NewReplacer("\r\n", "\n  ", "\n", "\n  ", "\r", "\n  ", "\v", "\n  ", "\f", "\n  ", "\u0085", "\n  ", "\u2028", "\n  ", "\u2029", "\n  ")

// head is the line above a memory: its id, when, where and by whom it was said.
func (r *recaller) head(d memory.Document, older int) string {
	who := d.Role
	switch d.Kind {
	case memory.Note, memory.Summary, memory.Tool:
		who = string(d.Kind)
	}
	parts := []string{oneWord(d.ID), d.Time.In(r.Location).Format("2006-01-02 15:04")}
	if d.Session != "" {
		parts = append(parts, "session "+oneWord(d.Session))
	}
	if d.Project != r.Project && d.Project != "" {
		parts = append(parts, "project "+oneWord(d.Project))
	}
	parts = append(parts, oneWord(cmp.Or(who, "unknown")))
	if d.Speaker != "" {
		parts = append(parts, "speaker "+oneWord(d.Speaker))
	}
	if older > 0 {
		parts = append(parts, fmt.Sprintf("the newest of %d", older+1))
	}
	if d.SupersededBy != "" {
		parts = append(parts, "corrected by "+oneWord(d.SupersededBy))
	}
	return "[" + strings.Join(parts, " | ") + "]"
}

// oneWord keeps a name from looking like more than one.
func oneWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '|' || r == '[' || r == ']' {
			return '_'
		}
		return r
	}, s)
}

// leastRoom is what a cut text gets at least: below a sentence or two it says
// nothing.
const leastRoom = 160

// share divides room among texts: what a short one leaves goes to longer ones.
func share(room int, sizes []int) []int {
	rooms := make([]int, len(sizes))
	open := len(sizes)
	for open > 0 {
		each := max(room/open, leastRoom)
		settled := false
		for i, size := range sizes {
			if rooms[i] == 0 && size > 0 && size <= each {
				rooms[i], room, open, settled = size, room-size, open-1, true
			}
		}
		if !settled {
			for i := range rooms {
				if rooms[i] == 0 {
					rooms[i] = each
				}
			}
			break
		}
	}
	return rooms
}

// around cuts a text to n bytes, near the first of the words that it holds.
func around(text string, words []string, n int) string {
	at := len(text)
	lower := strings.ToLower(text)
	if len(lower) == len(text) { // else the positions differ
		for _, w := range words {
			if i := strings.Index(lower, strings.ToLower(w)); i >= 0 {
				at = min(at, i)
			}
		}
	}
	if at == len(text) {
		at = 0
	}
	start := max(0, min(at-n/4, len(text)-n))
	end := min(len(text), start+n)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	cut := text[start:end]
	if start > 0 {
		cut = fmt.Sprintf("[%d bytes left out] %s", start, cut)
	}
	if end < len(text) {
		cut = fmt.Sprintf("%s [%d bytes left out]", cut, len(text)-end)
	}
	return cut
}
