package files

import (
	"context"
	"encoding/json"
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

// revises gives a tool that changes files what the two have in common. Plan
// finds out what a call would do, without doing it: it is asked for the effect,
// for the preview, and when the call runs. A call that cannot succeed only
// reads, so that nobody is asked about it.
func revises[In any](w *workspace, t *tools.Tool, plan func(*os.Root, In) (*revision, error)) *tools.Tool {
	planned := func(ctx context.Context, in In) (*revision, error) {
		return patiently(ctx, "the file system", func() (*revision, error) {
			root, err := w.open()
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return plan(root, in)
		})
	}
	foresee := func(args json.RawMessage) (r *revision, late bool, err error) {
		in, err := tools.Decode[In](args)
		if err != nil {
			return nil, false, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookTime)
		defer cancel()
		r, err = planned(ctx, in)
		return r, ctx.Err() != nil, err
	}
	t.Effect = func(args json.RawMessage) tools.Effect {
		if args == nil {
			return tools.Writes
		}
		if _, late, err := foresee(args); err != nil && !late {
			return tools.Reads
		}
		return tools.Writes
	}
	t.Preview = func(args json.RawMessage) string {
		r, _, err := foresee(args)
		if err != nil {
			return fmt.Sprintf("%s\n%v", args, err)
		}
		return r.preview(t.Name)
	}
	t.Run = func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		in, err := tools.Decode[In](args)
		if err != nil {
			return tools.Result{}, err
		}
		r, err := planned(ctx, in)
		if err != nil {
			return tools.Result{}, err
		}
		if r.known && r.info != nil && r.old == r.new {
			return tools.Result{Text: fmt.Sprintf("%s holds exactly that already; nothing was written", r.path), Origin: tools.Workspace}, nil
		}
		if !granted(ctx, tools.Writes) {
			return tools.Result{}, fmt.Errorf("%s was changed after this call was checked, and nothing was written; try again", r.path)
		}
		return w.revise(ctx, r)
	}
	return t
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
