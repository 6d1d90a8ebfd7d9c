package files

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mylm/tools"
)

// reach finds through which root a path can be read, and its name there: the
// workspace, or where all files begin, for what leads out of it.
func (w *workspace) reach(path string) (*workspace, string, error) {
	name, err := w.relative(path)
	var out *outsideError
	if errors.As(err, &out) {
		abs := filepath.FromSlash(path)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(w.Root, abs)
		}
		return w.everything(abs), filepath.Clean(abs), nil
	}
	if err != nil {
		return nil, "", err
	}
	root, err := w.open()
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	if _, err := root.Stat(name); err != nil && escapes(err) {
		if _, in := w.within(name); !in {
			abs := filepath.Join(w.real, name)
			return w.everything(abs), abs, nil
		}
	}
	if w.closed(name) {
		abs := filepath.Join(w.real, name)
		return w.everything(abs), abs, nil
	}
	return w, path, nil
}

// everything is a workspace of all that is on the volume of path.
func (w *workspace) everything(path string) *workspace {
	all := *w
	all.Root = filepath.VolumeName(path) + string(filepath.Separator)
	all.real, all.outside = all.Root, true
	return &all
}

// allowed is reach for a call that runs. A path that led inside when the call
// was checked, and outside since, is refused.
func (w *workspace) allowed(ctx context.Context, path string) (*workspace, string, error) {
	seen, name, err := w.reach(path)
	if err != nil {
		return nil, "", err
	}
	if seen.outside && !granted(ctx, tools.Leaves) {
		return nil, "", fmt.Errorf("%w, which was not allowed for this call", &outsideError{path, w.Root})
	}
	return seen, name, nil
}

func granted(ctx context.Context, e tools.Effect) bool {
	given, bounded := tools.Granted(ctx)
	return !bounded || given&e == e
}

// labelled says whose words a result is.
func (w *workspace) labelled(r tools.Result, err error) (tools.Result, error) {
	if w.outside && r.Origin != "" {
		r.Origin = tools.Outside
	}
	return r, err
}

// lookTime is how long it may take to find out what a call would do. A file
// system that does not answer by then is taken for the worst.
const lookTime = 2 * time.Second

// patiently runs f, which works on path, and waits for it until ctx is done. A
// file system may never answer (a network server that is gone), and nothing
// can end such a wait: f is left to it, and closes what it opened afterwards.
func patiently[T any](ctx context.Context, path string, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil { // in this goroutine it would end the program
				o.err = fmt.Errorf("the tool crashed: %v", p)
			}
			done <- o
		}()
		o.result, o.err = f()
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return none, fmt.Errorf("%s does not answer, and was given up: %w", path, ctx.Err())
	}
}
