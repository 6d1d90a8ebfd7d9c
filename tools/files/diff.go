package files

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	// maxDiffed bounds the files that are shown as a diff.
	maxDiffed = 1 << 20

	// maxPreview bounds what a person is shown of a change; longer than anybody
	// looks at, and short enough for a record.
	maxPreview = 256 << 10

	// What a model is shown of the edit that it made itself.
	saidLines = 40
	saidBytes = 4 << 10
)

// diff is the unified diff of a revision whose old text is known.
func (r *revision) diff() string {
	name := printable(filepath.ToSlash(r.name))
	from, upto := 0, len(r.old)
	if r.exact { // the rest is the same, and may be long
		from, upto = r.from, r.upto
	}
	edits := udiff.Lines(r.old[from:upto], r.new[from:len(r.new)-(len(r.old)-upto)])
	for i := range edits {
		edits[i].Start += from
		edits[i].End += from
	}
	text, err := udiff.ToUnified(name, name, r.old, edits, udiff.DefaultContextLines)
	if err != nil { // only edits that are none could do this
		return fmt.Sprintf("(no diff: %v)", err)
	}
	_, hunks, _ := strings.Cut(text, "\n+++ "+name+"\n")
	return hunks
}

// preview describes the revision to the person who is asked about it.
func (r *revision) preview(tool string) string {
	head := fmt.Sprintf("%s %s%s: ", tool, printable(filepath.ToSlash(r.path)), r.led())
	switch {
	case r.info == nil:
		return bounded(head + "a new file, " + extent(r.new) + "\n" + prefixed("+", r.new))
	case !r.known || binary([]byte(r.old[:min(len(r.old), sampled)])):
		return bounded(fmt.Sprintf("%s%s there are replaced by %s\n%s", head, count(int(r.info.Size()), "byte"), extent(r.new), prefixed("+", r.new)))
	case r.old == r.new:
		return head + "nothing changes"
	}
	text := head + "the changes\n" + r.diff()
	if r.note != "" {
		text += "[" + r.note + "]\n"
	}
	return bounded(text)
}

func bounded(text string) string {
	if len(text) <= maxPreview {
		return text
	}
	return fmt.Sprintf("%s\n[%d bytes more are not shown]", wholeRunes([]byte(text), maxPreview), len(text)-maxPreview)
}

// prefixed puts a sign before every line.
func prefixed(sign, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(sign + line)
	}
	return b.String()
}

// head is the beginning of a text in whole lines.
func head(text string, lines, size int) string {
	end, n := 0, 0
	for line := range strings.Lines(text) {
		if n == lines || end+len(line) > size {
			return text[:end] + fmt.Sprintf("[%s more]", count(strings.Count(text[end:], "\n"), "line"))
		}
		end += len(line)
		n++
	}
	return strings.TrimSuffix(text, "\n")
}
