package undo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mylm/tools/files/internal/open"
	"mylm/tools/files/internal/replace"
)

// checkParents reports what on the way to name is not a directory. Names are
// written down with all links followed, so that a link there was swapped in.
func checkParents(root *os.Root, name string) error {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is %s, not a directory any more", filepath.ToSlash(dir), open.Kind(info.Mode()))
		}
	}
	return nil
}

// stateOf returns what is at name.
func stateOf(ctx context.Context, root *os.Root, name string) (state, error) {
	if err := checkParents(root, name); err != nil {
		return state{}, err
	}
	f, info, err := open.Regular(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	s := state{Exists: true, Size: info.Size(), Mode: info.Mode() & replace.Permissions}
	s.Sum, _, err = copySum(ctx, io.Discard, f)
	return s, err
}

// missingDirs lists the directories on the way to dir that are not there, the
// outer ones first.
func missingDirs(root *os.Root, dir string) (missing []string) {
	for ; dir != "." && dir != string(filepath.Separator); dir = filepath.Dir(dir) {
		if _, err := root.Lstat(dir); err == nil {
			break
		}
		missing = append(missing, filepath.ToSlash(dir))
	}
	slices.Reverse(missing)
	return missing
}

// removeEmpty removes directories that were made for a file, unless something
// else is in them by now.
func removeEmpty(root *os.Root, made []string) {
	for _, dir := range slices.Backward(made) {
		_ = root.Remove(filepath.FromSlash(dir)) // which fails for one that is not empty
	}
}
