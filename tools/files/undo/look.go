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

	"mylm/tools/files/internal/replace"
)

// openRegular opens the file at name, or says why it is none. It follows no
// link and waits for no pipe: what is there is looked at before it is opened,
// since the mere opening of a device can do something, and afterwards, since
// it may be another file by then.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = notFile(name, info)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notFile(name, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func notFile(name string, info fs.FileInfo) error {
	return fmt.Errorf("%s is %s, not a file", filepath.ToSlash(name), whatIs(info))
}

func whatIs(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a directory"
	case info.Mode()&fs.ModeSymlink != 0:
		return "a link"
	case info.Mode().IsRegular():
		return "a file"
	}
	return "a special file"
}

// obstacle says what keeps a file from being looked at, with the directory on
// the way that is none, if it is that.
func obstacle(root *os.Root, name string, err error) string {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return fmt.Sprintf("%s is %s, not a directory any more", filepath.ToSlash(dir), whatIs(info))
		}
	}
	return err.Error()
}

// look says what stands at name.
func look(ctx context.Context, root *os.Root, name string) (state, error) {
	f, info, err := openRegular(root, name)
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
