package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mylm/tools"
	"mylm/tools/files/undo"
)

// revision is what a call would make of a file.
type revision struct {
	*target
	old     string // the text that is there, if it is known
	known   bool
	new     string
	parents bool
	said    string
	note    string

	exact      bool // new was made from old, which must still be there
	from, upto int  // the lines of old that differ, then
}

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
		c.Expect = &r.old
	}
	if err := w.Journal.Write(ctx, root, c); err != nil {
		return tools.Result{}, w.unwritten(root, r, err)
	}
	text := r.said
	if r.exact {
		text += head(r.diff(), saidLines, saidBytes)
	}
	if r.note != "" {
		text += "\n[" + r.note + "]"
	}
	return tools.Result{Text: text, Origin: tools.Workspace}, nil
}

// unwritten turns an error of a write into one that tells the model what to do.
func (w *workspace) unwritten(root *os.Root, r *revision, err error) error {
	switch {
	case errors.Is(err, undo.ErrChanged):
		return fmt.Errorf("%s was changed by somebody else just now, and nothing was written; read it again", r.path)
	case errors.Is(err, undo.ErrTooLarge):
		return fmt.Errorf("%w; nothing was written. Write to another file, or change this one with a command", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
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

// led says where the links of the path lead, if there are any.
func (r *revision) led() string {
	if clean := filepath.ToSlash(filepath.Clean(r.path)); strings.HasSuffix("/"+clean, "/"+filepath.ToSlash(r.name)) {
		return ""
	}
	return " (which is " + printable(filepath.ToSlash(r.name)) + ")"
}
