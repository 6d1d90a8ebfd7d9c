package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"mylm/internal/diskfull"
	"mylm/tools"
	"mylm/tools/files/undo"
)

// revision is what a call would make of a file.
type revision struct {
	*target
	old     string // the text that is there, if it is known; an editor may have it
	onDisk  string // what is saved of it
	known   bool
	new     string
	parents bool
	summary string
	note    string

	exact    bool // new was made from old, which must still be there
	from, to int  // the lines of old that differ, then
}

// same reports whether the file has the new text already.
func (r *revision) same() bool { return r.known && r.info != nil && r.old == r.new }

// revise writes the file. It is not left to itself when ctx is done: a file
// that is changed after the call was reported as cancelled would be worse.
func (w *workspace) revise(ctx context.Context, r *revision) (tools.Result, error) {
	root, err := w.open()
	if err != nil {
		return tools.Result{}, err
	}
	defer root.Close()
	c := undo.Change{Name: r.name, Content: []byte(r.new), Parents: r.parents}
	if r.exact {
		c.Expect = &r.onDisk
	}
	c.Through = w.through(r)
	if err := w.Journal.Write(ctx, root, c); err != nil {
		return tools.Result{}, w.writeError(root, r, err)
	}
	text := r.summary
	if r.exact {
		text += head(r.diff(), summaryLines, summaryBytes)
	}
	if r.note != "" {
		text += "\n[" + r.note + "]"
	}
	return tools.Result{Text: text, Origin: tools.Workspace}, nil
}

// writeError turns an error of a write into one that helps the model.
func (w *workspace) writeError(root *os.Root, r *revision, err error) error {
	switch {
	case errors.Is(err, undo.ErrChanged):
		return fmt.Errorf("%s has changed meanwhile, so nothing was written; read it again", r.path)
	case errors.Is(err, undo.ErrTooLarge):
		return fmt.Errorf("%w; nothing was written. Write to another file, or change this one with a command", err)
	case diskfull.Is(err):
		return fmt.Errorf("%s was not changed: the disk is full (%w)", r.path, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s was not changed: permission denied in %s", r.path, filepath.ToSlash(filepath.Dir(r.name)))
	case escapes(err):
		return fmt.Errorf("%w; nothing was written", &outsideError{r.path, w.Root})
	case errors.Is(err, fs.ErrNotExist) && !r.parents:
		return w.explain(root, r.path, r.name, err)
	}
	return fmt.Errorf("%s was not changed: %w", r.path, err)
}

// linkNote returns where the links of the path lead, if there are any.
func (r *revision) linkNote() string {
	if clean := filepath.ToSlash(filepath.Clean(r.path)); strings.HasSuffix("/"+clean, "/"+filepath.ToSlash(r.name)) {
		return ""
	}
	return " (which is " + printable(filepath.ToSlash(r.name)) + ")"
}

const (
	// maxDiffed bounds the files that are shown as a diff.
	maxDiffed = 1 << 20

	// maxPreview bounds what a person is shown of a change; longer than anybody
	// looks at, and short enough for a record.
	maxPreview = 256 << 10

	// What a model is shown of the edit that it made itself.
	summaryLines = 40
	summaryBytes = 4 << 10
)

// diff is the unified diff of a revision whose old text is known.
func (r *revision) diff() string {
	name := printable(filepath.ToSlash(r.name))
	from, to := 0, len(r.old)
	if r.exact { // the rest is the same, and may be long
		from, to = r.from, r.to
	}
	edits := udiff.Lines(r.old[from:to], r.new[from:len(r.new)-(len(r.old)-to)])
	for i := range edits {
		edits[i].Start += from
		edits[i].End += from
	}
	text, err := udiff.ToUnified(name, name, r.old, edits, udiff.DefaultContextLines)
	if err != nil { // only invalid edits could do this
		return fmt.Sprintf("(no diff: %v)", err)
	}
	_, hunks, _ := strings.Cut(text, "\n+++ "+name+"\n")
	return hunks
}

// preview describes the revision to the user who is asked about it.
func (r *revision) preview(tool string) string {
	head := fmt.Sprintf("%s %s%s: ", tool, printable(filepath.ToSlash(r.path)), r.linkNote())
	switch {
	case r.info == nil:
		return bounded(head + "a new file, " + sizeOf(r.new) + "\n" + prefixed("+", r.new))
	case !r.known || tools.Binary(r.old):
		return bounded(fmt.Sprintf("%s%s there are replaced by %s\n%s", head, tools.Count(int(r.info.Size()), "byte"), sizeOf(r.new), prefixed("+", r.new)))
	case r.same():
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
	return fmt.Sprintf("%s\n[%d bytes more are not shown]", tools.Begin(text, maxPreview), len(text)-maxPreview)
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
			return text[:end] + fmt.Sprintf("[%s more]", tools.Count(strings.Count(text[end:], "\n"), "line"))
		}
		end += len(line)
		n++
	}
	return strings.TrimSuffix(text, "\n")
}
