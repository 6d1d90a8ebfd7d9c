package files

import (
	"context"
	"fmt"
)

// Names lists what a directory of the workspace holds, without .git and what is
// ignored. Directories have a trailing slash. Of o, Root and Closed count.
func Names(ctx context.Context, o Options, dir string) ([]string, error) {
	w, err := newWorkspace(o)
	if err != nil {
		return nil, fmt.Errorf("the names: %w", err)
	}
	name, err := w.relative(dir)
	if err != nil {
		return nil, err
	}
	return waitFor(ctx, w.Root, func() ([]string, error) {
		root, err := w.open()
		if err != nil {
			return nil, err
		}
		defer root.Close()
		k, sets := w.newWalk(ctx, root, name, nil)
		entries, _, err := k.visible(name, sets)
		names := make([]string, len(entries))
		for i, e := range entries {
			if names[i] = e.Name(); e.IsDir() {
				names[i] += "/"
			}
		}
		return names, err
	})
}
